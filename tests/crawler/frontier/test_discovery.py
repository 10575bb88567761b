"""Taking in what listings name under their lease, and the alert where discovery finds nothing any more."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from crawler.frontier.adding import Candidate
from crawler.frontier.discovery import Taken, add_under, commit_listing, watch_discovery
from crawler.frontier.leases import Completion
from crawler.frontier.reading import status_of
from crawler.frontier.schema import URLS
from crawler.frontier.sweeping import sweep
from crawler.frontier.trap_schema import ALERTS, LISTINGS
from domain.crawl_states import Lease, StaleLeaseError
from domain.listings import Listed, Listing
from domain.politeness import SECOND_MICROS
from tests.support.frontiers import GAP_SECONDS, LEASE_SECONDS, FrontierWorld, identity

A = "https://a.example/"
DAY_SECONDS = 86_400
DAY = DAY_SECONDS * SECOND_MICROS
READ = Listing("urlset", (Listed(A + "1"),), (), "read")


def candidates(*urls: str) -> list[Candidate]:
    return [Candidate(identity(url), url, "sitemap", 0, 4) for url in urls]


def read(world: FrontierWorld, lease: Lease, *too_deep: Candidate) -> None:
    commit_listing(world.frontier, lease, Completion("read", 0, DAY // 4), Taken(READ, 0, list(too_deep)))


def urls_count(world: FrontierWorld) -> int:
    with world.frontier.reading() as connection:
        return connection.execute(select(func.count()).select_from(URLS)).scalar_one()


def test_entries_are_taken_in_while_the_lease_is_held(world: FrontierWorld) -> None:
    """C9: more than one transaction of them; a lease that was lost adds nothing more, and commits nothing."""
    world.add(A)
    lease = world.lease()
    assert len(add_under(world.frontier, lease, candidates(*[f"{A}{number}" for number in range(600)]))) == 600
    world.pass_seconds(LEASE_SECONDS + GAP_SECONDS + 1)
    sweep(world.frontier, "s")
    with pytest.raises(StaleLeaseError, match="add of"):
        add_under(world.frontier, lease, candidates(A + "late"))
    with pytest.raises(StaleLeaseError, match="complete of"):
        read(world, lease, *candidates(A + "deep"))
    assert urls_count(world) == 601
    assert status_of(world.frontier, "a.example").origins[0].cuts == []
    with world.frontier.reading() as connection:
        assert connection.execute(select(LISTINGS)).all() == []


def test_a_listing_is_kept_with_what_it_brought(world: FrontierWorld) -> None:
    world.add(A)
    read(world, world.lease(), *candidates(A + "deep"))
    with world.frontier.reading() as connection:
        row = connection.execute(select(LISTINGS)).one()
    assert (row.kind, row.listed_count, row.added_count, row.end_reason) == ("urlset", 1, 0, "read")
    (cut,) = status_of(world.frontier, "a.example").origins[0].cuts
    assert (cut["reason"], cut["samples"]) == ("trap_listing_depth", [A + "deep"])


def test_discovery_that_finds_nothing_is_told_once(world: FrontierWorld) -> None:
    """C24: sitemaps were read for a whole window, and no URL was new; the next new one ends it."""
    assert not watch_discovery(world.frontier, DAY), "nothing was ever added"
    world.add(A)
    world.pass_seconds(DAY_SECONDS - world.now() // SECOND_MICROS % DAY_SECONDS + 60)
    assert not watch_discovery(world.frontier, DAY), "a URL was new in the last window"
    world.pass_seconds(DAY_SECONDS)
    assert not watch_discovery(world.frontier, DAY), "nothing was read"
    read(world, world.lease())
    assert not watch_discovery(world.frontier, DAY), "the window has not ended"
    world.pass_seconds(DAY_SECONDS)
    assert [watch_discovery(world.frontier, DAY) for _ in range(3)] == [True] * 3
    (alert,) = status_of(world.frontier, "a.example").alerts
    assert (alert["kind"], alert["subject"]) == ("no_new_urls", "the crawl")
    world.add(A + "new")
    assert not watch_discovery(world.frontier, DAY)
    assert status_of(world.frontier, "a.example").alerts == []
    with world.frontier.reading() as connection:
        assert connection.execute(select(func.count()).select_from(ALERTS)).scalar_one() == 1
