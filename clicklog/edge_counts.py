"""Edge counts: how many requests of a minute never became click events, and why.

Belongs here: the record, and adding up those of a range. Which requests are refused, and under which reason, is the
click service's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from confluent_kafka import TopicPartition

from clicklog.clients import log_consumer
from clicklog.offsets import first_offsets, offsets_at
from clicklog.reading import records_to_the_end
from domain.buckets import format_utc, parse_utc
from domain.settings import Settings

EDGE_COUNT_VERSION = 1
UNREADABLE = "unreadable_report"
"""Stands for the reason of a record that is no edge count: one for each, since nobody knows how many it speaks of."""
CLOCK_MARGIN = timedelta(minutes=5)
"""A click server's clock may be ahead of the broker's by this much."""


@dataclass(frozen=True)
class EdgeCount:
    """``count`` more requests that ``server_id`` refused for ``reason`` in the minute starting at ``minute``.

    Records of one server, minute and reason add up, so a minute can be reported in parts.
    """

    server_id: str
    minute: datetime
    reason: str
    count: int

    def encode(self) -> bytes:
        """The value of its record; the key is ``server_id``."""
        document = {
            "v": EDGE_COUNT_VERSION,
            "server_id": self.server_id,
            "minute": format_utc(self.minute),
            "reason": self.reason,
            "count": self.count,
        }
        return json.dumps(document).encode()


@dataclass(frozen=True)
class EdgeCounts:
    """Refused requests of a range, by reason. ``is_whole``: the log still holds all that was reported of it."""

    by_reason: Mapping[str, int]
    is_whole: bool


def decode_edge_count(value: bytes | None) -> EdgeCount | None:
    """The edge count in a record; None if it does not hold one."""
    try:
        document = json.loads((value or b"").decode())
        count = EdgeCount(
            server_id=document["server_id"],
            minute=parse_utc(document["minute"]),
            reason=document["reason"],
            count=document["count"],
        )
        is_known = document["v"] == EDGE_COUNT_VERSION
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_count = isinstance(count.reason, str) and type(count.count) is int and count.count >= 0
    return count if is_known and is_count else None


def read_edge_counts(settings: Settings, start: datetime, end: datetime) -> EdgeCounts:
    """Refused requests of the minutes in ``[start, end)``. Blocks for a bounded time; reads from ``start`` to the end.

    A minute is reported after it began, so nothing about the range was appended before it, clocks aside.
    ``LogUnavailableError`` if no broker answers, ``TopicMissingError`` if the topic is not there.
    """
    topic = settings.edge_counts_topic
    held = first_offsets(settings, topic)
    starts = offsets_at(settings, topic, start - CLOCK_MARGIN)
    by_reason = Counter[str]()
    with log_consumer(
        settings, topic, {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    ) as consumer:
        consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in starts.items()])
        for message in records_to_the_end(consumer, settings, topic, len(starts)):
            found = decode_edge_count(message.value())
            if found is None:
                by_reason[UNREADABLE] += 1
            elif start <= found.minute < end:
                by_reason[found.reason] += found.count
    is_whole = all(held[partition] == 0 or offset > held[partition] for partition, offset in starts.items())
    return EdgeCounts(dict(sorted(by_reason.items())), is_whole)
