"""Offsets of a topic: where it begins and ends, where an instant lies, and whether a gap is the log's own.

Belongs here: questions to the log, each bounded in time. What has been read of it is ``warehouse/marks.py``.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from clicklog.clients import (
    REQUEST_TIMEOUT_SECONDS,
    LeaderMissingError,
    LogUnavailableError,
    answer_of,
    as_log_error,
    log_admin,
    log_consumer,
)
from clicklog.topics import partition_count
from domain.settings import Settings

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_NO_OFFSET = -1
_POLL_SECONDS = 1
_LEADER_WAIT_SECONDS = 10
_LEADER_POLL_SECONDS = 0.1


def first_offsets(settings: Settings, topic: str) -> dict[int, int]:
    """The offset of each partition below which retention has deleted everything."""
    return _list_offsets(settings, topic, OffsetSpec.earliest())


def end_offsets(settings: Settings, topic: str) -> dict[int, int]:
    """The offset after the last record of each partition, open transactions included."""
    return _list_offsets(settings, topic, OffsetSpec.latest())


def offsets_at(settings: Settings, topic: str, at: datetime) -> dict[int, int]:
    """The first offset of each partition whose append time is at or after ``at``, its end offset if there is none."""
    # Ends first: a record appended between the two questions then lies at or above the end, never in a gap.
    ends = end_offsets(settings, topic)
    whole_ms = -((_EPOCH - at) // _MILLISECOND)
    found = _list_offsets(settings, topic, OffsetSpec.for_timestamp(whole_ms))
    return {partition: end if found[partition] == _NO_OFFSET else found[partition] for partition, end in ends.items()}


def is_gap_explained(settings: Settings, topic: str, partition: int, start: int, end: int) -> bool:
    """Whether the log itself holds no record in ``[start, end)`` that a reader of committed records would be given.

    True for transaction markers, aborted transactions and compacted records. False if there is a record, if the range
    begins below the first offset (retention took it) or reaches past what is committed.
    """
    if start >= end:
        return True
    options = {"isolation.level": "read_committed", "auto.offset.reset": "error"}
    with log_consumer(settings, topic, options) as consumer:
        consumer.assign([TopicPartition(topic, partition, start)])
        return _next_offset(consumer, settings, topic) >= end


def _next_offset(consumer: Consumer, settings: Settings, topic: str) -> int:
    """The offset of the next record of the assigned partition, its end if there is none; -1 if it is out of range."""
    started = time.monotonic()
    while time.monotonic() - started < REQUEST_TIMEOUT_SECONDS:
        message = consumer.poll(_POLL_SECONDS)
        if message is None:
            continue
        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return message.offset()
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            return _NO_OFFSET
        raise as_log_error(settings, topic, error)
    raise LogUnavailableError(settings, f"no answer about topic {topic} in {REQUEST_TIMEOUT_SECONDS} s")


def _list_offsets(settings: Settings, topic: str, spec: OffsetSpec) -> dict[int, int]:
    """Asks again while a partition has no leader, as one that was just added has none."""
    deadline = time.monotonic() + _LEADER_WAIT_SECONDS
    while True:
        try:
            return _list_offsets_once(settings, topic, spec)
        except LeaderMissingError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LEADER_POLL_SECONDS)


def _list_offsets_once(settings: Settings, topic: str, spec: OffsetSpec) -> dict[int, int]:
    places = [TopicPartition(topic, partition) for partition in range(partition_count(settings, topic))]
    with log_admin(settings, topic) as admin:
        answer = admin.list_offsets(dict.fromkeys(places, spec), request_timeout=REQUEST_TIMEOUT_SECONDS)
        return {place.partition: answer_of(answer[place]).offset for place in places}
