"""A frontier for tests: made-up origins, a database clock that can be moved, and what must always be true of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlalchemy import func, select, update

from crawler.frontier.adding import Added, Candidate, add_urls
from crawler.frontier.claims import Claimer
from crawler.frontier.database import Frontier, Policy, now_of, open_frontier
from crawler.frontier.schema import BUCKETS, FRONTIER_CLOCK, URL_EVENTS, URLS
from domain.crawl_states import Lease
from domain.frontier import UrlIdentity
from domain.politeness import SECOND_MICROS

GAP_SECONDS, LEASE_SECONDS = 600, 3_600
POLICY = Policy(gap_micros=GAP_SECONDS * SECOND_MICROS, in_flight_cap=1, lease_micros=LEASE_SECONDS * SECOND_MICROS)
"""So long that no test is slow enough to see them end by themselves."""


def identity(url: str) -> UrlIdentity:
    """The identity of a URL that is normal already, such as ``https://www.a.example/x``."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    host = authority.partition(":")[0]
    return UrlIdentity(url, f"{scheme}://{authority}", host, ".".join(host.split(".")[-2:]))


@dataclass
class FrontierWorld:
    """A frontier and hands to play with it."""

    frontier: Frontier
    claimers: dict[str, Claimer] = field(default_factory=dict)

    def add(self, *urls: str, **fields: Any) -> list[Added]:
        """Takes in these URLs."""
        return list(add_urls(self.frontier, [Candidate(identity(url), url, "seed", **fields) for url in urls], "ann"))

    def claim(self, owner: str = "w1", most: int = 1) -> list[Lease]:
        """What that worker is given."""
        return self.claimers.setdefault(owner, Claimer(self.frontier, owner)).claim(most)

    def lease(self, owner: str = "w1") -> Lease:
        """The one lease that there is."""
        (lease,) = self.claim(owner)
        return lease

    def pass_seconds(self, seconds: float) -> None:
        """Moves the database's clock."""
        with self.frontier.writing() as connection:
            moved = FRONTIER_CLOCK.c.offset_micros + int(seconds * SECOND_MICROS)
            connection.execute(update(FRONTIER_CLOCK).values(offset_micros=moved))

    def now(self) -> int:
        with self.frontier.reading() as connection:
            return now_of(connection)

    def url(self, url: str) -> dict[str, Any]:
        """The row of a URL."""
        with self.frontier.reading() as connection:
            return dict(connection.execute(select(URLS).where(URLS.c.url == url)).mappings().one())

    def origin(self, key: str) -> dict[str, Any]:
        """The row of a bucket."""
        with self.frontier.reading() as connection:
            return dict(connection.execute(select(BUCKETS).where(BUCKETS.c.key == key)).mappings().one())

    def events(self, url: str) -> list[tuple[str, str]]:
        """What happened to a URL: state and reason, oldest first."""
        with self.frontier.reading() as connection:
            of_url = select(URLS.c.url_id).where(URLS.c.url == url).scalar_subquery()
            rows = connection.execute(
                select(URL_EVENTS.c.state, URL_EVENTS.c.reason)
                .where(URL_EVENTS.c.url_id == of_url)
                .order_by(URL_EVENTS.c.event_id)
            )
            return [tuple(row) for row in rows]

    def check_counts(self) -> None:
        """The counts in the buckets are those of the URLs."""
        with self.frontier.reading() as connection:
            of_it = URLS.c.origin_id == BUCKETS.c.bucket_id
            ready = select(func.count()).where(of_it, URLS.c.state == "ready").scalar_subquery()
            slots = select(func.count()).where(of_it, URLS.c.lease_expires_at.is_not(None)).scalar_subquery()
            wrong = connection.execute(
                select(BUCKETS.c.key, BUCKETS.c.ready_count, ready, BUCKETS.c.in_flight_count, slots).where(
                    BUCKETS.c.kind == "origin", (BUCKETS.c.ready_count != ready) | (BUCKETS.c.in_flight_count != slots)
                )
            ).all()
        assert wrong == []


@contextmanager
def frontier_world(url: str, policy: Policy = POLICY) -> Iterator[FrontierWorld]:
    """A frontier whose chances are always the same; closed and checked in the end."""
    opened = open_frontier(url, policy)
    frontier = Frontier(opened.engine, policy, Random(7))
    world = FrontierWorld(frontier)
    try:
        yield world
        world.check_counts()
    finally:
        frontier.close()
