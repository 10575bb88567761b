"""What a holder of a lease may do, and that a stale one may do nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from crawler.frontier.database import Frontier
from crawler.frontier.leases import Completion, Failure, complete, extend, fail, release, requested, start
from crawler.frontier.reading import status_of, why
from crawler.frontier.schema import ORIGIN_EVENTS
from crawler.frontier.sweeping import sweep
from crawler.frontier.switches import set_switch
from domain.crawl_states import MOST_ATTEMPTS, Lease, StaleLeaseError
from domain.errors import UsageError
from domain.politeness import FIRST_BACKOFF_MICROS, FIRST_RETRY_MICROS, SECOND_MICROS
from domain.recrawl import Seen
from tests.support.frontiers import GAP_SECONDS, LEASE_SECONDS, POLICY, FrontierWorld, identity

A = "https://a.example/"
ORIGIN = "https://a.example"
DONE = Completion("fetched", 0)
TRANSIENT = Failure("transient", "timeout")


def test_a_request_needs_permission_each_time(world: FrontierWorld) -> None:
    """C15: pages, robots.txt and sitemaps spend one bucket, under one lease too."""
    world.add(A)
    lease = world.lease()
    assert start(world.frontier, lease).is_granted
    again = start(world.frontier, lease)
    assert not again.is_granted
    assert (GAP_SECONDS - 120) * SECOND_MICROS < again.wait_micros <= POLICY.gap_micros + SECOND_MICROS
    world.pass_seconds(GAP_SECONDS + 1)
    assert start(world.frontier, lease).is_granted


def test_a_late_start_moves_the_clock_on(world: FrontierWorld) -> None:
    """Who claims and dawdles starts later; the next claim still comes a whole gap after that start."""
    world.add(A, A + "2")
    lease = world.lease()
    world.pass_seconds(GAP_SECONDS - 10)
    assert start(world.frontier, lease).is_granted
    complete(world.frontier, lease, Completion("fetched", 1))
    world.pass_seconds(20)
    assert world.claim() == []
    world.pass_seconds(GAP_SECONDS)
    assert world.lease().url == A + "2"


def test_the_gap_counts_from_the_request_and_not_from_the_permission(world: FrontierWorld) -> None:
    """300 s between permission and first byte: the request took 0 s and ended now."""
    world.add(A, A + "2")
    lease = world.lease()
    assert start(world.frontier, lease).is_granted
    world.pass_seconds(300)
    complete(world.frontier, lease, DONE)
    world.pass_seconds(GAP_SECONDS - 200)
    assert world.claim() == []


def test_a_completed_url_waits_for_its_next_time(world: FrontierWorld) -> None:
    world.add(A, priority=2)
    complete(world.frontier, world.lease(), Completion("fetched", 0, 3_600 * SECOND_MICROS, '"e"', "a date"))
    row = world.url(A)
    assert (row["state"], row["etag"], row["last_modified"], row["attempt_count"]) == ("waiting", '"e"', "a date", 0)
    assert row["due_at"] - row["changed_at"] == 3_600 * SECOND_MICROS
    assert row["rank_at"] == row["due_at"] - 2 * 60 * SECOND_MICROS
    assert world.origin(ORIGIN)["in_flight_count"] == 0
    world.pass_seconds(3_601)
    lease = world.lease()
    assert (lease.etag, lease.last_modified, lease.fence) == ('"e"', "a date", 2)
    complete(world.frontier, lease, DONE)
    assert world.events(A)[-3:] == [("ready", "due"), ("leased", "claimed"), ("done", "fetched")]


def test_a_throttled_origin_rests_and_its_urls_keep_their_attempts(world: FrontierWorld) -> None:
    """C1: 429 with Retry-After to one URL stops all of the origin."""
    world.add(A, A + "2")
    lease = world.lease()
    start(world.frontier, lease)
    fail(world.frontier, lease, Failure("throttled", "too_many_requests", 0, 7_200 * SECOND_MICROS))
    row, origin = world.url(lease.url), world.origin(ORIGIN)
    assert (row["state"], row["attempt_count"], origin["failure_count"]) == ("ready", 0, 1)
    assert 7_200 * SECOND_MICROS <= origin["claimable_at"] - row["changed_at"] <= 9_000 * SECOND_MICROS
    world.pass_seconds(7_100)
    assert world.claim() == []
    world.pass_seconds(1_900)
    lease = world.lease()
    complete(world.frontier, lease, DONE)
    assert world.origin(ORIGIN)["failure_count"] == 0


def test_throttled_again_and_again_doubles(world: FrontierWorld) -> None:
    world.add(A)
    rests = []
    for _ in range(6):
        fail(world.frontier, world.lease(), Failure("throttled", "unavailable"))
        rests.append((world.origin(ORIGIN)["claimable_at"] - world.url(A)["changed_at"]) // FIRST_BACKOFF_MICROS)
        world.pass_seconds(10_000)
    assert rests[:4] == [10, 10, 10, 10]  # the gap of ten minutes is longer than 1, 2, 4 and 8 minutes, jitter included
    assert 16 <= rests[4] <= 20
    assert 32 <= rests[5] <= 40


def test_a_transient_failure_is_tried_again_a_few_times(world: FrontierWorld) -> None:
    world.add(A)
    waits = []
    for _ in range(MOST_ATTEMPTS):
        fail(world.frontier, world.lease(), TRANSIENT)
        row = world.url(A)
        waits.append((row["due_at"] - row["changed_at"]) // FIRST_RETRY_MICROS)
        world.pass_seconds(86_400)
    assert (row["state"], row["reason"], row["attempt_count"]) == ("failed", "timeout", MOST_ATTEMPTS)
    assert waits == [1, 2, 4, pytest.approx(9, abs=1), 0]


@pytest.mark.parametrize(("kind", "state"), [("final", "failed"), ("refused", "refused")])
def test_other_failures_end_at_once(world: FrontierWorld, kind: str, state: str) -> None:
    world.add(A)
    fail(world.frontier, world.lease(), Failure(kind, "gone"))  # type: ignore[arg-type]
    assert (world.url(A)["state"], world.url(A)["reason"]) == (state, "gone")
    world.pass_seconds(86_400)
    assert world.claim() == []


def test_a_released_url_is_as_it_was(world: FrontierWorld) -> None:
    world.add(A)
    release(world.frontier, world.lease(), "shutdown")
    row = world.url(A)
    assert (row["state"], row["reason"], row["attempt_count"], row["lease_owner"]) == ("ready", "shutdown", 0, None)


def test_an_extended_lease_outlives_its_first_term(world: FrontierWorld) -> None:
    world.add(A)
    lease = world.lease()
    world.pass_seconds(LEASE_SECONDS - 100)
    longer = extend(world.frontier, lease)
    assert longer.expires_at > lease.expires_at
    world.pass_seconds(200)
    assert sweep(world.frontier, "s").returned_count == 0
    complete(world.frontier, lease, DONE)
    assert world.url(A)["state"] == "done"


STEPS: dict[str, Callable[[Frontier, Lease], object]] = {
    "start": start,
    "extend": extend,
    "complete": lambda frontier, lease: complete(frontier, lease, DONE),
    "fail": lambda frontier, lease: fail(frontier, lease, TRANSIENT),
    "release": lambda frontier, lease: release(frontier, lease, "shutdown"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_zombie_changes_nothing_and_is_counted(world: FrontierWorld, step: str) -> None:
    """C9: one worker stalls, its lease is returned, another claims, the first wakes up."""
    world.add(A)
    stale = world.lease("w1")
    world.pass_seconds(LEASE_SECONDS + 1)
    sweep(world.frontier, "s")
    fresh = world.lease("w2")
    before, bucket = world.url(A), world.origin(ORIGIN)
    with pytest.raises(StaleLeaseError, match=f"{step} of {A} by w1 under fence 1"):
        STEPS[step](world.frontier, stale)
    assert (world.url(A), world.origin(ORIGIN)) == (before, bucket)
    assert status_of(world.frontier, "a.example").stale_commit_count == 1
    complete(world.frontier, fresh, DONE)
    assert world.url(A)["state"] == "done"


@pytest.mark.parametrize("step", STEPS)
def test_a_returned_lease_is_stale_before_anybody_claims(world: FrontierWorld, step: str) -> None:
    world.add(A)
    stale = world.lease()
    world.pass_seconds(LEASE_SECONDS + 1)
    sweep(world.frontier, "s")
    with pytest.raises(StaleLeaseError):
        STEPS[step](world.frontier, stale)
    assert world.url(A)["state"] == "ready"


def test_no_request_starts_under_a_lease_that_ran_out(world: FrontierWorld) -> None:
    world.add(A)
    lease = world.lease()
    world.pass_seconds(LEASE_SECONDS + 1)
    with pytest.raises(StaleLeaseError):
        start(world.frontier, lease)


def test_no_request_starts_while_the_origin_is_paused(world: FrontierWorld) -> None:
    world.add(A)
    lease = world.lease()
    set_switch(world.frontier, ORIGIN, "paused", reason="complaint", actor="ann")
    permission = start(world.frontier, lease)
    assert (permission.is_granted, permission.switch) == (False, "paused")
    complete(world.frontier, lease, DONE)


def test_a_reason_is_a_code(world: FrontierWorld) -> None:
    world.add(A)
    lease = world.lease()
    with pytest.raises(UsageError, match="a code such as not_found"):
        release(world.frontier, lease, "Shut down!")


def test_the_gap_between_two_requests_of_one_lease_counts_from_the_first_request(world: FrontierWorld) -> None:
    """The worker dawdled 100 s between permission and connection."""
    world.add(A)
    lease = world.lease()
    assert start(world.frontier, lease).is_granted
    world.pass_seconds(130)
    requested(world.frontier, lease, 30 * SECOND_MICROS)
    waits = start(world.frontier, lease).wait_micros
    assert (GAP_SECONDS - 31) * SECOND_MICROS < waits <= (GAP_SECONDS - 30) * SECOND_MICROS + SECOND_MICROS


def test_what_a_lost_lease_says_of_its_request_changes_nothing(world: FrontierWorld) -> None:
    world.add(A)
    lease = world.lease()
    start(world.frontier, lease)
    release(world.frontier, lease, "stopped")
    before = world.origin(ORIGIN)["startable_at"]
    world.pass_seconds(100)
    requested(world.frontier, lease, 1)
    assert world.origin(ORIGIN)["startable_at"] == before


def test_the_event_of_an_end_says_its_detail(world: FrontierWorld) -> None:
    world.add(A)
    fail(world.frontier, world.lease(), Failure("refused", "robots_disallowed", detail="line 3"))
    assert why(world.frontier, identity(A)).events[-1]["detail"] == "line 3"


def test_a_visit_leaves_its_history_and_a_lie_is_told_once(world: FrontierWorld) -> None:
    """C23: the origin is distrusted with the commit that has the proof, and the next lease knows both."""
    world.add(A)
    lease = world.lease()
    seen = Seen(lease.claimed_at, "ab" * 32, 3, 1, 9, 7)
    lie = f'constant_validators "v" at {A}'
    complete(world.frontier, lease, Completion("fetched", 0, SECOND_MICROS, '"v"', seen=seen, lie=lie))
    world.pass_seconds(GAP_SECONDS + 2)
    again = world.lease()
    assert (again.seen, again.is_distrusted, again.claimed_at > lease.claimed_at) == (seen, True, True)
    complete(world.frontier, again, Completion("fetched", 0, SECOND_MICROS, lie="again"))
    assert world.url(A)["visited_at"] == again.claimed_at
    with world.frontier.reading() as connection:
        events = connection.execute(select(ORIGIN_EVENTS.c.reason).where(ORIGIN_EVENTS.c.event == "distrusted"))
        assert list(events.scalars()) == [lie]
