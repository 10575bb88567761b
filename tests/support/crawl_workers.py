"""Simulated workers: they claim, ask for permission, make requests that only take time, and die or freeze on the way.

What they did is written down in real time, as origins would; a frozen worker goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from threading import Event

from crawler.frontier.claims import Claimer
from crawler.frontier.database import Frontier
from crawler.frontier.leases import Completion, Failure, complete, extend, fail, release, start
from crawler.frontier.sweeping import sweep
from domain.crawl_states import Lease, StaleLeaseError
from domain.politeness import SECOND_MICROS
from domain.receipts import RequestRow

DEATHS = ("before the start", "before the request", "after the request")
FREEZES = ("frozen before the start", "frozen after the request")
FATE_RATIO = 0.25
"""The share of leases that come to a bad end."""
REST_SECONDS = 0.01


@dataclass
class Journal:
    """What the origins saw, and what the workers were told."""

    requests: dict[str, list[RequestRow]] = field(default_factory=lambda: defaultdict(list))
    completed: Counter[str] = field(default_factory=Counter)
    fates: Counter[str] = field(default_factory=Counter)
    stale_count: int = 0


@dataclass
class Worker:
    """One worker; deaths are followed by a restart under another name."""

    frontier: Frontier
    number: int
    journal: Journal
    is_over: Event
    lives: int = 0

    def run(self) -> None:
        chance = Random(self.number)
        while not self.is_over.is_set():
            self.lives += 1
            claimer = Claimer(self.frontier, f"worker-{self.number}-{self.lives}")
            while not self.is_over.is_set():
                leases = claimer.claim()
                if not leases:
                    time.sleep(REST_SECONDS)
                elif self._serve(leases[0], chance) in DEATHS:
                    break

    def _serve(self, lease: Lease, chance: Random) -> str:
        """Makes the request of a lease; how it ended."""
        claimed = time.monotonic()
        is_fated = chance.random() < FATE_RATIO
        fate = chance.choice(DEATHS + FREEZES) if is_fated else "well"
        self.journal.fates[fate] += 1
        try:
            if fate == "before the start":
                return fate
            if fate == "frozen before the start":
                self._freeze(claimed)
            if not self._permitted(lease) or fate == "before the request":
                return fate
            began = time.monotonic_ns() // 1_000
            if time.monotonic() - claimed > self.frontier.policy.lease_micros / SECOND_MICROS:
                return "too late"
            time.sleep(chance.random() * 0.02)
            self.journal.requests[lease.origin].append(RequestRow(began, time.monotonic_ns() // 1_000, 200))
            if fate == "after the request":
                return fate
            if fate == "frozen after the request":
                self._freeze(claimed)
            self._end(lease, chance, time.monotonic_ns() // 1_000 - began)
        except StaleLeaseError:
            self.journal.stale_count += 1
        return fate

    def _permitted(self, lease: Lease) -> bool:
        permission = start(self.frontier, lease)
        if not permission.is_granted:
            release(self.frontier, lease, "too_soon")
        return permission.is_granted

    def _end(self, lease: Lease, chance: Random, duration_micros: int) -> None:
        if chance.random() < FATE_RATIO:
            extend(self.frontier, lease)
            fail(self.frontier, lease, Failure("transient", "timeout", duration_micros))
        else:
            complete(self.frontier, lease, Completion("fetched", duration_micros))
            self.journal.completed[lease.url] += 1

    def _freeze(self, claimed: float) -> None:
        """Sleeps until the lease has run out and somebody has returned it."""
        until = claimed + self.frontier.policy.lease_micros / SECOND_MICROS * 1.2
        while time.monotonic() < until:
            time.sleep(REST_SECONDS)
        sweep(self.frontier, "sweeper")


def run_workers(frontier: Frontier, count: int, is_done: Event) -> Journal:
    """Lets that many workers loose until the event is set, and waits for them."""
    journal = Journal()
    workers = [Worker(frontier, number, journal, is_done) for number in range(count)]
    with ThreadPoolExecutor(count) as pool:
        for running in [pool.submit(worker.run) for worker in workers]:
            running.result()
    return journal
