"""Live against final of sealed hours, out of table ``drift``.

Belongs here: reading the rows of the seals that hold and are published. Summing them up is ``domain/drift_history.py``;
which clicks differ in an hour, ``live_differences.py``; what live and final come to in money, ``drift_money.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

import pyarrow.dataset as ds

from domain.drift_history import HourError
from domain.seals import Seal
from domain.settings import Settings
from warehouse.finality import published_seals
from warehouse.layout import dataset_of, of_attempts, open_table

COLUMNS = [field.name for field in fields(HourError)]


def seals_between(settings: Settings, start: datetime | None, end: datetime | None) -> list[Seal]:
    """The seals that readers see of the hours in ``[start, end)``; None leaves a side open. Reads only."""
    return [
        seal
        for hour, seal in published_seals(settings).items()
        if (start is None or hour >= start) and (end is None or hour < end)
    ]


def count_errors(settings: Settings, seals: Sequence[Seal], advertiser_id: int | None = None) -> int:
    """How many rows ``read_errors`` would give. Reads only."""
    return dataset_of(open_table(settings, "drift")).count_rows(filter=_rows_of(seals, advertiser_id))


def read_errors(settings: Settings, seals: Sequence[Seal], advertiser_id: int | None = None) -> list[HourError]:
    """The errors of the hours of these seals, by hour and advertiser. Reads only."""
    is_ours = _rows_of(seals, advertiser_id)
    rows = dataset_of(open_table(settings, "drift")).to_table(columns=COLUMNS, filter=is_ours)
    ordered = rows.sort_by([("hour", "ascending"), ("advertiser_id", "ascending")])
    return [HourError(**row) for row in ordered.to_pylist()]


def _rows_of(seals: Sequence[Seal], advertiser_id: int | None) -> ds.Expression:
    is_ours = of_attempts({seal.hour: seal.attempt for seal in seals})
    return is_ours if advertiser_id is None else is_ours & (ds.field("advertiser_id") == advertiser_id)
