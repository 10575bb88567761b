"""Reconcile's surroundings for tests: an archive that is written directly, and a log that says where it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from domain.ads import Ad
from domain.buckets import HOUR
from domain.counting import CountKey, LoggedEvent, Outcome, count_billable, final_outcomes
from domain.identity import LogPosition
from domain.parsing import ParsedEvent
from domain.seals import Seal, current_seals
from domain.settings import Settings
from spark_jobs.params import HourPlan, ReconcileParams, ReconcileReceipt
from spark_jobs.planning import plan
from spark_jobs.reconcile import reconcile
from spark_jobs.reconcile_log import LogEnds
from spark_jobs.transforms.parse import dimensions, identity, minted_at
from warehouse.ads import snapshot_ads
from warehouse.create import create_missing_tables
from warehouse.layout import table_uri
from warehouse.logs import register_log
from warehouse.marks import Mark, write_marks
from warehouse.schema import arrow_rows
from warehouse.seals import read_seals
from warehouse.tables import TABLES

TOPIC_ID = "topic-of-tests"
H = datetime(2026, 5, 4, 10, tzinfo=UTC)
"""The hour that most tests are about."""
NOW = H + 30 * HOUR


@dataclass(frozen=True)
class Click:
    """One event as a test writes it. ``clicked`` and ``logged`` are minutes after H; logged defaults to clicked."""

    imp: str
    clicked: float = 0
    logged: float | None = None
    partition: int = 0
    kind: str = "click"
    ad: int = 1
    advertiser: int = 10
    campaign: int = 100
    country: str = "DE"
    device: str = "mobile"

    @property
    def clicked_at(self) -> datetime:
        return H + timedelta(minutes=self.clicked)

    @property
    def appended_at(self) -> datetime:
        return H + timedelta(minutes=self.clicked if self.logged is None else self.logged)


@dataclass
class WrittenLog:
    """A log of which only the ends are known, as ``ClickLog``."""

    ends: dict[int, int]
    watermarks: dict[str, Any] = field(default_factory=dict)
    explained: set[tuple[int, int, int]] = field(default_factory=set)
    topic_id: str = TOPIC_ID

    def read_ends(self) -> LogEnds:
        return LogEnds(self.topic_id, dict(self.watermarks), dict(self.ends))

    def is_gap_explained(self, partition: int, start: int, end: int) -> bool:
        return (partition, start, end) in self.explained


class ReconcileWorld:
    """One home, one log of two partitions."""

    def __init__(self, home: Path, spark: SparkSession, **changes: Any) -> None:
        self.settings = Settings(home=home, shuffle_partitions=2, **changes)
        self.spark = spark
        create_missing_tables(self.settings)
        snapshot_ads(self.settings, [Ad(1, 10, 100, "https://shop.example/")], H)
        self.log_number = register_log(self.settings, self.settings.clicks_topic, TOPIC_ID, {0: 0, 1: 0}, H)
        self.log = WrittenLog({0: 0, 1: 0})
        self.events: list[LoggedEvent] = []

    def archive(
        self, clicks: Iterable[Click], *, without: Sequence[str] = (), is_marked: bool = True
    ) -> list[LogPosition]:
        """What the archive stream would write of these records, given in the order of the log; their positions.

        ``without`` leaves tables out, as a fault would.
        """
        fresh = [self._logged(click) for click in clicks]
        for table in ("raw_clicks", "click_identities"):
            if table not in without:
                self._write(table, fresh)
        self.events += fresh
        if is_marked:
            self.mark()
        return [one.position for one in fresh]

    def _logged(self, click: Click) -> LoggedEvent:
        """Takes the next offset of its partition; logged_at never steps back in a partition."""
        offset = self.log.ends.get(click.partition, 0)
        self.log.ends[click.partition] = offset + 1
        before = [e.logged_at for e in self.events if e.position.partition == click.partition]
        self.sequence = getattr(self, "sequence", 0) + 1
        event = ParsedEvent(
            impression_id=click.imp,
            ad_id=click.ad,
            advertiser_id=click.advertiser,
            campaign_id=click.campaign,
            clicked_at=click.clicked_at,
            country=click.country,
            device=click.device,
            kind=click.kind,
            server_id="edge-1",
            server_seq=self.sequence,
        )
        position = LogPosition(self.log_number, click.partition, offset)
        return LoggedEvent(position, max([*before[-1:], click.appended_at]), event)

    def _write(self, table: str, events: Sequence[LoggedEvent]) -> None:
        rows = [_raw_row(one) for one in events]
        if table == "raw_clicks":
            write_deltalake(table_uri(self.settings, table), arrow_rows(TABLES[table], rows), mode="append")
            return
        clicks = [row for row in rows if row["kind"] == "click"]
        if not clicks:
            return
        columns = (
            "log",
            "partition",
            "offset",
            "logged_at",
            "impression_id",
            "ad_id",
            "campaign_id",
            "country",
            "device",
        )
        types = "log int, partition int, offset long, logged_at timestamp, impression_id string, ad_id long, "
        types += "campaign_id long, country string, device string"
        frame = self.spark.createDataFrame([tuple(row[name] for name in columns) for row in clicks], types)
        derived = {
            "identity": identity(),
            "minted_at": minted_at(),
            "dimensions": dimensions(),
            "log_date": F.to_date("logged_at"),
        }
        selected = frame.withColumns(derived).select(*TABLES[table].column_names).coalesce(1)
        selected.write.format("delta").mode("append").save(table_uri(self.settings, table))

    def quarantine(self, partition: int) -> None:
        """One record that could not become an event."""
        offset = self.log.ends.get(partition, 0)
        self.log.ends[partition] = offset + 1
        self.write_rows(
            "quarantined_clicks",
            [
                {
                    "log": self.log_number,
                    "partition": partition,
                    "offset": offset,
                    "logged_at": H,
                    "reason": "empty",
                    "payload": None,
                    "log_date": H.date(),
                }
            ],
        )
        self.mark()

    def mark(self, **ends: int) -> None:
        """The archive has looked at everything there is."""
        marks = [
            Mark("archive", self.log_number, partition, end - 1, None, None)
            for partition, end in self.log.ends.items()
            if end
        ]
        write_marks(self.settings, "archive", self.log_number, marks)

    def write_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        write_deltalake(table_uri(self.settings, table), arrow_rows(TABLES[table], rows), mode="append")

    def write_live(self, counts: Mapping[CountKey, int]) -> None:
        """What the stream would have counted."""
        self.write_rows(
            "live_clicks_minute",
            [
                {
                    **key._asdict(),
                    "clicks": clicks,
                    "versions": {"1:0": 1},
                    "click_date": key.minute.date(),
                    "click_hour": key.minute.hour,
                }
                for key, clicks in counts.items()
            ],
        )

    def write_late(self, positions: Iterable[LogPosition]) -> None:
        by_position = {one.position: one for one in self.events}
        self.write_rows("late_clicks", [_late_row(by_position[position]) for position in positions])

    def plan(self, first: datetime = H, count: int = 1, now: datetime = NOW) -> list[HourPlan]:
        return plan(self.settings, [first + HOUR * i for i in range(count)], now, self.log)

    def reconcile(self, first: datetime = H, count: int = 1, now: datetime = NOW, **changes: Any) -> ReconcileReceipt:
        params = ReconcileParams(first, first + HOUR * count, "test")
        return reconcile(self.settings, self.spark, params, lambda: now, log=self.log, **changes)

    def rows(self, table: str, version: int | None = None) -> list[dict[str, Any]]:
        return DeltaTable(table_uri(self.settings, table), version).to_pyarrow_table().to_pylist()

    def seals(self) -> list[Seal]:
        return read_seals(self.settings)

    def sealed_counts(self, hour: datetime = H) -> dict[CountKey, int]:
        """The minutes of the attempt that the hour's seal names; a doubled key would show as an error."""
        attempt = current_seals(self.seals())[hour].attempt
        rows = [row for row in self.rows("reconciled_clicks_minute") if row["attempt"] == attempt]
        counts = {count_key_of(row): row["clicks"] for row in rows}
        assert len(counts) == len(rows)
        return counts

    def sealed_exclusions(self, hour: datetime = H) -> dict[LogPosition, tuple[str, LogPosition | None]]:
        attempt = current_seals(self.seals())[hour].attempt
        rows = [row for row in self.rows("click_exclusions") if row["attempt"] == attempt]
        return {LogPosition(row["log"], row["partition"], row["offset"]): (row["reason"], _winner(row)) for row in rows}

    def final_counts(self, table: str = "final_clicks_minute") -> dict[tuple[Any, ...], int]:
        key = TABLES[table].key
        return {tuple(row[name] for name in key): row["clicks"] for row in self.rows(table)}

    def oracle(self, hour: datetime = H) -> list[Outcome]:
        """What became of each event of the hour, by the plain rule over the whole log."""
        outcomes = final_outcomes(self.events, self.settings.final_horizon)
        return [one for one in outcomes if hour <= one.event.clicked_at < hour + HOUR]

    def assert_sealed_equals_oracle(self, hour: datetime = H) -> None:
        outcomes = self.oracle(hour)
        assert self.sealed_counts(hour) == count_billable(outcomes)
        excluded = {one.position: (one.reason, one.winner) for one in outcomes if not one.is_billable}
        assert self.sealed_exclusions(hour) == excluded


def count_key_of(row: Mapping[str, Any]) -> CountKey:
    return CountKey(*(row[name] for name in CountKey._fields))


def _winner(row: Mapping[str, Any]) -> LogPosition | None:
    if row["winner_log"] is None:
        return None
    return LogPosition(row["winner_log"], row["winner_partition"], row["winner_offset"])


def _raw_row(one: LoggedEvent) -> dict[str, Any]:
    event = one.event
    return {
        **one.position._asdict(),
        "logged_at": one.logged_at,
        **{name: getattr(event, name) for name in ParsedEvent.__dataclass_fields__},
        "spooled_at": None,
        "ip": "198.51.100.7",
        "user_agent": None,
        "payload": b"{}",
        "click_date": event.clicked_at.date(),
        "click_hour": event.clicked_at.hour,
    }


def _late_row(one: LoggedEvent) -> dict[str, Any]:
    event = one.event
    return {
        **one.position._asdict(),
        "reason": "late",
        "appended_at": one.logged_at,
        "clicked_at": event.clicked_at,
        "identity": one.identity,
        "advertiser_id": event.advertiser_id,
        "campaign_id": event.campaign_id,
        "ad_id": event.ad_id,
        "minute": event.clicked_at.replace(second=0, microsecond=0),
        "country": event.country,
        "device": event.device,
        "click_date": event.clicked_at.date(),
    }
