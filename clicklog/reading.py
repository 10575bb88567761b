"""Reading a small topic to its end at this moment.

Belongs here: the loop over an assigned consumer. What the records mean is in ``watermarks`` and ``edge_counts``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, Message

from clicklog.clients import LogUnavailableError, as_log_error
from domain.settings import Settings

READ_TIMEOUT_SECONDS = 60
_BATCH_RECORDS = 10_000
_POLL_SECONDS = 0.1


def records_to_the_end(consumer: Consumer, settings: Settings, topic: str, partition_total: int) -> Iterator[Message]:
    """Every record from where the consumer was assigned to the end of each of its partitions.

    Blocks for a bounded time; ``LogUnavailableError`` when it is over.
    """
    started = time.monotonic()
    ended: set[int | None] = set()
    while len(ended) < partition_total:
        if time.monotonic() - started > READ_TIMEOUT_SECONDS:
            raise LogUnavailableError(settings, f"topic {topic} not read to its end in {READ_TIMEOUT_SECONDS} s")
        for message in consumer.consume(_BATCH_RECORDS, _POLL_SECONDS):
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            else:
                raise as_log_error(settings, topic, error)
