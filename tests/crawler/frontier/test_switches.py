"""Pause, resume, kill, and a Crawl-delay."""

from __future__ import annotations

import pytest

from crawler.frontier.leases import Completion, complete, start
from crawler.frontier.reading import status_of
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.sweeping import sweep
from crawler.frontier.switches import set_crawl_delay, set_switch
from domain.crawl_states import StaleLeaseError
from domain.errors import UsageError
from domain.politeness import SECOND_MICROS
from tests.support.frontiers import LEASE_SECONDS, FrontierWorld

A, B = "https://a.big.example/", "https://b.big.example/"
DONE = Completion("fetched", 0)
SAID = {"reason": "complaint", "actor": "ann"}


def test_a_paused_origin_is_not_claimed_until_it_is_resumed(world: FrontierWorld) -> None:
    world.add(A, B)
    assert set_switch(world.frontier, "https://a.big.example", "paused", **SAID) == ["https://a.big.example"]
    assert [lease.url for lease in world.claim(most=5)] == [B]
    set_switch(world.frontier, "https://a.big.example", "open", **SAID)
    assert world.lease("w2").url == A


def test_a_whole_domain_is_switched_by_its_name(world: FrontierWorld) -> None:
    world.add(A, B, "https://c.example/")
    assert set_switch(world.frontier, "big.example", "paused", **SAID) == [A[:-1], B[:-1]]
    assert [one.switch for one in status_of(world.frontier, "big.example").origins] == ["paused", "paused"]
    assert [lease.url for lease in world.claim(most=5)] == ["https://c.example/"]


def test_a_killed_origin_takes_its_leases_away(world: FrontierWorld) -> None:
    """Its slot is held until the expiry that was promised, since the request may still be under way."""
    world.add(A)
    lease = world.lease()
    set_switch(world.frontier, "a.big.example", "killed", **SAID)
    with pytest.raises(StaleLeaseError):
        start(world.frontier, lease)
    with pytest.raises(StaleLeaseError):
        complete(world.frontier, lease, DONE)
    assert world.origin(A[:-1])["in_flight_count"] == 1
    world.pass_seconds(LEASE_SECONDS + 1)
    assert sweep(world.frontier, "s").returned_count == 1
    assert world.claim() == []
    set_switch(world.frontier, "a.big.example", "open", **SAID)
    assert world.lease().fence == 3


def test_an_unknown_origin_is_not_switched(world: FrontierWorld) -> None:
    with pytest.raises(UsageError, match=r"no origin of 'nobody.example' is known"):
        set_switch(world.frontier, "nobody.example", "paused", **SAID)


def test_nobody_opens_what_opted_out(world: FrontierWorld) -> None:
    world.add(A)
    suppress(world.frontier, OptOut("host", "a.big.example", "asked", "mail", "ann"))
    assert set_switch(world.frontier, "a.big.example", "open", **SAID) == []
    assert world.claim() == []


def test_the_larger_delay_wins(world: FrontierWorld) -> None:
    world.add(A, A + "2")
    assert set_crawl_delay(world.frontier, A[:-1], 60 * SECOND_MICROS, "robots") == "open"
    assert world.origin(A[:-1])["gap_micros"] == 600 * SECOND_MICROS


def test_a_delay_holds_for_the_gap_that_runs_already(world: FrontierWorld) -> None:
    world.add(A, A + "2")
    lease = world.lease()
    set_crawl_delay(world.frontier, A[:-1], 2_000 * SECOND_MICROS, "robots")
    set_switch(world.frontier, A[:-1], "open", **SAID)
    complete(world.frontier, lease, DONE)
    world.pass_seconds(1_500)
    assert world.claim() == []
    world.pass_seconds(501)
    assert world.lease().url == A + "2"


def test_a_long_delay_parks_the_origin_and_is_never_broken(world: FrontierWorld) -> None:
    """C2: Crawl-delay 600 is above what is waited for without a person; nothing is dropped."""
    world.add(A, A + "2")
    assert set_crawl_delay(world.frontier, A[:-1], 700 * SECOND_MICROS, "robots") == "parked"
    assert set_crawl_delay(world.frontier, A[:-1], 700 * SECOND_MICROS, "robots") == "parked"
    assert world.claim() == []
    assert world.origin(A[:-1])["ready_count"] == 2
    set_switch(world.frontier, A[:-1], "open", **SAID)
    complete(world.frontier, world.lease(), DONE)
    world.pass_seconds(650)
    assert world.claim() == []
    world.pass_seconds(51)
    assert world.lease().url == A + "2"
    assert set_crawl_delay(world.frontier, A[:-1], None, "robots") == "open"
    assert world.origin(A[:-1])["gap_micros"] == 600 * SECOND_MICROS


def test_a_delay_of_an_unknown_origin_is_refused(world: FrontierWorld) -> None:
    with pytest.raises(UsageError, match="no origin"):
        set_crawl_delay(world.frontier, "https://nobody.example", None, "robots")
