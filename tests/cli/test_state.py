"""The state of an installation: what does not run or does not exist yet is said, not raised."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import write_deltalake

from cli.state import read_state
from clicklog.offsets import end_offsets, first_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import topic_id
from domain.publications import PublicationDraft
from domain.settings import Settings
from tests.support.batches import AT as BATCHES_AT
from tests.support.batches import batch
from tests.support.events import click
from warehouse.create import create_missing_tables
from warehouse.layout import table_uri
from warehouse.locks import writer_lock
from warehouse.logs import register_log
from warehouse.marks import Mark, write_marks
from warehouse.publications import append_publication
from warehouse.schema import arrow_rows
from warehouse.stream_batches import append_batches
from warehouse.tables import TABLES

AT = datetime(2026, 1, 31, 13, tzinfo=UTC)
RAW_ROW = {
    **dict.fromkeys(("log", "partition", "offset", "ad_id", "advertiser_id", "campaign_id", "server_seq"), 1),
    **dict.fromkeys(("impression_id", "country", "device", "kind", "server_id"), "x"),
    **dict.fromkeys(("spooled_at", "ip", "user_agent")),
    "payload": b"{}",
    "logged_at": AT,
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def test_before_anything_ran(settings: Settings) -> None:
    state = read_state(settings, AT)
    assert {process.name for process in state.processes} == {
        "broker", "stream", "reconcile", "click", "metrics", "dagster",
    }  # fmt: skip
    assert not any(process.is_running for process in state.processes if process.name in {"broker", "stream"})
    assert state.partitions is None
    assert "`tallystick broker`" in (state.log_problem or "")
    assert (state.last_live_batch_at, state.live_logged_at, state.final_until) == (None, None, None)


def test_tables_that_were_only_created_have_no_last_batch(settings: Settings) -> None:
    create_missing_tables(settings)
    assert read_state(settings, AT).last_live_batch_at is None


def test_a_held_lock_is_a_running_writer(settings: Settings) -> None:
    with writer_lock(settings, "stream"):
        running = {process.name: process.is_running for process in read_state(settings, AT).processes}
    assert (running["stream"], running["reconcile"]) == (True, False)


def test_final_until_is_that_of_the_newest_publication(settings: Settings) -> None:
    create_missing_tables(settings)
    for number, until in enumerate((AT, AT.replace(hour=14))):
        draft = PublicationDraft(seal_number=1, minute_version=1, hour_version=1, day_version=1, final_until=until)
        append_publication(settings, draft, number, AT)
    assert read_state(settings, AT).final_until == AT.replace(hour=14)


@pytest.mark.broker
def test_lag_is_counted_from_the_marks_of_each_stream(log_settings: Settings) -> None:
    log = _log_with_clicks(log_settings, 40)
    ends = end_offsets(log_settings, log_settings.clicks_topic)
    busy = max(ends, key=lambda partition: ends[partition])
    write_marks(log_settings, "archive", log, [Mark("archive", log, busy, ends[busy] - 1, None, AT)])
    write_marks(log_settings, "live", log, [Mark("live", log, busy, ends[busy] - 3, None, AT)])
    state = read_state(log_settings, AT)
    assert state.log_problem is None
    assert {each.partition: each.end_offset for each in state.partitions or []} == ends
    assert {each.partition: (each.archive_lag_events, each.live_lag_events) for each in state.partitions or []} == {
        partition: (0, 2) if partition == busy else (end, end) for partition, end in ends.items()
    }
    assert state.live_logged_at == AT
    assert state.next_seal is None, "nothing is archived yet"


@pytest.mark.broker
def test_the_next_seal_is_the_first_hour_and_says_what_it_waits_for(log_settings: Settings) -> None:
    _log_with_clicks(log_settings, 4)
    hours = [{**RAW_ROW, "clicked_at": at, "click_date": at.date(), "click_hour": at.hour} for at in (AT, _later(AT))]
    raw = TABLES["raw_clicks"]
    write_deltalake(table_uri(log_settings, raw.name), arrow_rows(raw, hours), mode="append")
    next_seal = read_state(log_settings, AT).next_seal
    assert next_seal is not None
    assert next_seal.hour == AT
    assert next_seal.waits_for[0] == "ends at 2026-01-31T14:00:00Z, grace until 2026-01-31T14:05:00Z"
    assert any("waits for the archive" in reason for reason in next_seal.waits_for)
    assert next_seal.expected_at == datetime(2026, 1, 31, 14, 5, tzinfo=UTC)


def _later(at: datetime) -> datetime:
    return at.replace(hour=at.hour + 1)


def _log_with_clicks(settings: Settings, count: int) -> int:
    """A registered log of this many clicks; its number."""
    create_missing_tables(settings)
    producer = ClickProducer(settings)
    for number in range(count):
        producer.send(*click(f"imp-{number}", AT))
    producer.flush(30)
    topic = settings.clicks_topic
    return register_log(settings, topic, topic_id(settings, topic), first_offsets(settings, topic), AT)


def test_the_last_few_batches_of_each_query_are_told(settings: Settings) -> None:
    create_missing_tables(settings)
    moved = [replace(batch(query), batch_id=number) for number in range(8) for query in ("live", "archive")]
    append_batches(settings, moved)
    found = read_state(settings, BATCHES_AT).stream.batches
    assert [(each.query, each.batch_id) for each in found] == [
        (query, number) for query in ("archive", "live") for number in range(3, 8)
    ]
