"""One lease, from claim to commit: robots.txt, permission, request, parse, store, one transaction.

Belongs here: the order of the steps for one URL, and holding its lease meanwhile. What outcomes mean is
``crawler/judging.py``; which URLs, and how many at a time, is ``crawler/worker.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from crawler.contents import contents_of
from crawler.fetch import PAGE_LIMITS, Fetcher
from crawler.frontier.database import Frontier, FrontierUnavailableError
from crawler.frontier.leases import Completion, Failure, extend, fail, release, requested, start
from crawler.frontier.outbox import Trace
from crawler.frontier.requests import log_request
from crawler.frontier.storing import Document, Stored, commit_page
from crawler.frontier.switches import set_crawl_delay
from crawler.judging import (
    BODY_REASONS,
    candidates_of,
    failure_of,
    followed_links,
    is_dialled,
    kept_validators,
    robots_failure,
    validators_of,
)
from crawler.outcomes import Answer, FetchLimits, FetchOutcome, Validators
from crawler.parse import PageSource
from crawler.parse_worker import ParseOutcome
from crawler.reading import NO_VALIDATORS
from crawler.replaying import Entry, failure_entry, page_entry, request_entry
from crawler.robots import RobotsEntry, read_robots, unreadable_entry
from crawler.spool import Spool
from crawler.store import BodyStore
from crawler.urls import normalise
from domain.buckets import to_unix_micros
from domain.crawl_states import Lease, StaleLeaseError, Switch
from domain.frontier import UrlIdentity
from domain.politeness import SECOND_MICROS, crawl_delay_micros, jittered
from domain.receipts import RequestRow

EXTENSIONS_COUNT = 3
"""How often a lease is extended within one term of it, so that one lost answer costs nothing."""
MAX_ROBOTS_COUNT = 10_000
"""Origins whose robots.txt a worker keeps; the one that was read longest ago goes first."""


SPOOLED = "spooled"
"""How a lease ended whose result waits for the database."""
Result = TypeVar("Result")


class OriginClosedError(Exception):
    """A switch of the origin lets no request start; stays inside the crawler, where the lease is released."""

    def __init__(self, switch: Switch) -> None:
        super().__init__(switch)
        self.switch = switch


class StoppingError(Exception):
    """The worker was asked to stop before a request had started; the lease is released."""


class ElsewhereError(Exception):
    """A robots.txt leads to another origin, whose bucket this lease cannot spend."""


@dataclass
class Tools:
    """What visits of one worker share. ``robots`` is kept by origin; ``request_count`` counts what went out."""

    frontier: Frontier
    fetcher: Fetcher
    store: BodyStore
    spool: Spool
    parse: Callable[[PageSource], Awaitable[ParseOutcome]]
    clock: Callable[[], datetime]
    token: str
    scope: str
    revisit_micros: int | None
    """Until a page is fetched again; None for never."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    robots: dict[str, RobotsEntry] = field(default_factory=dict)
    reading_robots: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    request_count: int = 0
    added_count: int = 0


class Visit:
    """One lease in hand. Its requests are each permitted right before they connect, and each in the log."""

    def __init__(self, tools: Tools, lease: Lease, claimed_seconds: float) -> None:
        """``claimed_seconds`` is the loop's time at which the claim had not yet been asked for."""
        self._tools = tools
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._claimed_seconds = claimed_seconds
        self._term_seconds = tools.frontier.policy.lease_micros / SECOND_MICROS
        self._committing = asyncio.Lock()
        self._is_over = False
        self._last: tuple[FetchOutcome, float] | None = None

    async def run(self) -> str:
        """The reason with which the lease ended; it is committed, released, or somebody else's.

        Ends by itself before the lease does. When cancelled, the lease is released first.
        """
        try:
            async with asyncio.timeout_at(self._claimed_seconds + self._term_seconds) as limit:
                keeper = asyncio.create_task(self._keep(limit))
                try:
                    return await self._visited()
                finally:
                    keeper.cancel()
        except TimeoutError:
            if not limit.expired():
                raise
            return "lease_lost"
        except StaleLeaseError:
            return "lease_lost"
        except FrontierUnavailableError:
            return "frontier_unavailable"
        except OriginClosedError as error:
            return await self._released(f"origin_{error.switch}")
        except StoppingError:
            return await self._released("worker_stopped")
        except asyncio.CancelledError:
            await asyncio.shield(self._released("worker_stopped"))
            raise

    async def _visited(self) -> str:
        url = normalise(self._lease.url)
        refusal = await self._robots_refusal(url)
        if refusal is not None:
            return await self._failed(refusal)
        await self.admit(url)
        outcome = await self.fetch(url, validators_of(self._lease))
        if outcome.answer is not None and outcome.reason in BODY_REASONS:
            return await self._page(outcome, outcome.answer)
        if outcome.reason == "not_modified":
            done = self._completion("not_modified", self._lease.etag, self._lease.last_modified)
            return await self._completed(done, None, [], "")
        if outcome.answer is not None and outcome.answer.redirect_to is not None:
            target = outcome.answer.redirect_to
            done = self._completion("redirected", None, None, detail=f"to {target.url}")
            return await self._completed(done, None, [target], "redirect")
        return await self._failed(failure_of(outcome, self._lease.attempt_count, self._since_request_micros()))

    async def admit(self, url: UrlIdentity) -> None:
        """Returns with the permission for one request, to be used at once; waits for the gap."""
        if url.origin != self._lease.origin:
            raise ElsewhereError(url.url)
        if self._last is not None:
            await asyncio.to_thread(requested, self._tools.frontier, self._lease, self._since_request_micros())
        while not self._tools.stop.is_set():
            permission = await asyncio.to_thread(start, self._tools.frontier, self._lease)
            if permission.is_granted:
                return
            if permission.switch != "open":
                raise OriginClosedError(permission.switch)
            with suppress(TimeoutError):
                async with asyncio.timeout(permission.wait_micros / SECOND_MICROS):
                    await self._tools.stop.wait()
        raise StoppingError

    async def fetch(
        self, url: UrlIdentity, validators: Validators = NO_VALIDATORS, limits: FetchLimits = PAGE_LIMITS
    ) -> FetchOutcome:
        """As ``Fetcher.fetch``, and into the log of requests if the origin could notice it."""
        begun_at = self._tools.clock()
        try:
            outcome = await self._tools.fetcher.fetch(url, validators, limits)
        except asyncio.CancelledError:
            await asyncio.shield(self._log(begun_at, self._tools.clock(), None))
            raise
        self._last = outcome, self._loop.time()
        if is_dialled(outcome):
            await self._log(outcome.request.started_at, outcome.request.ended_at, outcome.request.status)
        return outcome

    async def _log(self, started_at: datetime, ended_at: datetime, status: int | None) -> None:
        self._tools.request_count += 1
        row = RequestRow(to_unix_micros(started_at), to_unix_micros(ended_at), status)
        log = partial(log_request, self._tools.frontier, self._lease, row)
        await self._or_spooled(log, request_entry(self._lease, row))

    async def _or_spooled(self, commit: Callable[[], Result], entry: Entry) -> Result | None:
        """What the commit gives; None if the database is away and the entry is in the spool instead.

        ``FrontierUnavailableError`` if there is no room for it either.
        """
        try:
            return await asyncio.to_thread(commit)
        except FrontierUnavailableError:
            if await asyncio.to_thread(self._tools.spool.keep, entry, self._lease.priority):
                return None
            raise

    async def _robots_refusal(self, url: UrlIdentity) -> Failure | None:
        entry = await self._robots(url.origin)
        if self._last is not None and not is_dialled(self._last[0]):
            return failure_of(self._last[0], self._lease.attempt_count, 0)
        now = self._tools.clock()
        verdict = entry.verdict(url, self._tools.token, now)
        if verdict.is_allowed:
            return None
        return robots_failure(entry, verdict, max(0, (entry.expires_at - now) // timedelta(microseconds=1)))

    async def _robots(self, origin: str) -> RobotsEntry:
        """What the origin's robots.txt says, read if what is kept ran out; one visit at a time reads it."""
        tools = self._tools
        lock = tools.reading_robots.setdefault(origin, asyncio.Lock())
        async with lock:
            kept = tools.robots.get(origin)
            if kept is not None and tools.clock() < kept.expires_at:
                return kept
            try:
                entry = await read_robots(self, origin, kept, self.admit)
            except ElsewhereError as error:
                entry = unreadable_entry(origin, kept, f"redirected to {error}", tools.clock())
            if self._last is not None and is_dialled(self._last[0]):
                tools.robots.pop(origin, None)
                tools.robots[origin] = entry
                while len(tools.robots) > MAX_ROBOTS_COUNT:
                    tools.robots.pop(next(iter(tools.robots)))
                delay = crawl_delay_micros(entry.crawl_delay_seconds(tools.token))
                await asyncio.to_thread(set_crawl_delay, tools.frontier, origin, delay, self._lease.owner)
            return entry

    async def _page(self, outcome: FetchOutcome, answer: Answer) -> str:
        media_type = answer.media_type or "text/plain"
        source = PageSource(
            self._lease.url, outcome.body, media_type, answer.content_type, answer.robots_tags, self._tools.token
        )
        parsed = await self._tools.parse(source)
        contents = await asyncio.to_thread(contents_of, source, parsed, outcome.reason)
        content_hash = await asyncio.to_thread(self._tools.store.put, outcome.body)
        size_bytes, title = len(outcome.body), contents.facts["title"]
        document = Document(answer.status, content_hash, size_bytes, media_type, outcome.reason, parsed.reason, title)
        reason = outcome.reason if parsed.page else parsed.reason
        done = self._completion(reason, *kept_validators(outcome), detail=parsed.detail or None)
        links = list(followed_links(parsed.page)) if parsed.page else []
        keep_body = partial(self._tools.store.keep, content_hash, outcome.body)
        return await self._completed(done, Stored(document, contents, keep_body), links, "link")

    def _completion(
        self, reason: str, etag: str | None, last_modified: str | None, detail: str | None = None
    ) -> Completion:
        planned = self._tools.revisit_micros
        next_in = None if planned is None else jittered(planned, self._tools.frontier.random.random())
        return Completion(reason, 0, next_in, etag, last_modified, detail)

    async def _completed(self, done: Completion, stored: Stored | None, targets: list[UrlIdentity], source: str) -> str:
        candidates = candidates_of(self._lease, targets, source, self._tools.scope)
        async with self._committing:
            self._is_over = True
            timed = replace(done, duration_micros=self._since_request_micros(), trace=self._trace())
            commit = partial(commit_page, self._tools.frontier, self._lease, timed, stored, candidates)
            added = await self._or_spooled(commit, page_entry(self._lease, timed, stored, candidates))
        if added is None:
            return SPOOLED
        self._tools.added_count += sum(one.outcome == "added" for one in added)
        return done.reason

    async def _failed(self, failure: Failure) -> str:
        async with self._committing:
            self._is_over = True
            traced = replace(failure, trace=self._trace())
            commit = partial(_failed, self._tools.frontier, self._lease, traced)
            is_committed = await self._or_spooled(commit, failure_entry(self._lease, traced))
        return failure.reason if is_committed else SPOOLED

    async def _released(self, reason: str) -> str:
        async with self._committing:
            self._is_over = True
            with suppress(StaleLeaseError):
                await asyncio.to_thread(release, self._tools.frontier, self._lease, reason)
        return reason

    async def _keep(self, limit: asyncio.Timeout) -> None:
        """Extends the lease while the visit goes on; once it is lost, the visit ends at once."""
        while True:
            await asyncio.sleep(self._term_seconds / EXTENSIONS_COUNT)
            async with self._committing:
                if self._is_over:
                    return
                asked_seconds = self._loop.time()
                try:
                    await asyncio.to_thread(extend, self._tools.frontier, self._lease)
                except StaleLeaseError:
                    limit.reschedule(self._loop.time())
                    return
                except FrontierUnavailableError:
                    continue
                limit.reschedule(asked_seconds + self._term_seconds)

    def _trace(self) -> Trace | None:
        """Of the request for the page itself, if there was one."""
        made = self._last[0].request if self._last is not None else None
        if made is None or made.url != self._lease.url or made.address is None:
            return None
        return Trace(to_unix_micros(made.started_at), to_unix_micros(made.ended_at), made.status, made.wire_bytes)

    def _since_request_micros(self) -> int:
        """Since the last request began, by the stopwatch."""
        if self._last is None:
            return 0
        made = self._last[0].request
        took = (made.ended_at - made.started_at) // timedelta(microseconds=1)
        return took + int((self._loop.time() - self._last[1]) * SECOND_MICROS)


def _failed(frontier: Frontier, lease: Lease, failure: Failure) -> bool:
    fail(frontier, lease, failure)
    return True
