"""Offsets: begin, end, instants, and gaps that the log itself explains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from clicklog.clients import TopicMissingError, log_admin, log_consumer
from clicklog.offsets import end_offsets, first_offsets, is_gap_explained, offsets_at
from domain.settings import Settings

pytestmark = pytest.mark.broker
WAIT_SECONDS = 30
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)


def _append(settings: Settings, partition: int, count: int = 1) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap})
    for _ in range(count):
        producer.produce(settings.clicks_topic, b"v", b"k", partition=partition)
    assert producer.flush(WAIT_SECONDS) == 0


@contextmanager
def _transaction(settings: Settings) -> Iterator[Producer]:
    """A real transaction of one record on partition 0, already in the log; the caller ends it."""
    producer = Producer({"bootstrap.servers": settings.bootstrap, "transactional.id": uuid4().hex})
    producer.init_transactions(WAIT_SECONDS)
    producer.begin_transaction()
    producer.produce(settings.clicks_topic, b"v", b"k", partition=0)
    producer.flush(WAIT_SECONDS)
    yield producer


def _delete_before(settings: Settings, partition: int, offset: int) -> None:
    place = TopicPartition(settings.clicks_topic, partition, offset)
    with log_admin(settings, settings.clicks_topic) as admin:
        admin.delete_records([place])[place].result(WAIT_SECONDS)


def _append_times(settings: Settings, partition: int, count: int) -> list[datetime]:
    with log_consumer(settings, settings.clicks_topic, {}) as consumer:
        consumer.assign([TopicPartition(settings.clicks_topic, partition, 0)])
        return [EPOCH + MS * message.timestamp()[1] for message in consumer.consume(count, WAIT_SECONDS)]


def test_begin_and_end(log_settings: Settings) -> None:
    """A6: what retention took shows in the first offsets."""
    topic = log_settings.clicks_topic
    _append(log_settings, 0, 5)
    _append(log_settings, 2, 3)
    assert first_offsets(log_settings, topic) == {0: 0, 1: 0, 2: 0}
    assert end_offsets(log_settings, topic) == {0: 5, 1: 0, 2: 3}
    _delete_before(log_settings, 0, 4)
    assert first_offsets(log_settings, topic) == {0: 4, 1: 0, 2: 0}
    assert end_offsets(log_settings, topic) == {0: 5, 1: 0, 2: 3}


@pytest.mark.parametrize("ask", [first_offsets, end_offsets])
def test_a_missing_topic(log_settings: Settings, ask: object) -> None:
    with pytest.raises(TopicMissingError, match="no-such-topic"):
        ask(log_settings, "no-such-topic")  # type: ignore[operator]


def test_an_instant_is_found_in_each_partition(log_settings: Settings) -> None:
    topic = log_settings.clicks_topic
    for _ in range(3):
        _append(log_settings, 0)
        time.sleep(0.02)
    first, second, third = _append_times(log_settings, 0, 3)
    assert first < second < third
    assert offsets_at(log_settings, topic, first - timedelta(days=1))[0] == 0
    assert offsets_at(log_settings, topic, first)[0] == 0
    # Append times are whole milliseconds, so the next of them at or after this instant is one millisecond later.
    assert offsets_at(log_settings, topic, first + timedelta(microseconds=1))[0] == 1
    assert offsets_at(log_settings, topic, second)[0] == 1
    assert offsets_at(log_settings, topic, third)[0] == 2
    assert offsets_at(log_settings, topic, third + MS) == {0: 3, 1: 0, 2: 0}
    assert offsets_at(log_settings, topic, third + timedelta(days=1)) == {0: 3, 1: 0, 2: 0}


def test_records_are_no_gap(log_settings: Settings) -> None:
    _append(log_settings, 0, 3)
    for start, end in [(0, 1), (0, 3), (2, 3)]:
        assert not is_gap_explained(log_settings, log_settings.clicks_topic, 0, start, end)


def test_an_empty_range_is_explained(log_settings: Settings) -> None:
    for offset in (0, 7):
        assert is_gap_explained(log_settings, log_settings.clicks_topic, 0, offset, offset)


def test_a_transaction_marker_is_explained(log_settings: Settings) -> None:
    """A5: record, marker, record: offsets 0 and 2 with a gap that is no loss, in the middle and at the end."""
    topic = log_settings.clicks_topic
    for _ in range(2):
        with _transaction(log_settings) as producer:
            producer.commit_transaction(WAIT_SECONDS)
    assert end_offsets(log_settings, topic)[0] == 4
    explained = [is_gap_explained(log_settings, topic, 0, offset, offset + 1) for offset in range(4)]
    assert explained == [False, True, False, True]
    assert not is_gap_explained(log_settings, topic, 0, 1, 3)


def test_an_aborted_transaction_is_explained(log_settings: Settings) -> None:
    """A5: an aborted record is in the log, yet nobody may count it."""
    topic = log_settings.clicks_topic
    with _transaction(log_settings) as producer:
        producer.abort_transaction(WAIT_SECONDS)
    deadline = time.monotonic() + WAIT_SECONDS
    while end_offsets(log_settings, topic)[0] < 2 and time.monotonic() < deadline:  # the marker follows the answer
        time.sleep(0.05)
    assert end_offsets(log_settings, topic)[0] == 2
    assert is_gap_explained(log_settings, topic, 0, 0, 2)
    _append(log_settings, 0)
    assert is_gap_explained(log_settings, topic, 0, 0, 2)
    assert not is_gap_explained(log_settings, topic, 0, 0, 3)


def test_an_open_transaction_is_not_explained(log_settings: Settings) -> None:
    """A5: what it holds may yet be committed."""
    topic = log_settings.clicks_topic
    with _transaction(log_settings) as producer:
        assert end_offsets(log_settings, topic)[0] == 1
        assert not is_gap_explained(log_settings, topic, 0, 0, 1)
        producer.abort_transaction(WAIT_SECONDS)
    assert is_gap_explained(log_settings, topic, 0, 0, 1)


def test_what_retention_took_is_not_explained(log_settings: Settings) -> None:
    """A6: the log cannot say what was there."""
    topic = log_settings.clicks_topic
    _append(log_settings, 0, 5)
    _delete_before(log_settings, 0, 4)
    assert not is_gap_explained(log_settings, topic, 0, 0, 4)
    assert not is_gap_explained(log_settings, topic, 0, 3, 4)
    assert not is_gap_explained(log_settings, topic, 0, 4, 5)


def test_beyond_the_end_is_not_explained(log_settings: Settings) -> None:
    topic = log_settings.clicks_topic
    with _transaction(log_settings) as producer:
        producer.commit_transaction(WAIT_SECONDS)
    assert is_gap_explained(log_settings, topic, 0, 1, 2)
    assert not is_gap_explained(log_settings, topic, 0, 1, 3)
    assert not is_gap_explained(log_settings, topic, 0, 2, 3)
    assert not is_gap_explained(log_settings, topic, 1, 0, 1)


def test_compaction_is_explained(log_settings: Settings) -> None:
    """A5: a compacted record is gone on purpose. The cleaner looks every 15 seconds."""
    topic = f"compacted-{uuid4().hex[:12]}"
    config = {"cleanup.policy": "compact", "segment.ms": "50", "min.cleanable.dirty.ratio": "0.001"}
    with log_admin(log_settings, topic) as admin:
        admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(WAIT_SECONDS)
    producer = Producer({"bootstrap.servers": log_settings.bootstrap})
    deadline = time.monotonic() + 2 * WAIT_SECONDS
    while not is_gap_explained(log_settings, topic, 0, 0, 2):
        assert time.monotonic() < deadline, "never compacted"
        producer.produce(topic, b"v", b"k")
        assert producer.flush(WAIT_SECONDS) == 0
        time.sleep(0.2)
    ends = end_offsets(log_settings, topic)
    assert not is_gap_explained(log_settings, topic, 0, 0, ends[0])
