"""Live against final of sealed hours, out of table ``drift``.

Belongs here: reading the rows of the seals that hold and are published. Summing them up is ``domain/drift_history.py``;
which clicks differ in an hour, ``live_differences.py``.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as ds

from domain.drift_history import HourError
from domain.seals import Seal, current_seals
from domain.settings import Settings
from warehouse.layout import dataset_of, open_table
from warehouse.publications import latest_publication
from warehouse.seals import read_seals

COLUMNS = [field.name for field in fields(HourError)]


def published_seals(settings: Settings, start: datetime | None, end: datetime | None) -> list[Seal]:
    """The seals that hold and are published, of the hours in ``[start, end)``, by hour; None leaves a side open."""
    publication = latest_publication(settings)
    shown_up_to = publication.seal_number if publication else 0
    current = current_seals(seal for seal in read_seals(settings) if seal.seal_number <= shown_up_to)
    return [
        seal
        for hour, seal in sorted(current.items())
        if (start is None or hour >= start) and (end is None or hour < end)
    ]


def read_errors(
    settings: Settings, start: datetime | None, end: datetime | None, advertiser_id: int | None = None
) -> list[HourError]:
    """The errors of the hours in ``[start, end)``, by hour and advertiser. Reads only."""
    seals = published_seals(settings, start, end)
    dates = pa.array(sorted({seal.hour.date() for seal in seals}), pa.date32())
    attempts = pa.array([seal.attempt for seal in seals], pa.string())
    is_ours = ds.field("click_date").isin(dates) & ds.field("attempt").isin(attempts)
    if advertiser_id is not None:
        is_ours &= ds.field("advertiser_id") == advertiser_id
    rows = dataset_of(open_table(settings, "drift")).to_table(columns=COLUMNS, filter=is_ours)
    ordered = rows.sort_by([("hour", "ascending"), ("advertiser_id", "ascending")])
    return [HourError(**row) for row in ordered.to_pylist()]
