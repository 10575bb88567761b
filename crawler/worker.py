"""A worker: claims URLs, visits a bounded number of them at a time, and stops without losing any.

Belongs here: the loop around visits, when it is idle, stopping, and the receipt. One visit is ``crawler/visit.py``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from crawler.egress import EgressGuard, EgressPolicy, policy_from
from crawler.fetch import Agent, Fetcher
from crawler.frontier.claims import MOST_CLAIMS, Claimer
from crawler.frontier.database import Frontier, FrontierUnavailableError
from crawler.frontier.discovery import watch_discovery
from crawler.frontier.reading import Pending, pending
from crawler.frontier.sweeping import SWEEP_SECONDS, sweep
from crawler.names import Names
from crawler.parse import PageSource
from crawler.parse_worker import ParseOutcome, ParseWorker
from crawler.replaying import replay
from crawler.spool import Spool
from crawler.store import BodyStore
from crawler.visit import Tools, Visit
from domain.politeness import SECOND_MICROS
from domain.settings import Settings

STOP_SECONDS = 20.0
"""How long requests in flight may take to end once a stop was asked for."""
LONGEST_HOP_SECONDS = 30.0
"""How long a robots.txt may wait for a slot and a gap of another origin that it moved to."""
LONGEST_NAP_SECONDS = 1.0
SHORTEST_NAP_SECONDS = 0.02
FIRST_AWAY_SECONDS, LONGEST_AWAY_SECONDS = 1.0, 60.0
"""Between two looks whether the database is back: doubling, give or take a half, so that workers come back apart."""
MIB = 1024 * 1024
HOUR_MICROS = 3_600 * SECOND_MICROS


@dataclass(frozen=True)
class WorkerParams:
    """How one worker crawls. ``owner`` is what its leases say; no two workers share one."""

    owner: str
    agent: Agent
    egress: EgressPolicy
    scope: str
    revisits: Mapping[str, int]
    most_in_hand: int
    spool_folder: Path
    spool_bytes: int
    unconditional_per_mille: int = 0
    discovery_window_micros: int = 24 * HOUR_MICROS
    longest_hop_seconds: float = LONGEST_HOP_SECONDS
    is_until_idle: bool = False
    stop_seconds: float = STOP_SECONDS


@dataclass(frozen=True)
class CrawlReceipt:
    """What a worker did. ``counts`` has how often a lease ended with each reason."""

    owner: str
    started_at: datetime
    ended_at: datetime
    counts: dict[str, int]
    lease_count: int
    request_count: int
    added_count: int
    """URLs that were new."""
    is_stopped: bool
    resting_count: int
    """URLs that wait, in the end, for origins which asked for rest."""


@dataclass
class Progress:
    """What is known while a worker works."""

    counts: Counter[str] = field(default_factory=Counter)
    in_hand_count: int = 0
    request_count: int = 0


Show = Callable[[Progress], None]


def params_from(settings: Settings, owner: str, most_in_hand: int, is_until_idle: bool) -> WorkerParams:
    """What settings say; ``SettingError`` names what is wrong, before anything is claimed."""
    hours = {
        "news": settings.crawl_news_revisit_hours,
        "landing": settings.crawl_landing_revisit_hours,
        "general": settings.crawl_revisit_hours,
        "documentation": settings.crawl_documentation_revisit_hours,
    }
    return WorkerParams(
        owner=owner,
        agent=Agent(settings.crawl_agent, settings.crawl_contact_url),
        egress=policy_from(settings.crawl_ports, settings.crawl_test_networks),
        scope=settings.crawl_scope,
        revisits={name: usual * HOUR_MICROS for name, usual in hours.items() if usual},
        most_in_hand=most_in_hand,
        spool_folder=settings.crawl_spool_path,
        spool_bytes=settings.crawl_spool_mib * MIB,
        unconditional_per_mille=settings.crawl_unconditional_per_mille,
        discovery_window_micros=settings.crawl_discovery_window_hours * HOUR_MICROS,
        is_until_idle=is_until_idle,
    )


async def run_worker(
    frontier: Frontier,
    store: BodyStore,
    params: WorkerParams,
    clock: Callable[[], datetime],
    *,
    stop: asyncio.Event,
    show: Show,
) -> CrawlReceipt:
    """Crawls until ``stop``, or until nothing is left that comes by itself. Safe to kill and to start again any time.

    A stop lets requests in flight end within a bound and gives everything else back. An error that is no page's fault,
    such as a full disk, stops it in the same way and is raised.
    """
    started_at = clock()
    async with _tools(frontier, store, params, clock, stop) as tools:
        worker = _Worker(tools, params, show)
        is_stopped = await worker.run()
        left = await asyncio.to_thread(pending, frontier)
    return CrawlReceipt(
        owner=params.owner,
        started_at=started_at,
        ended_at=clock(),
        counts=dict(sorted(worker.progress.counts.items())),
        lease_count=worker.progress.counts.total(),
        request_count=tools.request_count,
        added_count=tools.added_count,
        is_stopped=is_stopped,
        resting_count=left.resting_count,
    )


@asynccontextmanager
async def _tools(
    frontier: Frontier, store: BodyStore, params: WorkerParams, clock: Callable[[], datetime], stop: asyncio.Event
) -> AsyncIterator[Tools]:
    fetcher = Fetcher(params.agent, EgressGuard(params.egress), Names(), clock)
    spooling = Spool(params.spool_folder, params.owner, params.spool_bytes)
    with ParseWorker() as parser, ThreadPoolExecutor(1, "parse") as thread, spooling as spool:

        async def parse(source: PageSource) -> ParseOutcome:
            return await asyncio.get_running_loop().run_in_executor(thread, parser.parse, source)

        async with fetcher:
            yield Tools(
                frontier,
                fetcher,
                store,
                spool,
                parse,
                clock,
                params.agent.token,
                params.scope,
                params.revisits,
                params.unconditional_per_mille,
                params.longest_hop_seconds,
                stop,
            )


class _Worker:
    def __init__(self, tools: Tools, params: WorkerParams, show: Show) -> None:
        self._tools = tools
        self._params = params
        self._show = show
        self._claimer = Claimer(tools.frontier, params.owner)
        self._loop = asyncio.get_running_loop()
        self._in_hand: set[asyncio.Task[str]] = set()
        self._errors: list[BaseException] = []
        self._swept_seconds = self._loop.time() - SWEEP_SECONDS
        self._away_seconds = 0.0
        self._back_at_seconds = 0.0
        self.progress = Progress()

    async def run(self) -> bool:
        """Whether it was stopped, as against idle."""
        stopping = asyncio.create_task(self._tools.stop.wait())
        try:
            while not self._tools.stop.is_set() and not self._errors:
                nap_seconds = await self._claimed()
                if nap_seconds is None:
                    break
                await asyncio.wait({stopping, *self._in_hand}, timeout=nap_seconds, return_when="FIRST_COMPLETED")
                self._collect()
        finally:
            is_stopped = self._tools.stop.is_set()
            self._tools.stop.set()  # who still waits for a gap gives back what it holds
            stopping.cancel()
            await self._finish()
        if self._errors:
            raise self._errors[0]
        return is_stopped

    async def _claimed(self) -> float | None:
        """Claims what fits, and says how long there is nothing else to do; None where nothing comes by itself."""
        room = self._params.most_in_hand - len(self._in_hand)
        if not room:
            return LONGEST_NAP_SECONDS
        if (away_seconds := self._back_at_seconds - self._loop.time()) > 0:
            return away_seconds
        try:
            await self._replay()
            await self._sweep_now_and_then()
            asked_seconds = self._loop.time()
            leases = await asyncio.to_thread(self._claimer.claim, min(room, MOST_CLAIMS))
            self._away_seconds = 0.0
            for lease in leases:
                self._in_hand.add(asyncio.create_task(Visit(self._tools, lease, asked_seconds).run()))
            self.progress.in_hand_count = len(self._in_hand)
            if leases:
                return 0.0
            left = await asyncio.to_thread(pending, self._tools.frontier)
        except FrontierUnavailableError:
            return self._stay_away()
        if self._params.is_until_idle and not self._in_hand and _is_idle(left):
            return None
        return _nap_seconds(left)

    async def _replay(self) -> None:
        """Nothing is claimed while a finished result waits."""
        if not self._tools.spool.is_empty:
            await asyncio.to_thread(replay, self._tools.frontier, self._tools.store, self._tools.spool)

    def _stay_away(self) -> float:
        """How long the database is left alone, now that it did not answer."""
        self._away_seconds = min(max(2 * self._away_seconds, FIRST_AWAY_SECONDS), LONGEST_AWAY_SECONDS)
        wait_seconds = self._away_seconds * (0.5 + self._tools.frontier.random.random())
        self._back_at_seconds = self._loop.time() + wait_seconds
        return wait_seconds

    async def _sweep_now_and_then(self) -> None:
        """Claims sweep only where they find nothing, and a busy worker always finds something."""
        if self._loop.time() - self._swept_seconds >= SWEEP_SECONDS:
            self._swept_seconds = self._loop.time()
            await asyncio.to_thread(sweep, self._tools.frontier, self._params.owner)
            await asyncio.to_thread(watch_discovery, self._tools.frontier, self._params.discovery_window_micros)

    def _collect(self) -> None:
        done = {task for task in self._in_hand if task.done()}
        self._in_hand -= done
        for task in done:
            if task.cancelled():
                self.progress.counts["worker_stopped"] += 1
            elif (error := task.exception()) is not None:
                self._errors.append(error)
            else:
                self.progress.counts[task.result()] += 1
        self.progress.in_hand_count = len(self._in_hand)
        self.progress.request_count = self._tools.request_count
        if done:
            self._show(self.progress)

    async def _finish(self) -> None:
        """Waits for what is in flight, within the bound; what takes longer is cut off and given back."""
        if self._in_hand:
            _, late = await asyncio.wait(self._in_hand, timeout=self._params.stop_seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        self._collect()


def _is_idle(left: Pending) -> bool:
    return left.held_count == 0 and left.next_in_micros is None


def _nap_seconds(left: Pending) -> float:
    """Until the next URL can be claimed, or another worker's result may have brought one."""
    if left.next_in_micros is None:
        return LONGEST_NAP_SECONDS
    return min(max(left.next_in_micros / SECOND_MICROS, SHORTEST_NAP_SECONDS), LONGEST_NAP_SECONDS)
