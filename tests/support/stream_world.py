"""A stream's surroundings for tests: a topic to send to, the job to run, its tables as plain Python."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import ensure_topics
from domain.ads import Ad
from domain.buckets import parse_utc
from domain.counting import CountKey, LiveCounts, LoggedEvent, live_counts
from domain.identity import LogPosition
from domain.parsing import ParsedEvent, parse_event
from domain.seals import SealDraft
from domain.settings import Settings
from spark_jobs.stream import checkpoint_path, run_stream
from spark_jobs.stream_params import StreamParams, StreamReceipt
from tests.support.empty_tables import make_empty_tables
from tests.support.events import AD, ADVERTISER, CAMPAIGN
from warehouse.ads import snapshot_ads
from warehouse.clock import now
from warehouse.layout import table_uri
from warehouse.seals import append_seals, read_seals

Record = tuple[bytes | None, bytes | None]
FLUSH_SECONDS = 30.0


@dataclass
class StreamWorld:
    """One topic of its own and one home of its own; ads 17 (and those a test adds) are known."""

    settings: Settings
    spark: SparkSession

    def __post_init__(self) -> None:
        ensure_topics(self.settings)
        make_empty_tables(self.settings)
        self.know_ads(AD)

    def know_ads(self, *ad_ids: int) -> None:
        ads = [Ad(ad_id, ADVERTISER, CAMPAIGN, "https://shop.example/") for ad_id in ad_ids]
        snapshot_ads(self.settings, ads, now())

    def send(self, records: Iterable[Record]) -> None:
        producer = ClickProducer(self.settings)
        for key, value in records:
            producer.send(key or b"", value)
        producer.flush(FLUSH_SECONDS)

    def send_in_transaction(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        """As a stranger's transactional producer does it: the commit leaves a marker, an offset without a record."""
        config = {"bootstrap.servers": self.settings.bootstrap, "transactional.id": f"test-{uuid4()}"}
        producer = Producer(config)
        producer.init_transactions(FLUSH_SECONDS)
        producer.begin_transaction()
        for key, value in records:
            producer.produce(self.settings.clicks_topic, value=value, key=key)
        producer.commit_transaction(FLUSH_SECONDS)

    def recreate_topic(self) -> None:
        admin, topic = self._admin(), self.settings.clicks_topic
        admin.delete_topics([topic])[topic].result()
        deadline = time.monotonic() + FLUSH_SECONDS
        while topic in admin.list_topics(timeout=FLUSH_SECONDS).topics and time.monotonic() < deadline:
            time.sleep(0.1)
        ensure_topics(self.settings)

    def add_partitions(self, count: int) -> None:
        admin, topic = self._admin(), self.settings.clicks_topic
        admin.create_partitions([NewPartitions(topic, count)])[topic].result()
        deadline = time.monotonic() + FLUSH_SECONDS
        while len(end_offsets(self.settings, topic)) < count and time.monotonic() < deadline:
            time.sleep(0.1)

    def delete_all_records(self) -> None:
        """What retention does, at once."""
        admin, topic = self._admin(), self.settings.clicks_topic
        ends = [TopicPartition(topic, p, end) for p, end in end_offsets(self.settings, topic).items()]
        for future in admin.delete_records(ends).values():
            future.result()

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.settings.bootstrap})

    def sized(self, **changes: Any) -> StreamWorld:
        """The same topic and tables under other settings."""
        return StreamWorld(replace(self.settings, **changes), self.spark)

    def run(self, **params: Any) -> StreamReceipt:
        """Catch up once."""
        return run_stream(self.settings, self.spark, StreamParams(is_once=True, **params))

    def lose_checkpoint(self, query: str, log: int = 1) -> None:
        shutil.rmtree(checkpoint_path(self.settings, log, query))

    def keep_checkpoint(self, query: str, copy: Path, log: int = 1) -> None:
        shutil.copytree(checkpoint_path(self.settings, log, query), copy)

    def restore_checkpoint(self, query: str, copy: Path, log: int = 1) -> None:
        self.lose_checkpoint(query, log)
        shutil.copytree(copy, checkpoint_path(self.settings, log, query))

    def seal_for_test(self, hour: datetime) -> None:
        """A seal of an empty hour; what reconcile would write, without reconciling."""
        draft = SealDraft(
            hour=hour,
            revision=0,
            attempt="test",
            cut={},
            raw_clicks=0,
            billable_clicks=0,
            excluded_clicks={},
            digest="0" * 64,
            verdict_set=0,
            ads_version=0,
            rule_version=1,
            horizon_days=7,
            code_version="test",
            actor="test",
        )
        append_seals(self.settings, [draft], len(read_seals(self.settings)), now())

    def rows(self, table: str, version: int | None = None) -> list[dict[str, Any]]:
        return DeltaTable(table_uri(self.settings, table), version).to_pyarrow_table().to_pylist()

    def positions(self, table: str) -> list[LogPosition]:
        """Positions in a table, sorted; a doubled row shows as a doubled position."""
        return sorted(LogPosition(row["log"], row["partition"], row["offset"]) for row in self.rows(table))

    def live(self) -> dict[CountKey, int]:
        return {
            CountKey(*(row[name] for name in CountKey._fields)): row["clicks"]
            for row in self.rows("live_clicks_minute")
        }

    def logged_events(self) -> list[LoggedEvent]:
        """What raw_clicks holds, parsed again from its payload bytes by the plain-Python parser."""
        return [_logged(row) for row in self.rows("raw_clicks")]

    def oracle(self, sealed_hours: Iterable[datetime] = ()) -> LiveCounts:
        """What live should be, from the archived log."""
        return live_counts(
            self.logged_events(), self.settings.live_horizon, self.settings.late_bound, set(sealed_hours)
        )

    def assert_live_equals_oracle(self) -> None:
        oracle = self.oracle()
        assert self.live() == oracle.counts
        assert self.positions("late_clicks") == sorted(oracle.late)


def _logged(row: dict[str, Any]) -> LoggedEvent:
    event = parse_event(row["payload"], row["logged_at"].astimezone(UTC), {row["ad_id"]})
    assert isinstance(event, ParsedEvent)
    return LoggedEvent(
        LogPosition(row["log"], row["partition"], row["offset"]), row["logged_at"].astimezone(UTC), event
    )


def minutes_ago(minutes: float) -> datetime:
    """A click time that is neither late nor in the future."""
    return now() - timedelta(minutes=minutes)


def at(text: str) -> datetime:
    return parse_utc(text)
