"""Takes the spool to the log, in order, once the log answers again.

Belongs here: batch by batch, the position moved only behind what is acknowledged. A batch that fails is sent again
whole; copies of what the log already has are recognised there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

import orjson

from domain.buckets import format_utc, from_unix_micros, hour_of
from domain.settings import Settings
from services.click.journal import JournalUnavailableError, LogWriter
from services.click.spool import Batch, Spool
from services.click.spooled_journal import SpooledJournal

RETRY_SECONDS = 1.0
NEARLY_EMPTY_BYTES = 64 * 1024
"""With less than this waiting, new clicks go to the log again: the rest is a matter of milliseconds."""
LEDGER_FILE = "shipped.jsonl"


class Shipper:
    """Runs beside the service, in its event loop."""

    def __init__(self, spool: Spool, writer: LogWriter, settings: Settings, now: Callable[[], datetime]) -> None:
        self._spool = spool
        self._writer = writer
        self._topic = settings.clicks_topic
        self._ledger = settings.spool_path / LEDGER_FILE
        self._now = now
        self._is_probing = False
        self.shipped_count = 0

    async def run(self, journal: SpooledJournal) -> None:
        """Ships whatever comes, until it is cancelled. ``IntegrityError`` if the spool has changed on the disk."""
        while True:
            await self._spool.has_more.wait()
            self._spool.has_more.clear()
            try:
                while await self.ship_batch():
                    if self._spool.waiting_bytes < NEARLY_EMPTY_BYTES:
                        journal.log_is_back()
            except (JournalUnavailableError, OSError):
                journal.log_is_away()
                self._spool.has_more.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def ship_batch(self) -> bool:
        """One batch, acknowledged and remembered; False if none was durable.

        ``JournalUnavailableError`` if any record of it is not acknowledged: then all of it is sent again, its first
        record alone until that is taken, so that a log that is away costs the service nothing.
        """
        batch = await asyncio.to_thread(self._spool.read_batch, 1 if self._is_probing else None)
        if batch is None:
            return False
        self._is_probing = True
        written: list[asyncio.Future[None]] = []
        try:
            for click in batch.clicks:
                written.append(self._writer.write(self._topic, click.key, click.value))
        finally:
            settled = await asyncio.gather(*written, return_exceptions=True)
        for error in settled:
            if isinstance(error, BaseException):
                raise error
        self._is_probing = False
        await asyncio.to_thread(self._note, batch)
        self._spool.shipped(batch)
        return True

    def _note(self, batch: Batch) -> None:
        """The ledger: a line for each batch, with the hours that its clicks belong to. A full disk leaves it out."""
        by_hour = Counter(hour_of(from_unix_micros(click.clicked_us)) for click in batch.clicks)
        self.shipped_count += len(batch.clicks)
        hours = {format_utc(hour): count for hour, count in sorted(by_hour.items())}
        line = orjson.dumps({"shipped_at": format_utc(self._now()), "clicks_by_hour": hours})
        with suppress(OSError), self._ledger.open("ab") as file:
            file.write(line + b"\n")
