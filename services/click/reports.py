"""What the service tells others about itself, through the log: watermarks each second, refusals each minute.

Belongs here: when a report is sent and what becomes of one that is not acknowledged. The promise in a watermark is made
by ``inflight.py`` and the spool; the form of both reports is in ``clicklog``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from clicklog.edge_counts import EdgeCount
from clicklog.watermarks import Watermark
from domain.settings import Settings
from services.click.journal import LogWriter
from services.click.refusals import RefusalTally

WATERMARK_SECONDS = 1.0


class Reporter:
    """Sends the reports of one server. Its methods end once the log has settled what they sent.

    ``accepted_until``: before which instant the log has everything, given what time it is.
    """

    def __init__(
        self,
        settings: Settings,
        writer: LogWriter,
        accepted_until: Callable[[datetime], datetime],
        tally: RefusalTally,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._writer = writer
        self._accepted_until = accepted_until
        self._tally = tally
        self._now = now
        self.has_announced = False  # whether the log may know of this server, acknowledged or not

    async def send_watermark(self, is_closing: bool = False) -> datetime:
        """What it promised, once the log has it; ``JournalUnavailableError`` otherwise: the next one says as much."""
        sent_at = self._now()
        until = self._accepted_until(sent_at)
        mark = Watermark(self._settings.server_id, until, is_closing, sent_at)
        key, value = mark.server_id.encode(), mark.encode()
        self.has_announced = True
        await self._writer.write(self._settings.edge_watermarks_topic, key, value)
        return until

    async def send_ended_minutes(self) -> None:
        """Reports the refusals of minutes that are over."""
        await self._send_refusals(self._now())

    async def send_all_refusals(self) -> None:
        """Reports the running minute too. A minute that is reported in parts adds up."""
        await self._send_refusals(None)

    async def _send_refusals(self, before: datetime | None) -> None:
        """``JournalUnavailableError`` at the first that is not acknowledged; it and the rest wait for the next time."""
        for minute, reason, count in self._tally.unreported(before):
            report = EdgeCount(self._settings.server_id, minute, reason, count)
            key, value = report.server_id.encode(), report.encode()
            await self._writer.write(self._settings.edge_counts_topic, key, value)
            self._tally.reported(minute, reason, count)
