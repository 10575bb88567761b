"""What a person's SQL sees: one snapshot of every table, and which hours of it are final.

Belongs here: choosing the versions, once, before the first row is read. The final tables are those that the newest
publication names, so minute, hour and day agree. The views on top are ``sql_views.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from deltalake import DeltaTable

from domain.finality import final_from
from domain.publications import Publication, shown_seals
from domain.seals import Seal
from domain.settings import Settings
from warehouse.counts import open_version
from warehouse.layout import open_table
from warehouse.periods import read_closed
from warehouse.publications import latest_publication
from warehouse.ranges import FINAL_TABLE
from warehouse.retention_steps import deleted_hours
from warehouse.seals import read_seals
from warehouse.tables import TABLES


@dataclass(frozen=True)
class ShownHour:
    """A sealed and published hour. ``is_minute_kept``: its minutes are still in the final table."""

    seal: Seal
    is_minute_kept: bool


@dataclass(frozen=True)
class Pins:
    """One moment of an installation. A table is None where nothing of it may be shown: final ones before the first
    publication.

    ``[final_start, final_until)`` are the hours without a hole; both are None before the first publication.
    """

    tables: Mapping[str, DeltaTable | None]
    hours: tuple[ShownHour, ...]
    publication_number: int | None
    final_start: datetime | None
    final_until: datetime | None
    closed_until: datetime | None


def pin(settings: Settings) -> Pins:
    """The newest of everything. ``closed_until`` is looked up first, so that what is said to be closed is shown.

    ``TableMissingError`` before the tables were created; ``IntegrityError`` if a published version is gone.
    """
    closed_until = read_closed(settings).closed_until
    publication = latest_publication(settings)
    shown = shown_seals(read_seals(settings), publication)
    gone = deleted_hours(settings, FINAL_TABLE["minute"]).any_of
    final = None if publication is None else publication.final_until
    return Pins(
        tables={name: _table(settings, name, publication) for name in TABLES},
        hours=tuple(ShownHour(shown[hour], hour not in gone) for hour in sorted(shown)),
        publication_number=None if publication is None else publication.publication_number,
        final_start=None if final is None else final_from(shown, final),
        final_until=final,
        closed_until=closed_until,
    )


def _table(settings: Settings, name: str, publication: Publication | None) -> DeltaTable | None:
    if name not in FINAL_TABLE.values():
        return open_table(settings, name)
    if publication is None:
        return None
    versions = {
        FINAL_TABLE["minute"]: publication.minute_version,
        FINAL_TABLE["hour"]: publication.hour_version,
        FINAL_TABLE["day"]: publication.day_version,
    }
    return open_version(settings, name, versions[name])
