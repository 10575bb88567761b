"""Books for tests: seals, revisions, publications with their attempts and drift, and a model of them in plain Python.

No JVM. The final tables stay empty: an answer about the past must not read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import write_deltalake

from domain.buckets import HOUR, Granularity, bucket_of, hour_of
from domain.finality import final_until
from domain.publications import PublicationDraft
from domain.seals import current_seals
from domain.settings import Settings
from tests.support.counts_tables import Clicks
from tests.support.empty_tables import make_empty_tables
from tests.support.ledgers import seal_draft
from warehouse.layout import table_uri
from warehouse.publications import append_publication, read_publications
from warehouse.schema import arrow_rows
from warehouse.seals import append_seals, read_seals
from warehouse.tables import TABLES

Figures = Mapping[datetime, Sequence[Clicks]]
"""By hour its minute rows."""


@dataclass
class Books:
    """The ledgers of one home, and what was written, for a model."""

    settings: Settings
    seals: list[tuple[datetime, Sequence[Clicks]]] = field(default_factory=list)
    """Hour and rows of each seal, by number."""
    publications: list[tuple[datetime, int]] = field(default_factory=list)
    """When, and the number of the newest seal that was shown."""

    def seal(self, figures: Figures, live: Mapping[int, int] | None = None) -> None:
        """Seals the hours in one commit, each under the next revision. ``live``: by advertiser, of each hour."""
        held = read_seals(self.settings)
        current = current_seals(held)
        drafts = []
        for hour, rows in figures.items():
            revision = current[hour].revision + 1 if hour in current else 0
            attempt = f"attempt-{hour:%Y%m%dT%H}-{revision}"
            clicks = sum(row.clicks for row in rows)
            counted = {"raw_clicks": clicks, "billable_clicks": clicks, "excluded_clicks": {}}
            drafts.append(seal_draft(hour=hour, revision=revision, attempt=attempt, **counted))
            self.write_attempt(attempt, rows)
            self._write_drift(attempt, hour, rows, live or {})
        append_seals(self.settings, drafts, len(held), held[-1].sealed_at if held else min(figures))
        self.seals += figures.items()

    def publish(self, at: datetime) -> None:
        """Makes all seals visible, at this instant."""
        seals = read_seals(self.settings)
        known = read_publications(self.settings)
        until = final_until({seal.hour for seal in seals}, known[-1].final_until if known else None)
        assert until is not None
        versions = {"minute_version": 0, "hour_version": 0, "day_version": 0}
        draft = PublicationDraft(seal_number=len(seals), final_until=until, **versions)
        append_publication(self.settings, draft, len(known), at)
        self.publications.append((at, len(seals)))

    def final_at(self, at: datetime) -> dict[datetime, Sequence[Clicks]]:
        """The model: by hour the rows that were final at an instant."""
        held: dict[datetime, Sequence[Clicks]] = {}
        run: set[datetime] = set()
        for published_at, number in self.publications:
            if published_at <= at:
                held = dict(self.seals[:number])
                run = run or {min(held)}
                while more := {hour + way for hour in run for way in (HOUR, -HOUR) if hour + way in held} - run:
                    run |= more
        return {hour: rows for hour, rows in held.items() if hour in run}

    def expected(
        self, at: datetime, start: datetime, end: datetime, granularity: Granularity
    ) -> list[tuple[datetime, int, int, bool]]:
        """The model's answer: bucket, ad, clicks, final."""
        final = self.final_at(at)
        sums: dict[tuple[datetime, int], int] = {}
        for rows in final.values():
            for row in rows:
                if start <= row.at < end:
                    key = (bucket_of(row.at, granularity), row.ad)
                    sums[key] = sums.get(key, 0) + row.clicks
        length = {"minute": timedelta(minutes=1), "hour": HOUR, "day": timedelta(days=1)}[granularity]
        return [
            (bucket, ad, clicks, bucket >= min(final) and bucket + length <= max(final) + HOUR)
            for (bucket, ad), clicks in sorted(sums.items())
        ]

    def write_attempt(self, attempt: str, rows: Sequence[Clicks]) -> None:
        """Appends the rows of an attempt, sealed or not."""
        self._append("reconciled_clicks_minute", [_minute_row(row) | {"attempt": attempt} for row in rows])

    def write_live(self, rows: Sequence[Clicks]) -> None:
        """Appends rows of the live count; what drift says of it is given to ``seal``."""
        self._append("live_clicks_minute", [_minute_row(row) | {"versions": {"1:0": 9}} for row in rows])

    def _write_drift(self, attempt: str, hour: datetime, rows: Sequence[Clicks], live: Mapping[int, int]) -> None:
        blank: dict[str, Any] = {column.name: 0 for column in TABLES["drift"].columns if column.type == "long"}
        said = {"attempt": attempt, "hour": hour, "click_date": hour.date(), "is_alert": False}
        final = {who: sum(row.clicks for row in rows if row.advertiser == who) for who in {r.advertiser for r in rows}}
        self._append(
            "drift",
            [
                blank
                | said
                | {"advertiser_id": who, "live_clicks": live.get(who, 0), "final_clicks": final.get(who, 0)}
                | {"difference_clicks": live.get(who, 0) - final.get(who, 0)}
                for who in sorted(final.keys() | live.keys())
            ],
        )

    def _append(self, name: str, rows: list[dict[str, Any]]) -> None:
        if rows:
            write_deltalake(table_uri(self.settings, name), arrow_rows(TABLES[name], rows), mode="append")


def books(home: Path) -> Books:
    """Empty tables of a new home."""
    settings = Settings(home=home)
    make_empty_tables(settings)
    return Books(settings)


def by_hour(*rows: Clicks) -> dict[datetime, Sequence[Clicks]]:
    """The rows as figures."""
    figures: dict[datetime, list[Clicks]] = {}
    for row in rows:
        figures.setdefault(hour_of(row.at), []).append(row)
    return dict(figures)


def _minute_row(row: Clicks) -> dict[str, Any]:
    at = row.at
    return row.keys() | {"minute": at, "clicks": row.clicks, "click_date": at.date(), "click_hour": at.hour}
