"""Which accepted clicks the log has not answered for yet, and so the instant before which it has all of them.

Belongs here: the stamp of each click and the promise made from them. The two are one matter: a promise "all before T"
holds only if no later click is stamped before T, whatever the system clock does.
"""

from __future__ import annotations

from datetime import datetime


class InFlight:
    """Stamps clicks and remembers them until they are settled. Used from one thread, the event loop's."""

    def __init__(self, started_at: datetime) -> None:
        self._latest = started_at
        self._stamps: dict[int, datetime] = {}
        self._next_ticket = 0

    def __len__(self) -> int:
        return len(self._stamps)

    def keep_promise(self, promised_until: datetime) -> None:
        """An earlier process of this server promised all before this instant; no click is stamped before it now."""
        self._latest = max(promised_until, self._latest)

    def accept(self, now: datetime) -> tuple[int, datetime]:
        """A ticket, counting up from 0, and the click's stamp: now, or the latest stamp if the clock stepped back."""
        self._latest = max(now, self._latest)
        ticket = self._next_ticket
        self._next_ticket += 1
        self._stamps[ticket] = self._latest
        return ticket, self._latest

    def settle(self, ticket: int) -> None:
        """The log has this click for good, or will never have it."""
        del self._stamps[ticket]

    def accepted_until(self, now: datetime) -> datetime:
        """Every click stamped before this instant is settled, and no later one will be stamped before it."""
        oldest = next(iter(self._stamps.values()), None)  # stamps never fall, so the first is the oldest
        if oldest is not None:
            return oldest
        self._latest = max(now, self._latest)
        return self._latest
