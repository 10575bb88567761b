"""Where a click event becomes durable before its visitor is redirected: the contract, and the log.

Belongs here: the contract (``Journal``) and writing to the log. What happens when the log is slow or away is
``spooled_journal.py``; what an event holds, ``events.py``.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from confluent_kafka import KafkaError, Message

from clicklog.producer import ClickProducer
from domain.errors import TallystickError
from domain.settings import Settings

DELIVERY_TIMEOUT_SECONDS = 5.0
"""How long the log may take for a click. Hardly a visitor waits longer for a page, and what is given up early is seldom
delivered after all, which would count a click whose visitor got an error."""

SETTLED_WITHIN_SECONDS = DELIVERY_TIMEOUT_SECONDS + 2.0
"""By then every record is settled: librdkafka looks for expired records about once a second."""

MAX_UNSETTLED_BYTES = 32 * 1024 * 1024
"""Half of the producer's queue, which therefore never fills: handing over never waits, refusing is immediate."""

_POLL_SECONDS = 0.002
"""How long a new record may wait for the thread while it listens for acknowledgements; below the producer's linger."""


class JournalUnavailableError(TallystickError):
    """The journal cannot take a record now, or does not know that it is durable. The same record may be sent again."""

    is_transient = True

    def __init__(self, found: str) -> None:
        super().__init__(found, "an acknowledgement by all in-sync replicas", "ask again in a moment")


class Journal(Protocol):
    """Makes click events durable."""

    def append(self, clicked_at: datetime, key: bytes, value: bytes) -> asyncio.Future[None]:
        """Take a click that was accepted at ``clicked_at``. Never blocks; to be called in the event loop.

        The future ends with None once the click is durable, and with ``JournalUnavailableError`` once it was given up;
        it always ends. A click that was given up may all the same be durable, if only the answer was lost. Clicks are
        independent of each other, and appending one again is harmless: copies are recognised.
        """
        ...


@dataclass(frozen=True)
class _Record:
    topic: str
    key: bytes
    value: bytes
    settled: asyncio.Future[None]


class LogWriter:
    """Writes to the log from a thread of its own, so that nothing Kafka does holds up the event loop.

    The producer is touched by that thread alone. Made, used and closed in the event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self._loop = asyncio.get_running_loop()
        self._handed_over: queue.SimpleQueue[_Record | None] = queue.SimpleQueue()
        self._unsettled_bytes = 0
        self._is_open = True
        self._arrived: list[tuple[_Record, KafkaError | TallystickError | None]] = []
        self._producer = ClickProducer(settings, DELIVERY_TIMEOUT_SECONDS)
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def write(self, topic: str, key: bytes, value: bytes) -> asyncio.Future[None]:
        """A record for this topic. The future ends with None once all in-sync replicas have it.

        It ends with ``JournalUnavailableError`` once the log has given it up; it always ends. Raises that at once if
        no more is taken; then nothing of the record was kept. Never blocks; to be called in the event loop.
        """
        if not self._is_open:
            raise JournalUnavailableError("the log writer has ended")
        if self._unsettled_bytes + len(value) > MAX_UNSETTLED_BYTES:
            raise JournalUnavailableError(f"{self._unsettled_bytes} bytes wait for the log")
        record = _Record(topic, key, value, self._loop.create_future())
        self._unsettled_bytes += len(value)
        self._handed_over.put(record)
        return record.settled

    async def close(self) -> None:
        """Take no more, wait until what was taken is settled (at most ``SETTLED_WITHIN_SECONDS``), end the thread."""
        self._is_open = False
        self._handed_over.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            is_closing = False
            while not is_closing or len(self._producer):
                is_closing = self._send_waiting(is_closing)
                self._producer.poll(_POLL_SECONDS)
                self._report_arrived()
        finally:
            self._is_open = False

    def _send_waiting(self, is_closing: bool) -> bool:
        """Send what was handed over; sleeps only while there is nothing to send and nothing to listen for."""
        may_sleep = not is_closing and not len(self._producer)
        try:
            record = self._handed_over.get(block=may_sleep)
            while record is not None:
                self._send(record)
                record = self._handed_over.get_nowait()
        except queue.Empty:
            return is_closing
        return True

    def _send(self, record: _Record) -> None:
        try:
            self._producer.send(record.key, record.value, self._acknowledge(record), record.topic)
        except TallystickError as error:
            self._arrived.append((record, error))

    def _acknowledge(self, record: _Record) -> Callable[[KafkaError | None, Message], None]:
        return lambda error, _message: self._arrived.append((record, error))

    def _report_arrived(self) -> None:
        if self._arrived:
            arrived, self._arrived = self._arrived, []
            self._loop.call_soon_threadsafe(self._settle, arrived)

    def _settle(self, arrived: list[tuple[_Record, KafkaError | TallystickError | None]]) -> None:
        for record, error in arrived:
            self._unsettled_bytes -= len(record.value)
            if record.settled.cancelled():
                continue
            if error is None:
                record.settled.set_result(None)
            else:
                record.settled.set_exception(JournalUnavailableError(str(error)))


class LogJournal:
    """The topic of clicks, for who gives it clicks and nothing else."""

    def __init__(self, writer: LogWriter, topic: str) -> None:
        self._writer = writer
        self._topic = topic

    def append(self, key: bytes, value: bytes) -> asyncio.Future[None]:
        """As ``LogWriter.write``."""
        return self._writer.write(self._topic, key, value)
