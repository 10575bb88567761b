"""Live against final of sealed hours, out of table ``drift``.

Belongs here: reading the rows of the seals that hold and are published. Summing them up is ``domain/drift_history.py``;
which clicks differ in an hour, ``live_differences.py``.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime

import pyarrow.dataset as ds

from domain.drift_history import HourError
from domain.settings import Settings
from warehouse.finality import published_seals
from warehouse.layout import dataset_of, of_attempts, open_table

COLUMNS = [field.name for field in fields(HourError)]


def read_errors(
    settings: Settings, start: datetime | None, end: datetime | None, advertiser_id: int | None = None
) -> list[HourError]:
    """The errors of the hours in ``[start, end)``, by hour and advertiser; None leaves a side open. Reads only."""
    attempts = {
        hour: seal.attempt
        for hour, seal in published_seals(settings).items()
        if (start is None or hour >= start) and (end is None or hour < end)
    }
    is_ours = of_attempts(attempts)
    if advertiser_id is not None:
        is_ours &= ds.field("advertiser_id") == advertiser_id
    rows = dataset_of(open_table(settings, "drift")).to_table(columns=COLUMNS, filter=is_ours)
    ordered = rows.sort_by([("hour", "ascending"), ("advertiser_id", "ascending")])
    return [HourError(**row) for row in ordered.to_pylist()]
