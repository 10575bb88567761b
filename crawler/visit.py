"""One lease, from claim to commit: robots.txt, permission, request, parse, store, one transaction.

Belongs here: the order of the steps for one URL, and holding its lease meanwhile. What outcomes mean is
``crawler/judging.py``; which URLs, and how many at a time, is ``crawler/worker.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from crawler.contents import contents_of
from crawler.fetch import PAGE_LIMITS, Fetcher
from crawler.frontier.adding import Candidate
from crawler.frontier.budgets import is_allowed
from crawler.frontier.database import Frontier, FrontierUnavailableError
from crawler.frontier.discovery import add_under, commit_listing
from crawler.frontier.leases import Completion, Failure, extend, fail, release, requested, start
from crawler.frontier.outbox import Trace
from crawler.frontier.requests import log_request
from crawler.frontier.storing import SOFT_404, Document, Stored, commit_page
from crawler.frontier.switches import set_crawl_delay
from crawler.judging import (
    BODY_REASONS,
    candidates_of,
    failure_of,
    is_dialled,
    kept_validators,
    page_candidates,
    robots_failure,
    trace_of,
)
from crawler.listing_visit import LISTING_LIMITS, listing_reason, sitemaps_of_robots, take_listing
from crawler.outcomes import Answer, FetchLimits, FetchOutcome, RequestRecord, Validators
from crawler.parse import PageSource
from crawler.parse_worker import ParseOutcome
from crawler.probing import is_probe_due, probed_url, read_missing_page
from crawler.reading import NO_VALIDATORS
from crawler.replaying import Entry, failure_entry, page_entry, request_entry
from crawler.revisiting import asked_validators, change_of, proven_lie, without_body
from crawler.robots import RobotsEntry, read_robots, unreadable_entry
from crawler.robots_hops import ElsewhereError, RobotsAsks, StoppingError
from crawler.spool import Spool
from crawler.store import BodyStore, hash_of
from crawler.urls import normalise
from domain.buckets import to_unix_micros
from domain.crawl_states import Lease, StaleLeaseError, Switch
from domain.frontier import UrlIdentity
from domain.listings import LISTING_SOURCES
from domain.politeness import SECOND_MICROS, crawl_delay_micros, jittered
from domain.receipts import RequestRow
from domain.recrawl import Seen, after_visit, chance_of, next_interval
from domain.soft_404 import is_missing_page

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
    revisits: Mapping[str, int]
    """Microseconds, by class, until a page is usually fetched again; a class that is not in it fetches each once."""
    unconditional_per_mille: int
    longest_hop_seconds: float
    """How long a robots.txt that moved is waited for, until another origin lets it be asked for."""
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
        self._page_request: RequestRecord | None = None

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
        asked = asked_validators(self._lease, self._tools.unconditional_per_mille)
        is_listing = self._lease.source in LISTING_SOURCES
        outcome = await self.fetch(url, asked, LISTING_LIMITS if is_listing else PAGE_LIMITS)
        self._page_request = outcome.request
        if outcome.answer is not None and outcome.reason in BODY_REASONS:
            if is_listing:
                return await self._listing(outcome)
            return await self._page(url, outcome, outcome.answer, asked != NO_VALIDATORS)
        if outcome.reason == "not_modified":
            seen = after_visit(self._lease.seen, self._lease.claimed_at, None, is_unmodified=True)
            done = self._completion("not_modified", seen, (self._lease.etag, self._lease.last_modified))
            return await self._completed(done, None, [])
        if outcome.answer is not None and outcome.answer.redirect_to is not None:
            target = outcome.answer.redirect_to
            done = self._completion("redirected", without_body(self._lease), detail=f"to {target.url}")
            source = self._lease.source if is_listing else "redirect"
            return await self._completed(done, None, candidates_of(self._lease, [target], source, self._tools.scope))
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
            asks = RobotsAsks(self, tools, self._lease)
            try:
                entry = await read_robots(asks, origin, kept, asks.admit)
            except ElsewhereError as error:
                entry = unreadable_entry(origin, kept, f"redirected to {error}", tools.clock())
            if self._last is not None and is_dialled(self._last[0]):
                tools.robots.pop(origin, None)
                tools.robots[origin] = entry
                while len(tools.robots) > MAX_ROBOTS_COUNT:
                    tools.robots.pop(next(iter(tools.robots)))
                delay = crawl_delay_micros(entry.crawl_delay_seconds(tools.token))
                await asyncio.to_thread(set_crawl_delay, tools.frontier, origin, delay, self._lease.owner)
                if entry.state == "parsed" and entry.file is not None and entry.file.sitemaps:
                    named = sitemaps_of_robots(self._lease, entry.file.sitemaps, tools.scope)
                    added = await asyncio.to_thread(add_under, tools.frontier, self._lease, named)
                    tools.added_count += sum(one.outcome == "added" for one in added)
            return entry

    async def _page(self, url: UrlIdentity, outcome: FetchOutcome, answer: Answer, is_conditional: bool) -> str:
        media_type = answer.media_type or "text/plain"
        source = PageSource(
            self._lease.url, outcome.body, media_type, answer.content_type, answer.robots_tags, self._tools.token
        )
        parsed = await self._tools.parse(source)
        contents = await asyncio.to_thread(contents_of, source, parsed, outcome.reason)
        content_hash = await asyncio.to_thread(self._tools.store.put, outcome.body)
        content_hash = await asyncio.to_thread(hash_of, outcome.body)
        change = change_of(self._lease, outcome, content_hash)
        lie = missing_page = None
        with suppress(FrontierUnavailableError):  # what takes one request more can be found out another time
            if change == "changed":
                lie = await proven_lie(self, self.admit, self._lease, outcome, is_conditional)
            if parsed.page and is_probe_due(self._lease):
                missing_page = await self._missing_page(url)
        if parsed.page and await self._is_soft_404(missing_page or self._lease.missing_page, parsed.page.text):
            gone = self._completion(SOFT_404, without_body(self._lease))
            return await self._completed(replace(gone, missing_page=missing_page), None, [])
        done = self._completion(
            ("unchanged" if change == "unchanged" else outcome.reason) if parsed.page else parsed.reason,
            after_visit(self._lease.seen, self._lease.claimed_at, content_hash if outcome.is_complete else None),
            kept_validators(outcome),
            parsed.detail or None,
        )
        done = replace(done, lie=lie, missing_page=missing_page)
        candidates = page_candidates(self._lease, parsed.page, self._tools.scope) if parsed.page else []
        contents = await asyncio.to_thread(contents_of, source, parsed, outcome.reason)
        await asyncio.to_thread(self._tools.store.put, outcome.body)
        size_bytes, title = len(outcome.body), contents.facts["title"]
        document = Document(answer.status, content_hash, size_bytes, media_type, outcome.reason, parsed.reason, title)
        keep_body = partial(self._tools.store.keep, content_hash, outcome.body)
        return await self._completed(done, Stored(document, contents, keep_body, change != "unchanged"), candidates)

    async def _listing(self, outcome: FetchOutcome) -> str:
        """A sitemap or feed: its entries become candidates, it is no document."""
        content_hash = await asyncio.to_thread(hash_of, outcome.body)
        is_known = change_of(self._lease, outcome, content_hash) == "unchanged"
        taken = await take_listing(self._tools.frontier, self._lease, outcome, self._tools.scope, is_known)
        self._tools.added_count += taken.added_count
        seen = after_visit(self._lease.seen, self._lease.claimed_at, content_hash if outcome.is_complete else None)
        done = self._completion(listing_reason(taken.listing, outcome), seen, kept_validators(outcome))
        async with self._committing:
            self._is_over = True
            timed = replace(done, duration_micros=self._since_request_micros(), trace=self._trace())
            await asyncio.to_thread(commit_listing, self._tools.frontier, self._lease, timed, taken)
        return done.reason

    async def _missing_page(self, url: UrlIdentity) -> str | None:
        probe = probed_url(self._lease)
        entry = await self._robots(url.origin)
        if not entry.verdict(probe, self._tools.token, self._tools.clock()).is_allowed:
            return None
        await self.admit(probe)
        return await read_missing_page(self, probe, self._tools.token, self._tools.parse)

    async def _is_soft_404(self, missing_page: str | None, text: str) -> bool:
        if not self._lease.depth or not is_missing_page(missing_page, text, self._lease.url):
            return False
        return not await asyncio.to_thread(is_allowed, self._tools.frontier, self._lease.bucket_id, SOFT_404)

    def _completion(
        self,
        reason: str,
        seen: Seen,
        validators: tuple[str | None, str | None] = (None, None),
        detail: str | None = None,
    ) -> Completion:
        usual = self._tools.revisits.get(self._lease.class_name)
        if usual is None:
            return Completion(reason, 0, None, *validators, detail, seen=seen)
        interval = next_interval(seen, usual)
        next_in = jittered(interval, chance_of(self._lease.url, self._lease.fence))
        return Completion(reason, 0, next_in, *validators, detail, seen=seen._replace(interval_micros=interval))

    async def _completed(self, done: Completion, stored: Stored | None, candidates: list[Candidate]) -> str:
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
        """Of the request for the page itself, if there was one; others for it may have been made before and after."""
        return None if self._page_request is None else trace_of(self._page_request)

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
