"""The highest offset that a table of log positions holds, per partition: where its writer has to go on.

Belongs here: that one question, asked of the table itself and without a JVM. What the streams have looked at is in
``warehouse/marks.py``; where a mark lags, the table knows better.
"""

from __future__ import annotations

from datetime import datetime

from domain.settings import Settings
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table
from warehouse.table import Table


def held_offsets(settings: Settings, table: Table, log: int, since: datetime | None) -> dict[int, int]:
    """Highest offset of one log in ``table``, by partition; only rows logged at ``since`` or later are looked at.

    ``table`` has the columns log, partition, offset and logged_at. ``since`` None reads the whole table.
    """
    condition, values = ("log = ?", [log]) if since is None else ("log = ? AND logged_at >= ?", [log, since])
    with opened_engine(settings) as engine:
        engine.register("held", dataset_of(open_table(settings, table.name)))
        question = f'SELECT "partition", max("offset") FROM held WHERE {condition} GROUP BY ALL'  # noqa: S608 # no input
        return dict(engine.execute(question, values).fetchall())
