"""Watermarks: the record, the newest of each server whatever else the topic holds, retiring a server."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from clicklog.clients import TopicMissingError, log_admin
from clicklog.producer import ClickProducer
from clicklog.topics import partition_count
from clicklog.watermarks import (
    Watermark,
    WatermarkUnreadableError,
    decode_watermark,
    read_watermarks,
    retire_server,
)
from domain.errors import UsageError
from domain.gate import SILENT_AFTER
from domain.settings import Settings

AT = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MARK = Watermark("edge-1", AT, is_closing=False, sent_at=AT + SECOND)
FLUSH_SECONDS = 30


def _send(settings: Settings, *records: tuple[bytes, bytes | None]) -> None:
    producer = ClickProducer(settings)
    for key, value in records:
        producer.send(key, value, topic=settings.edge_watermarks_topic)
    producer.flush(FLUSH_SECONDS)


def _record(watermark: Watermark) -> tuple[bytes, bytes]:
    return watermark.server_id.encode(), watermark.encode()


def test_the_record() -> None:
    assert json.loads(MARK.encode()) == {
        "v": 1,
        "server_id": "edge-1",
        "accepted_until": "2026-01-31T12:00:00.250000Z",
        "is_closing": False,
        "sent_at": "2026-01-31T12:00:01.250000Z",
    }


@pytest.mark.parametrize(
    "watermark",
    [MARK, replace(MARK, is_closing=True), replace(MARK, is_closing=True, reason="disk lost ü", actor="ada")],
    ids=["running", "closing", "retired"],
)
def test_what_is_written_is_read(watermark: Watermark) -> None:
    assert decode_watermark(*_record(watermark)) == watermark


def test_a_key_that_we_do_not_know_is_ignored() -> None:
    document = json.loads(MARK.encode()) | {"spool_bytes": 0}
    assert decode_watermark(b"edge-1", json.dumps(document).encode()) == MARK


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"v": 2}, "v is 2"),
        ({"server_id": "edge-2"}, "server_id is 'edge-2'"),
        ({"server_id": 1}, "server_id is 1"),
        ({"accepted_until": "2026-01-31T12:00:00"}, "no zone"),
        ({"accepted_until": 1769860800}, "TypeError"),
        ({"sent_at": "yesterday"}, "ValueError"),
        ({"is_closing": "no"}, "is_closing is 'no'"),
        ({"is_closing": None}, "is_closing is None"),
    ],
)
def test_a_watermark_that_says_something_else_is_refused(changes: dict[str, object], fault: str) -> None:
    document = json.loads(MARK.encode()) | changes
    with pytest.raises(WatermarkUnreadableError, match=fault):
        decode_watermark(b"edge-1", json.dumps(document).encode())


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"v": 1}', b"[" * 100_000],
    ids=["empty", "torn", "array", "null", "not-utf8", "fields-missing", "deep"],
)
def test_bytes_that_are_no_watermark_are_refused(value: bytes) -> None:
    with pytest.raises(WatermarkUnreadableError, match="newest watermark under key b'edge-1' cannot be read"):
        decode_watermark(b"edge-1", value)


@pytest.mark.parametrize("server_id", ["edge 1", "edge-1\n", "", "e" * 65], ids=repr)
def test_an_id_that_no_event_can_carry_is_refused(server_id: str) -> None:
    with pytest.raises(WatermarkUnreadableError, match="server_id does not match"):
        decode_watermark(*_record(replace(MARK, server_id=server_id)))


@pytest.mark.parametrize(
    ("watermark", "after", "state"),
    [
        (MARK, timedelta(0), "sending"),
        (MARK, SILENT_AFTER - SECOND, "sending"),
        (MARK, SILENT_AFTER, "silent"),
        (replace(MARK, is_closing=True), timedelta(0), "stopped"),
        (replace(MARK, is_closing=True, reason="gone", actor="ada"), timedelta(0), "retired"),
    ],
)
def test_what_is_known_of_a_server(watermark: Watermark, after: timedelta, state: str) -> None:
    assert watermark.state(watermark.sent_at + after) == state


@pytest.mark.broker
def test_no_server_is_known_before_the_first_watermark(log_settings: Settings) -> None:
    assert read_watermarks(log_settings) == {}


@pytest.mark.broker
def test_a_missing_topic_is_no_empty_answer(log_settings: Settings) -> None:
    with pytest.raises(TopicMissingError, match="no-such-topic"):
        read_watermarks(replace(log_settings, edge_watermarks_topic="no-such-topic"))


@pytest.mark.broker
def test_the_newest_of_each_server_counts(log_settings: Settings) -> None:
    """Newest is last logged, not furthest: a server whose clock was set back promises less from then on."""
    back = replace(MARK, accepted_until=AT - SECOND, sent_at=AT - SECOND)
    other = replace(MARK, server_id="edge-2", is_closing=True)
    _send(log_settings, *map(_record, [MARK, replace(other, is_closing=False), other, back]))
    assert read_watermarks(log_settings) == {"edge-1": back, "edge-2": other}


@pytest.mark.broker
def test_only_the_newest_has_to_be_readable(log_settings: Settings) -> None:
    _send(log_settings, (b"edge-1", b"garbage"), _record(MARK), (b"edge-2", b"garbage"), (b"edge-2", None))
    assert read_watermarks(log_settings) == {"edge-1": MARK}


@pytest.mark.broker
def test_an_unreadable_newest_is_an_error_not_a_server_less(log_settings: Settings) -> None:
    """Leaving the server out would let an hour be sealed while its clicks are on their way."""
    _send(log_settings, _record(MARK), (b"edge-2", b"garbage"))
    with pytest.raises(WatermarkUnreadableError, match="b'edge-2'"):
        read_watermarks(log_settings)
    retire_server(log_settings, "edge-2", "it writes garbage", "ada", AT)
    assert set(read_watermarks(log_settings)) == {"edge-1", "edge-2"}


@pytest.mark.broker
def test_an_aborted_watermark_promises_nothing(log_settings: Settings) -> None:
    _send(log_settings, _record(MARK))
    producer = Producer({"bootstrap.servers": log_settings.bootstrap, "transactional.id": log_settings.clicks_topic})
    producer.init_transactions(FLUSH_SECONDS)
    producer.begin_transaction()
    further = replace(MARK, accepted_until=AT + timedelta(hours=1))
    producer.produce(log_settings.edge_watermarks_topic, further.encode(), b"edge-1")
    producer.flush(FLUSH_SECONDS)
    assert read_watermarks(log_settings) == {"edge-1": MARK}
    producer.abort_transaction(FLUSH_SECONDS)
    assert read_watermarks(log_settings) == {"edge-1": MARK}


@pytest.mark.broker
def test_a_raised_partition_count_moves_servers(log_settings: Settings) -> None:
    """A4: the same key in an old and in a new partition; the later append is the newest, in either direction."""
    topic = log_settings.edge_watermarks_topic
    with log_admin(log_settings, topic) as admin:
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(FLUSH_SECONDS)
    assert partition_count(log_settings, topic) == 2
    producer = Producer({"bootstrap.servers": log_settings.bootstrap})
    for turn, (partition, server_id) in enumerate([(0, "edge-1"), (1, "edge-1"), (1, "edge-2"), (0, "edge-2")]):
        mark = replace(MARK, server_id=server_id, accepted_until=AT + turn * SECOND)
        producer.produce(topic, mark.encode(), server_id.encode(), partition=partition)
        assert producer.flush(FLUSH_SECONDS) == 0
    found = {server_id: mark.accepted_until for server_id, mark in read_watermarks(log_settings).items()}
    assert found == {"edge-1": AT + SECOND, "edge-2": AT + 3 * SECOND}


@pytest.mark.broker
def test_more_watermarks_than_one_fetch_holds(log_settings: Settings) -> None:
    count = 12_000
    _send(log_settings, *(_record(replace(MARK, accepted_until=AT + turn * SECOND)) for turn in range(count)))
    assert read_watermarks(log_settings)["edge-1"].accepted_until == AT + (count - 1) * SECOND


@pytest.mark.broker
def test_a_silent_server_is_retired_with_reason_and_actor(log_settings: Settings) -> None:
    _send(log_settings, _record(MARK))
    at = MARK.sent_at + SILENT_AFTER
    closing = retire_server(log_settings, "edge-1", "its machine burnt", "ada", at)
    assert closing == Watermark("edge-1", at, True, at, "its machine burnt", "ada")
    assert read_watermarks(log_settings) == {"edge-1": closing}
    assert retire_server(log_settings, "edge-1", "once more", "ada", at + SECOND).is_closing


@pytest.mark.broker
@pytest.mark.parametrize(
    ("server_id", "reason", "after", "refusal"),
    [
        ("edge-1", "gone", SILENT_AFTER - SECOND, "sent a watermark at 2026-01-31T12:00:01.250000Z, so it is at work"),
        ("edge-9", "gone", SILENT_AFTER, "no watermark of server edge-9; expected a server that sent one: edge-1"),
        ("edge-1", " ", SILENT_AFTER, "without reason or actor"),
    ],
    ids=["at-work", "unknown", "no-reason"],
)
def test_a_retirement_that_is_refused(
    log_settings: Settings, server_id: str, reason: str, after: timedelta, refusal: str
) -> None:
    _send(log_settings, _record(MARK))
    with pytest.raises(UsageError, match=refusal):
        retire_server(log_settings, server_id, reason, "ada", MARK.sent_at + after)
    assert read_watermarks(log_settings) == {"edge-1": MARK}
