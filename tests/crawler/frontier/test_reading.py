"""What people are told: how a domain stands, and why a URL was or was not fetched."""

from __future__ import annotations

import pytest

from crawler.frontier.leases import Completion, Failure, complete, fail
from crawler.frontier.reading import Pending, pending, status_of, why
from crawler.frontier.switches import set_switch
from domain.errors import UsageError
from domain.politeness import SECOND_MICROS
from tests.support.frontiers import FrontierWorld, identity

A, B = "https://a.big.example/", "https://b.big.example/"
DONE = Completion("fetched", 0)


def obstacles(world: FrontierWorld, url: str) -> list[str]:
    return why(world.frontier, identity(url)).obstacles


def test_a_domain_is_told_origin_by_origin(world: FrontierWorld) -> None:
    world.add(A, A + "2", B)
    complete(world.frontier, next(one for one in world.claim(most=2) if one.url == A), DONE)
    a, b = status_of(world.frontier, "big.example").origins
    assert (a.origin, a.url_counts, a.in_flight_count) == (A[:-1], {"done": 1, "ready": 1}, 0)
    assert (b.url_counts, b.in_flight_count, b.in_flight_cap, b.gap_micros) == (
        {"leased": 1},
        1,
        1,
        600 * SECOND_MICROS,
    )
    assert a.oldest_ready_at == world.url(A + "2")["due_at"]
    assert b.oldest_ready_at is None
    assert status_of(world.frontier, B[:-1]).origins == [b]


def test_nothing_is_told_of_strangers(world: FrontierWorld) -> None:
    with pytest.raises(UsageError, match="nothing is known of"):
        status_of(world.frontier, "nobody.example")


def test_each_obstacle_is_named(world: FrontierWorld) -> None:
    assert obstacles(world, A) == ["not known: nobody has named it, or it was refused"]
    world.add(A, priority=1)
    assert obstacles(world, A) == []
    world.add(A + "2")
    assert obstacles(world, A + "2") == ["1 URLs of its origin come first"]
    lease = world.lease("w7")
    said = obstacles(world, A)
    assert said[:2] == ["held by w7", "1 of 1 requests of its origin are in flight"]
    assert said[2].startswith("gap of its origin runs for ")
    fail(world.frontier, lease, Failure("throttled", "too_many_requests"))
    assert obstacles(world, A)[0].startswith("throttled origin rests for ")
    set_switch(world.frontier, A[:-1], "paused", reason="complaint", actor="ann")
    assert obstacles(world, A)[0] == "origin is paused"


def test_the_whole_chain_is_told(world: FrontierWorld) -> None:
    world.add(A)
    fail(world.frontier, world.lease(), Failure("throttled", "too_many_requests"))
    world.pass_seconds(2_000)
    complete(world.frontier, world.lease(), Completion("not_modified", 0, 7_200 * SECOND_MICROS))
    told = why(world.frontier, identity(A))
    assert [(event["state"], event["reason"], event["actor"], event["fence"]) for event in told.events] == [
        ("ready", "added", "ann", 0),
        ("leased", "claimed", "w1", 1),
        ("ready", "too_many_requests", "w1", 1),
        ("leased", "claimed", "w1", 2),
        ("waiting", "not_modified", "w1", 2),
    ]
    assert [(event["event"], event["reason"]) for event in told.origin_events] == [("throttled", "too_many_requests")]
    assert told.obstacles[0].startswith("its time comes in 7")
    assert told.state == "waiting"


def test_a_worker_without_work_knows_what_it_may_wait_for(world: FrontierWorld) -> None:
    """URLs that wait for their time are not waited for, nor those of an origin that asked for rest."""
    assert pending(world.frontier) == Pending(0, None, 0)
    world.add(A)
    assert pending(world.frontier) == Pending(0, 0, 0)
    lease = world.lease()
    assert pending(world.frontier) == Pending(1, None, 0)
    world.add(A + "2")
    complete(world.frontier, lease, Completion("fetched", 0, 1_000_000))
    left = pending(world.frontier)
    assert (left.held_count, left.resting_count) == (0, 0)
    assert 500 * SECOND_MICROS < (left.next_in_micros or 0) <= 601 * SECOND_MICROS
    world.pass_seconds(601)
    fail(world.frontier, world.lease(), Failure("throttled", "http_503", 0, 5_000 * SECOND_MICROS))
    assert pending(world.frontier) == Pending(0, None, 1)
