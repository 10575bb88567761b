"""The published minutes of some hours, wherever they are kept: in the final table or, where their retention is over
there, in the sealed attempts, which are kept for ever.

Belongs here: choosing the place. Both hold the same figures, to the row.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import pyarrow.dataset as ds

from domain.publications import Publication, shown_seals
from domain.settings import Settings
from warehouse.counts import open_version
from warehouse.layout import dataset_of, of_attempts, open_table
from warehouse.ranges import ATTEMPT_TABLE, FINAL_TABLE
from warehouse.retention_steps import deleted_hours
from warehouse.seals import read_seals


def published_minutes(settings: Settings, publication: Publication, hours: Collection[datetime]) -> ds.Dataset:
    """A dataset that has the published minutes of these hours (starts, UTC), and maybe others. Reads only.

    ``IntegrityError`` if the version that the publication names cannot be opened.
    """
    name = FINAL_TABLE["minute"]
    if deleted_hours(settings, name).any_of.isdisjoint(hours):
        return dataset_of(open_version(settings, name, publication.minute_version))
    shown = shown_seals(read_seals(settings), publication)
    attempts = {hour: shown[hour].attempt for hour in hours if hour in shown}
    return dataset_of(open_table(settings, ATTEMPT_TABLE)).filter(of_attempts(attempts))
