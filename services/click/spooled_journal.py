"""The log first, the spool when the log is slow or away: how a click becomes durable whatever the broker does.

Belongs here: the choice for each click. Waiting for both are ``InFlight`` (what has no place yet) and the spool's own
age (what has one here); a watermark is the earlier of the two.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.click.journal import JournalUnavailableError
from services.click.spool import Spool, SpoolFullError

_TICK_SECONDS = 0.02
"""How exactly the budget is kept."""
_SPOOLED_AT = b',"spooled_at":"%b"}'


class Log(Protocol):
    """What takes a click for the log."""

    def append(self, key: bytes, value: bytes) -> asyncio.Future[None]:
        """As ``Journal.append``."""
        ...


class ClickLostError(JournalUnavailableError):
    """Neither the log nor the spool takes the click. Its visitor is redirected all the same; the loss is counted."""


@dataclass(slots=True)
class _Pending:
    """A click on its way. ``durable`` ends its visitor's wait; ``deadline`` is the log's, once it has the click."""

    clicked_at: datetime
    key: bytes
    value: bytes
    durable: asyncio.Future[None]
    deadline: float | None = None
    is_spooled: bool = False
    is_spool_refused: bool = False
    is_settled: bool = False


class SpooledJournal:
    """Used in the event loop. ``budget_seconds``: how long the log may take before a click goes to the spool too.

    Once the log has missed the budget or refused, clicks go to the spool alone until ``log_is_back``.
    """

    def __init__(self, log: Log, spool: Spool, budget_seconds: float, now: Callable[[], datetime]) -> None:
        self._log = log
        self._spool = spool
        self._budget_seconds = budget_seconds
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._pending: deque[_Pending] = deque()
        self._is_ticking = False
        self._unsettled: dict[int, datetime] = {}
        self.is_log_away = False
        self.spooled_count = 0

    @property
    def oldest_unsettled(self) -> datetime | None:
        """Of clicks that were given up while the log may still get them; None if there is none."""
        return min(self._unsettled.values(), default=None)

    def log_is_back(self) -> None:
        """The log takes records again, and so clicks go to it."""
        self.is_log_away = False

    def log_is_away(self) -> None:
        """Nothing is to be hoped for from the log."""
        self.is_log_away = True

    def append(self, clicked_at: datetime, key: bytes, value: bytes) -> asyncio.Future[None]:
        """As ``Journal.append``; what fails fails with ``ClickLostError``, in the future and never at once.

        A click may come to lie in both places, if the log answers after the budget: the same event twice, which is
        counted once.
        """
        click = _Pending(clicked_at, key, value, self._loop.create_future())
        if not (self.is_log_away and self._is_taken_by_spool(click)):
            self._give_to_log(click)
        return click.durable

    def _give_to_log(self, click: _Pending) -> None:
        click.deadline = self._loop.time() + self._budget_seconds
        try:
            written = self._log.append(click.key, click.value)
        except JournalUnavailableError as error:
            click.is_settled = True
            self._log_missed(click, error)
            return
        written.add_done_callback(lambda settled: self._log_settled(click, settled))
        self._pending.append(click)
        if not self._is_ticking:
            self._is_ticking = True
            self._loop.call_later(_TICK_SECONDS, self._tick)

    def _log_settled(self, click: _Pending, settled: asyncio.Future[None]) -> None:
        error = settled.exception()
        self._unsettled.pop(id(click), None)
        click.is_settled = True
        if error is None and not self._spool.waiting_bytes:
            self.log_is_back()
        if click.durable.done() or click.is_spooled:
            return
        if error is None:
            click.durable.set_result(None)
        else:
            self._log_missed(click, error)

    def _tick(self) -> None:
        """Looks after the clicks whose budget is over; who was given to the log first is late first."""
        at = self._loop.time()
        while self._pending and (self._pending[0].durable.done() or (self._pending[0].deadline or at) <= at):
            click = self._pending.popleft()
            if not click.durable.done() and not click.is_spooled:
                self._log_missed(click, TimeoutError(f"no acknowledgement within {self._budget_seconds} s"))
        self._is_ticking = bool(self._pending)
        if self._is_ticking:
            self._loop.call_later(_TICK_SECONDS, self._tick)

    def _log_missed(self, click: _Pending, error: BaseException) -> None:
        self.log_is_away()
        if click.is_spool_refused or not self._is_taken_by_spool(click):
            self._lose(click, f"{error}, and the spool takes nothing")

    def _lose(self, click: _Pending, why: str) -> None:
        """Its visitor need not wait any longer; a watermark must, until the log has or has not got it after all."""
        if click.deadline is not None and not click.is_settled:
            self._unsettled[id(click)] = click.clicked_at
        click.durable.set_exception(ClickLostError(why))

    def _is_taken_by_spool(self, click: _Pending) -> bool:
        spooled_at = self._now().isoformat(timespec="microseconds").replace("+00:00", "Z").encode()
        value = click.value[:-1] + _SPOOLED_AT % spooled_at
        try:
            kept = self._spool.append(click.clicked_at, click.key, value)
        except SpoolFullError:
            click.is_spool_refused = True
            return False
        click.is_spooled = True
        kept.add_done_callback(lambda settled: self._spool_settled(click, settled))
        return True

    def _spool_settled(self, click: _Pending, settled: asyncio.Future[None]) -> None:
        """A disk that refuses leaves a click to the log, which may be back, unless it was given to it already."""
        error = settled.exception()
        if error is None:
            self.spooled_count += 1
            click.durable.set_result(None)
            return
        click.is_spooled, click.is_spool_refused = False, True
        if click.deadline is None:
            self._give_to_log(click)
        else:
            self._lose(click, f"the log does not answer, and {error}")
