"""What a dispute rests on: each click of its hours with its outcome, out of raw and the sealed attempts. No JVM.

Belongs here: reading, as of the newest publication. What an evidence pack looks like is ``warehouse/pack/files.py``.
Of the clicks of other advertisers nothing leaves this module but, for each hour, how many were billable and one sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import DAY, HOUR, MICROSECOND, format_utc, from_unix_micros, hour_of, to_unix_micros
from domain.disputes import Dispute
from domain.errors import UsageError
from domain.identity import place_of
from domain.publications import Publication, shown_seals
from domain.seals import Seal, sum_hex
from domain.settings import Settings
from warehouse.counts import open_version
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table, rows_of
from warehouse.pack.queries import (
    CLICKS_SQL,
    EVENTS_SQL,
    EXCLUDED_SQL,
    FOREIGN_SQL,
    LOOK_BACK_SQL,
    MISSING_WINNERS_SQL,
    RAW_COUNTS_SQL,
    SPAN_SQL,
    TABLES_SQL,
    VERDICTS_SQL,
)
from warehouse.prices import read_prices, with_money
from warehouse.publications import latest_publication
from warehouse.published_minutes import published_minutes
from warehouse.ranges import FINAL_TABLE
from warehouse.schema import INSTANT, STATISTICS_GRAIN
from warehouse.seals import read_seals

MEMORY_LIMIT = "1GB"
BATCH_ROWS = 50_000
FOREIGN_FIELDS: list[tuple[str, pa.DataType]] = [("hour", INSTANT), ("clicks", pa.int64()), ("digest", pa.string())]
RAW_COLUMNS = [
    *("log", "partition", "offset", "logged_at", "impression_id", "ad_id", "advertiser_id", "campaign_id"),
    *("clicked_at", "country", "device", "kind", "payload"),
]
EXCLUSION_COLUMNS = [
    *("attempt", "log", "partition", "offset", "reason", "winner_log", "winner_partition", "winner_offset"),
    "verdict_id",
]


@dataclass(frozen=True)
class NotShown:
    """A copy that stands for a click of the dispute and is not shown, and why."""

    log: int
    partition: int
    offset: int
    why: str


class Evidence:
    """The clicks of one dispute. A context manager: it holds a temporary folder. Reads only; blocks on disk and CPU.

    ``seals``: the whole chain. ``held``: by hour the seal that is in force and published; an hour may have none.
    """

    def __init__(self, settings: Settings, dispute: Dispute) -> None:
        self.dispute = dispute
        self.publication: Publication | None = latest_publication(settings)
        self.seals: list[Seal] = read_seals(settings)
        shown = shown_seals(self.seals, self.publication)
        self.held: dict[datetime, Seal] = {hour: shown[hour] for hour in dispute.hours if hour in shown}
        self._settings = settings
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._engine = self._open.enter_context(opened_engine(self._settings, MEMORY_LIMIT))
        self._engine.execute(TABLES_SQL)
        self._load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def missing_hours(self) -> list[datetime]:
        """Hours of the dispute that are not sealed and published."""
        return [hour for hour in self.dispute.hours if hour not in self.held]

    def clicks(self) -> pa.RecordBatchReader:
        """Each click event of the advertiser in the hours, and earlier copies of them, by log position."""
        return self._reader(CLICKS_SQL, own=self.dispute.advertiser_id)

    def foreign_sums(self) -> pa.Table:
        """Of the billable clicks of others how many there are, and what they add to the digest; by hour."""
        rows = self._rows(FOREIGN_SQL, own=self.dispute.advertiser_id)
        return pa.Table.from_pylist(
            [
                {"hour": from_unix_micros(hour_us), "clicks": clicks, "digest": sum_hex(words)}
                for hour_us, clicks, *words in rows
            ],
            schema=pa.schema(FOREIGN_FIELDS),
        )

    def verdicts(self) -> pa.RecordBatchReader:
        """Every verdict about these clicks, up to the newest set that any of the hours was counted with."""
        newest = max((seal.verdict_set for seal in self.held.values()), default=0)
        return self._reader(VERDICTS_SQL, own=self.dispute.advertiser_id, newest=newest)

    def excluded(self) -> list[tuple[datetime, int, str, int]]:
        """Hour, ad, reason and count of the excluded clicks in the range."""
        range_us = {"start_us": to_unix_micros(self.dispute.start), "end_us": to_unix_micros(self.dispute.end)}
        rows = self._rows(EXCLUDED_SQL, own=self.dispute.advertiser_id, **range_us)
        return [(from_unix_micros(hour_us), ad_id, reason, count) for hour_us, ad_id, reason, count in rows]

    def raw_counts(self) -> dict[datetime, int]:
        """By hour how many raw events of all advertisers are there below the cut of its seal."""
        return {from_unix_micros(hour_us): count for hour_us, count in self._rows(RAW_COUNTS_SQL)}

    @property
    def incomplete_hours(self) -> list[datetime]:
        """Hours of which raw no longer holds what was sealed: nothing can be proven for them."""
        counts = self.raw_counts()
        return [hour for hour, seal in sorted(self.held.items()) if counts[hour] != seal.raw_clicks]

    def not_shown(self) -> list[NotShown]:
        """Copies that clicks of the dispute are duplicates of, and that are no rows of ``clicks``."""
        missing = self._rows(MISSING_WINNERS_SQL, own=self.dispute.advertiser_id)
        if not missing:
            return []
        offsets = pa.array(sorted({offset for _, _, offset in missing}), pa.int64())
        found = self._raw(ds.field("offset").isin(offsets), ["log", "partition", "offset"]).read_all().to_pylist()
        there = {tuple(row.values()) for row in found}
        return [
            NotShown(log, partition, offset, "another advertiser's" if (log, partition, offset) in there else "gone")
            for log, partition, offset in missing
        ]

    def final_rows(self) -> pa.Table:
        """The published minutes of the advertiser in the range, by key, with their money."""
        if self.publication is None:
            minutes = dataset_of(open_version(self._settings, FINAL_TABLE["minute"], 0))
        else:
            minutes = published_minutes(self._settings, self.publication, self.dispute.hours)
        dispute, minute, click_date = self.dispute, ds.field("minute"), ds.field("click_date")
        columns = ["advertiser_id", "campaign_id", "ad_id", "minute", "country", "device", "clicks"]
        rows = minutes.to_table(
            columns=columns,
            filter=(ds.field("advertiser_id") == dispute.advertiser_id)
            & (click_date >= pa.scalar(dispute.start.date()))
            & (click_date <= pa.scalar((dispute.end - MICROSECOND).date()))
            & (minute >= pa.scalar(dispute.start, INSTANT))
            & (minute < pa.scalar(dispute.end, INSTANT)),
        )
        rows = rows.sort_by([(name, "ascending") for name in columns])
        return with_money(self._settings, rows, read_prices(self._settings, dispute.advertiser_id), "minute")

    def _load(self) -> None:
        """All events of the hours, the exclusions of the sealed attempts, and earlier copies of the own clicks."""
        hours = self.dispute.hours
        self._engine.executemany(
            "INSERT INTO hours VALUES (?, ?)",
            [(to_unix_micros(hour), self.held[hour].attempt if hour in self.held else None) for hour in hours],
        )
        ends = [
            (to_unix_micros(hour), *place_of(place), end)
            for hour, seal in self.held.items()
            for place, end in seal.cut.items()
        ]
        if ends:
            self._engine.executemany("INSERT INTO cut VALUES (?, ?, ?, ?)", ends)
        in_hours = _between("clicked_at", hours[0], hours[-1] + HOUR) & _dates(hours[0], hours[-1])
        self._fill(EVENTS_SQL, "raw_once", self._raw(in_hours, RAW_COLUMNS))
        attempts = pa.array(sorted(seal.attempt for seal in self.held.values()), pa.string())
        exclusions = dataset_of(open_table(self._settings, "click_exclusions"))
        mine = ds.field("attempt").isin(attempts) & _dates(hours[0], hours[-1])
        self._fill(
            "INSERT INTO exclusions SELECT * FROM exclusions_once",
            "exclusions_once",
            exclusions.scanner(columns=EXCLUSION_COLUMNS, filter=mine).to_reader(),
        )
        self._look_back()
        verdicts = rows_of(open_table(self._settings, "fraud_verdicts"))
        self._engine.register("verdicts", verdicts)

    def _look_back(self) -> None:
        own = self.dispute.advertiser_id
        first_us, last_us = self._rows(SPAN_SQL, own=own)[0]
        if first_us is None:
            return
        days = max((seal.horizon_days for seal in self.held.values()), default=self._settings.final_horizon_days)
        since = from_unix_micros(first_us) - days * DAY
        logged = _between("logged_at", since - STATISTICS_GRAIN, from_unix_micros(last_us) + MICROSECOND)
        copies = self._raw(logged & (ds.field("advertiser_id") == own), RAW_COLUMNS)
        self._fill(LOOK_BACK_SQL, "raw_once", copies, own=own, since_us=to_unix_micros(since))

    def _raw(self, condition: ds.Expression, columns: list[str]) -> pa.RecordBatchReader:
        raw = dataset_of(open_table(self._settings, "raw_clicks"))
        return raw.scanner(columns=columns, filter=condition).to_reader()

    def _fill(self, sql: str, name: str, rows: pa.RecordBatchReader, **parameters: Any) -> None:
        self._engine.register(name, rows)
        self._engine.execute(sql, parameters or None)
        self._engine.unregister(name)

    def _reader(self, sql: str, **parameters: Any) -> pa.RecordBatchReader:
        rows: pa.RecordBatchReader = self._engine.sql(sql, params=parameters).to_arrow_reader(BATCH_ROWS)
        return rows

    def _rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._engine.execute(sql, parameters or None).fetchall()


def refuse_unsealed(hours: Sequence[datetime]) -> None:
    """``UsageError`` if there are hours that no published seal speaks of."""
    if hours:
        raise UsageError(
            f"hour {format_utc(hours[0])} and {len(hours) - 1} more of the dispute are not sealed and published",
            "hours with figures to prove",
            "reconcile them first: `tallystick reconcile`",
        )


def seals_of_hours(seals: Iterable[Seal], dispute: Dispute) -> list[Seal]:
    """Every seal of the hours of a dispute, revisions included, in the order of the chain."""
    hours = set(dispute.hours)
    return [seal for seal in seals if seal.hour in hours]


def _between(name: str, start: datetime, end: datetime) -> ds.Expression:
    at = ds.field(name)
    return (at >= pa.scalar(start, INSTANT)) & (at < pa.scalar(end, INSTANT))


def _dates(first: datetime, last: datetime) -> ds.Expression:
    click_date = ds.field("click_date")
    return (click_date >= pa.scalar(hour_of(first).date())) & (click_date <= pa.scalar(hour_of(last).date()))
