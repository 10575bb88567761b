"""Offsets that the archive does not hold, though it says that it has looked at them.

Belongs here: finding them in raw_clicks and quarantined_clicks. Whether the log explains a gap is for ``checks.py`` to
ask.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from domain.identity import Place
from domain.settings import Settings
from quality.slices import Range, in_ranges
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table

GAPS_SQL = """
WITH held AS (
    SELECT log, partition, "offset" FROM raw_clicks
    UNION ALL SELECT log, partition, "offset" FROM quarantined_clicks
    UNION ALL SELECT log, partition, start_offset - 1 FROM ranges
    UNION ALL SELECT log, partition, end_offset FROM ranges
), followed AS (
    SELECT *, lead("offset") OVER (PARTITION BY log, partition ORDER BY "offset") AS next_offset FROM held
)
SELECT log, partition, "offset" + 1, next_offset FROM followed WHERE next_offset > "offset" + 1 ORDER BY ALL
"""
"""Between the bounds of each range, the stretches of which no row is held."""


def find_gaps(settings: Settings, ranges: Mapping[Place, Range]) -> list[tuple[Place, Range]]:
    """The gaps in these ranges, ascending; most often none. Reads only."""
    wanted = {place: (start, end) for place, (start, end) in ranges.items() if start < end}
    if not wanted:
        return []
    with opened_engine(settings) as engine:
        for name in ("raw_clicks", "quarantined_clicks"):
            columns = ["log", "partition", "offset"]
            held = dataset_of(open_table(settings, name)).scanner(columns=columns, filter=in_ranges(wanted))
            engine.register(name, held.to_reader())
        engine.register("ranges", _range_rows(wanted))
        gaps = engine.execute(GAPS_SQL).fetchall()
    return [((log, partition), (start, end)) for log, partition, start, end in gaps]


def _range_rows(ranges: Mapping[Place, Range]) -> pa.Table:
    whole = [("log", pa.int32()), ("partition", pa.int32())]
    schema = pa.schema([*whole, ("start_offset", pa.int64()), ("end_offset", pa.int64())])
    rows = [dict(zip(schema.names, (*place, *bounds), strict=True)) for place, bounds in ranges.items()]
    return pa.Table.from_pylist(rows, schema=schema)
