"""A robots.txt that leads to another origin: each such request under a lease of that origin, waited for within bounds.

Belongs here: which hops are made, and what becomes of their leases. The claim is ``crawler/frontier/hops.py``, the
chain of redirects ``crawler/robots.py``.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from crawler.fetch import PAGE_LIMITS
from crawler.frontier.hops import claim_hop
from crawler.frontier.leases import Completion, complete, fail, release, start
from crawler.frontier.requests import log_request
from crawler.judging import failure_of, is_dialled, trace_of
from crawler.outcomes import FetchLimits, FetchOutcome, Validators
from crawler.reading import NO_VALIDATORS
from crawler.robots import robots_url
from domain.buckets import to_unix_micros
from domain.crawl_states import ROBOTS_HOP, Lease, StaleLeaseError
from domain.frontier import UrlIdentity
from domain.politeness import SECOND_MICROS
from domain.receipts import RequestRow

if TYPE_CHECKING:
    from crawler.visit import Tools, Visit

NAP_SECONDS = 0.1


class ElsewhereError(Exception):
    """A robots.txt leads where this lease cannot follow now; stays inside the crawler."""


class StoppingError(Exception):
    """The worker was asked to stop before a request had started; the lease is released."""


class RobotsAsks:
    """Asks for a robots.txt and where it leads: its own origin as the visit does, others under leases of theirs."""

    def __init__(self, visit: Visit, tools: Tools, lease: Lease) -> None:
        self._visit = visit
        self._tools = tools
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._hop: Lease | None = None
        self._until_seconds = 0.0

    async def admit(self, url: UrlIdentity) -> None:
        """Returns with the permission for one request, to be used at once. ``ElsewhereError`` where it is not given.

        Only a robots.txt may be asked for unseen: another path of another origin could be one that its own forbids.
        """
        self._hop = None
        if url.origin == self._lease.origin:
            await self._visit.admit(url)
            return
        if url.url != robots_url(url.origin).url:
            raise ElsewhereError(url.url)
        try:
            async with asyncio.timeout(self._tools.longest_hop_seconds):
                self._hop = await self._claimed(url)
                await self._permitted(self._hop)
        except (TimeoutError, StaleLeaseError):
            raise ElsewhereError(url.url) from None

    async def fetch(
        self, url: UrlIdentity, validators: Validators = NO_VALIDATORS, limits: FetchLimits = PAGE_LIMITS
    ) -> FetchOutcome:
        """As ``Fetcher.fetch``, into the log of requests, and the end of the hop's lease."""
        hop = self._hop
        if hop is None:
            return await self._visit.fetch(url, validators, limits)
        begun_at = self._tools.clock()
        try:
            async with asyncio.timeout_at(self._until_seconds):
                outcome = await self._tools.fetcher.fetch(url, validators, limits)
        except (TimeoutError, asyncio.CancelledError) as error:
            await asyncio.shield(self._log(hop, begun_at, self._tools.clock(), None))
            if isinstance(error, TimeoutError):
                raise ElsewhereError(url.url) from None
            raise
        done_seconds = self._loop.time()
        if is_dialled(outcome):
            made = outcome.request
            await self._log(hop, made.started_at, made.ended_at, made.status)
        try:
            await asyncio.to_thread(self._end, hop, outcome, done_seconds)
        except StaleLeaseError:
            raise ElsewhereError(url.url) from None
        return outcome

    async def _claimed(self, url: UrlIdentity) -> Lease:
        frontier = self._tools.frontier
        while not self._tools.stop.is_set():
            asked_seconds = self._loop.time()
            hop = await asyncio.to_thread(claim_hop, frontier, url, self._lease.owner)
            if hop is not None:
                self._until_seconds = asked_seconds + frontier.policy.lease_micros / SECOND_MICROS
                return hop
            await asyncio.sleep(NAP_SECONDS)
        raise StoppingError

    async def _permitted(self, hop: Lease) -> None:
        while not self._tools.stop.is_set():
            permission = await asyncio.to_thread(start, self._tools.frontier, hop)
            if permission.is_granted:
                return
            if permission.switch != "open":
                await asyncio.to_thread(release, self._tools.frontier, hop, f"origin_{permission.switch}")
                raise ElsewhereError(hop.url)
            await asyncio.sleep(min(permission.wait_micros / SECOND_MICROS, NAP_SECONDS))
        await asyncio.to_thread(release, self._tools.frontier, hop, "worker_stopped")
        raise StoppingError

    def _end(self, hop: Lease, outcome: FetchOutcome, done_seconds: float) -> None:
        made = outcome.request
        took = (made.ended_at - made.started_at) // timedelta(microseconds=1)
        took += int((self._loop.time() - done_seconds) * SECOND_MICROS)
        failure = failure_of(outcome, hop.attempt_count, took)
        if outcome.reason == "throttled":
            fail(self._tools.frontier, hop, replace(failure, trace=trace_of(made)))
        else:
            done = Completion(ROBOTS_HOP, took, detail=failure.reason, trace=trace_of(made))
            complete(self._tools.frontier, hop, done)

    async def _log(self, hop: Lease, started_at: datetime, ended_at: datetime, status: int | None) -> None:
        self._tools.request_count += 1
        row = RequestRow(to_unix_micros(started_at), to_unix_micros(ended_at), status)
        await asyncio.to_thread(log_request, self._tools.frontier, hop, row)
