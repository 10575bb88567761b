"""Hours that nobody can count again, since retention deleted raw clicks which they rest on.

Belongs here: what the ledger of steps says of ``raw_clicks``. How far an hour rests on others is
``domain/retention.py``; what is done without raw is up to whoever asks.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from domain.retention import is_lost
from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.partitions import partitions_of
from warehouse.retention_steps import deleted_hours
from warehouse.tables import TABLES

NAME = "raw_clicks"
NO_LONGER_VERIFIABLE = "no longer verifiable: its raw clicks were deleted by retention"


class LostRaw:
    """The hours whose raw clicks were deleted, read once.

    A step that has not ended took all of its partitions if any of them is not there: a late click may make one anew.
    """

    def __init__(self, settings: Settings) -> None:
        gone = deleted_hours(settings, NAME)
        present = partitions_of(open_table(settings, NAME), TABLES[NAME]) if gone.maybe else {}
        is_taken = not gone.maybe <= {partition.start for partition in present}
        self._deleted = gone.any_of if is_taken else gone.hours

    def touches(self, hour: datetime, horizon_days: int) -> bool:
        """Whether an hour (start, UTC) rests on any of them, if copies are looked for within so many days."""
        return is_lost(hour, timedelta(days=horizon_days), self._deleted)
