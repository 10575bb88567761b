"""Sweeping: what ran out comes back, what is due wakes up."""

from __future__ import annotations

from crawler.frontier.database import Frontier
from crawler.frontier.leases import Completion, complete
from crawler.frontier.sweeping import Swept, sweep
from domain.crawl_states import MOST_ATTEMPTS
from domain.politeness import SECOND_MICROS
from tests.support.frontiers import LEASE_SECONDS, POLICY, FrontierWorld

A = "https://a.example/"


def test_a_lease_that_ran_out_comes_back_with_its_attempt(world: FrontierWorld) -> None:
    """C18: a worker is gone; its lease expires, the attempt is kept, and a frontier opened anew knows it all."""
    world.add(A)
    world.lease()
    assert sweep(world.frontier, "s") == Swept(0, 0, 0)
    world.pass_seconds(LEASE_SECONDS + 1)
    reopened = Frontier(world.frontier.engine, POLICY)
    assert sweep(reopened, "s") == Swept(1, 0, 0)
    row, origin = world.url(A), world.origin("https://a.example")
    assert (row["state"], row["reason"], row["attempt_count"], row["fence"]) == ("ready", "lease_expired", 1, 1)
    assert (origin["in_flight_count"], origin["ready_count"]) == (0, 1)
    assert world.lease().attempt_count == 2


def test_a_page_that_kills_its_workers_is_given_up(world: FrontierWorld) -> None:
    world.add(A)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        assert world.lease().attempt_count == attempt
        world.pass_seconds(LEASE_SECONDS + 1)
        assert sweep(world.frontier, "s") == Swept(1, int(attempt == MOST_ATTEMPTS), 0)
    assert (world.url(A)["state"], world.url(A)["reason"]) == ("failed", "lease_expired")


def test_what_is_due_wakes_up(world: FrontierWorld) -> None:
    urls = [f"https://a{number}.example/" for number in range(5)]
    world.add(*urls)
    for number, lease in enumerate(world.claim(most=5)):
        complete(world.frontier, lease, Completion("fetched", 0, (number + 1) * 10_000 * SECOND_MICROS))
    world.pass_seconds(25_000)
    assert sweep(world.frontier, "s") == Swept(0, 0, 2)
    assert len(world.claim(most=5)) == 2
