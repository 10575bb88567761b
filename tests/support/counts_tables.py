"""Final and live tables for tests, written as publish and the stream would leave them; expected sums by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable, write_deltalake

from domain.buckets import Granularity, bucket_of, parse_utc
from domain.finality import final_until
from domain.publications import Publication, PublicationDraft
from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from tests.support.ledgers import WRITTEN_AT, seal_draft
from warehouse.layout import table_uri
from warehouse.publications import append_publication, read_publications
from warehouse.schema import arrow_rows
from warehouse.seals import append_seals, read_seals
from warehouse.tables import TABLES


class Clicks(NamedTuple):
    """A row of a minute table. The defaults are those that a test does not care about."""

    minute: str | datetime
    clicks: int
    ad: int = 1
    advertiser: int = 10
    campaign: int = 100
    country: str = "DE"
    device: str = "mobile"

    @property
    def at(self) -> datetime:
        return parse_utc(self.minute) if isinstance(self.minute, str) else self.minute

    def keys(self) -> dict[str, Any]:
        return {
            "advertiser_id": self.advertiser,
            "campaign_id": self.campaign,
            "ad_id": self.ad,
            "country": self.country,
            "device": self.device,
        }


class Versions(NamedTuple):
    """Of the three final tables."""

    minute: int
    hour: int
    day: int


@dataclass(frozen=True)
class CountsTables:
    """The tables of one home."""

    settings: Settings

    def write_live(self, rows: Iterable[Clicks]) -> int:
        """Replaces the live table; its new version."""
        return self._overwrite("live_clicks_minute", [_minute_row(row) | {"versions": {"1:0": 9}} for row in rows])

    def write_final(self, rows: Sequence[Clicks]) -> Versions:
        """Replaces the final tables by these minutes and their sums. Publishes nothing."""
        return Versions(self.write_final_minute(rows), self.write_final_hour(rows), self.write_final_day(rows))

    def write_final_minute(self, rows: Iterable[Clicks]) -> int:
        return self._overwrite("final_clicks_minute", [_minute_row(row) for row in rows])

    def write_final_hour(self, rows: Iterable[Clicks]) -> int:
        sums = _summed(rows, "hour")
        records = [dict(keys) | {"hour": at, "click_date": at.date(), "clicks": n} for (at, keys), n in sums.items()]
        return self._overwrite("final_clicks_hour", records)

    def write_final_day(self, rows: Iterable[Clicks]) -> int:
        sums = _summed(rows, "day")
        records = [dict(keys) | {"click_date": at.date(), "clicks": n} for (at, keys), n in sums.items()]
        return self._overwrite("final_clicks_day", records)

    def seal(self, hours: Iterable[str | datetime]) -> int:
        """Seals hours; the number of the newest seal."""
        starts = [parse_utc(hour) if isinstance(hour, str) else hour for hour in hours]
        head = len(read_seals(self.settings))
        drafts = [replace(seal_draft(), hour=hour, attempt=f"attempt-{hour:%Y%m%dT%H}") for hour in starts]
        append_seals(self.settings, drafts, head, WRITTEN_AT)
        return head + len(starts)

    def publish(self, versions: Versions) -> Publication:
        """Makes these versions visible, with all seals there are."""
        seals = read_seals(self.settings)
        known = read_publications(self.settings)
        until = final_until({seal.hour for seal in seals}, known[-1].final_until if known else None)
        assert until is not None
        draft = PublicationDraft(
            seal_number=len(seals),
            final_until=until,
            minute_version=versions.minute,
            hour_version=versions.hour,
            day_version=versions.day,
        )
        return append_publication(self.settings, draft, len(known), WRITTEN_AT)

    def settle(self, rows: Sequence[Clicks], hours: Iterable[str | datetime]) -> Publication:
        """Seals and publishes hours whose final figures are these."""
        self.seal(hours)
        return self.publish(self.write_final(rows))

    def _overwrite(self, name: str, records: Iterable[Mapping[str, Any]]) -> int:
        uri = table_uri(self.settings, name)
        write_deltalake(uri, arrow_rows(TABLES[name], records), mode="overwrite")
        return DeltaTable(uri).version()


def counts_tables(home: Path) -> CountsTables:
    """Empty tables of a new home."""
    settings = Settings(home=home)
    make_empty_tables(settings)
    return CountsTables(settings)


def hours(first: str, count: int) -> list[datetime]:
    """So many hour starts, one after the other."""
    return [parse_utc(first) + timedelta(hours=index) for index in range(count)]


def brute_force(
    rows: Iterable[Clicks], start: datetime, end: datetime, granularity: Granularity
) -> dict[tuple[datetime, int], int]:
    """Clicks by bucket and ad of the rows in the range, added up one by one."""
    sums: dict[tuple[datetime, int], int] = {}
    for row in rows:
        if start <= row.at < end:
            key = (bucket_of(row.at, granularity), row.ad)
            sums[key] = sums.get(key, 0) + row.clicks
    return sums


def _minute_row(row: Clicks) -> dict[str, Any]:
    at = row.at
    return row.keys() | {"minute": at, "clicks": row.clicks, "click_date": at.date(), "click_hour": at.hour}


def _summed(rows: Iterable[Clicks], granularity: Granularity) -> dict[tuple[datetime, tuple[Any, ...]], int]:
    sums: dict[tuple[datetime, tuple[Any, ...]], int] = {}
    for row in rows:
        key = (bucket_of(row.at, granularity), tuple(row.keys().items()))
        sums[key] = sums.get(key, 0) + row.clicks
    return sums
