"""A claim of one URL out of turn: within the slot, gap, switch and opt-outs of its origin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crawler.frontier.hops import claim_hop
from crawler.frontier.leases import Completion, complete, release, start
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.sweeping import sweep
from crawler.frontier.switches import set_switch
from domain.crawl_states import StaleLeaseError
from tests.support.frontiers import LEASE_SECONDS, POLICY, FrontierWorld, frontier_world, identity

ORIGIN = "https://a.example"
ROBOTS = identity(f"{ORIGIN}/robots.txt")
DONE = Completion("robots_hop", 0)


def test_a_hop_takes_slot_and_gap(world: FrontierWorld) -> None:
    """Law 12: nobody else has a lease of that origin meanwhile, nor within its gap; nor does a hop where one has."""
    world.add(f"{ORIGIN}/", f"{ORIGIN}/2")
    hop = claim_hop(world.frontier, ROBOTS, "w1")
    assert hop is not None
    assert (hop.url, hop.fence, hop.source) == (ROBOTS.url, 1, "robots_hop")
    assert world.claim("w2") == []
    assert claim_hop(world.frontier, ROBOTS, "w2") is None
    assert start(world.frontier, hop).is_granted
    complete(world.frontier, hop, DONE)
    assert world.claim("w2") == [], "its gap runs"
    world.pass_seconds(601)
    held = world.lease("w2")
    assert held.url != ROBOTS.url
    world.pass_seconds(601)
    assert claim_hop(world.frontier, ROBOTS, "w1") is None, "the slot is taken"
    complete(world.frontier, held, Completion("fetched", 0))
    assert claim_hop(world.frontier, ROBOTS, "w1") is not None


def test_no_ordinary_claim_takes_it(world: FrontierWorld) -> None:
    """Neither when it is done, nor released, nor after its worker died; the fence grows, and a late end is stale."""
    hop = claim_hop(world.frontier, ROBOTS, "w1")
    assert hop is not None
    release(world.frontier, hop, "worker_stopped")
    assert world.url(ROBOTS.url)["state"] == "done"
    world.pass_seconds(601)
    died = claim_hop(world.frontier, ROBOTS, "w1")
    assert died is not None
    world.pass_seconds(LEASE_SECONDS + 1)
    sweep(world.frontier, "s")
    assert (world.url(ROBOTS.url)["state"], world.claim()) == ("done", [])
    again = claim_hop(world.frontier, ROBOTS, "w2")
    assert again is not None
    assert again.fence == died.fence + 1
    with pytest.raises(StaleLeaseError):
        complete(world.frontier, died, DONE)


def test_a_switch_and_an_opt_out_hold(world: FrontierWorld) -> None:
    world.add(f"{ORIGIN}/")
    set_switch(world.frontier, ORIGIN, "paused", reason="asked", actor="ann")
    assert claim_hop(world.frontier, ROBOTS, "w") is None
    set_switch(world.frontier, ORIGIN, "open", reason="over", actor="ann")
    suppress(world.frontier, OptOut("url", ROBOTS.url, "asked", "mail", "ann"))
    assert claim_hop(world.frontier, ROBOTS, "w") is None
    hop = claim_hop(world.frontier, identity("https://b.example/robots.txt"), "w")
    assert hop is not None
    suppress(world.frontier, OptOut("host", "b.example", "asked", "mail", "ann"))
    with pytest.raises(StaleLeaseError):
        start(world.frontier, hop)
    world.pass_seconds(LEASE_SECONDS + 1)
    sweep(world.frontier, "s")


def test_a_seed_is_somebody_else_s_plan(world: FrontierWorld) -> None:
    world.add(ROBOTS.url)
    assert claim_hop(world.frontier, ROBOTS, "w") is None
    assert world.lease().url == ROBOTS.url


def test_a_group_holds_too(frontier_url: str) -> None:
    with frontier_world(frontier_url, replace(POLICY, is_grouped=True)) as world:
        world.add("https://www.a.example/")
        world.lease()
        assert claim_hop(world.frontier, ROBOTS, "w") is None
