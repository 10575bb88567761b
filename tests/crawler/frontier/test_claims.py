"""Claims: the class whose turn it is, its longest waiting origin, that origin's best URL; the clock moves with them."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
from sqlalchemy import func, select

from crawler.frontier.database import Policy
from crawler.frontier.events import STALE_COMMIT
from crawler.frontier.leases import Completion, complete
from crawler.frontier.schema import URL_EVENTS, URLS
from crawler.frontier.sweeping import sweep
from domain.errors import IntegrityError, UsageError
from domain.politeness import SECOND_MICROS, START_SLACK_MICROS
from domain.receipts import receipt
from tests.support.crawl_workers import run_workers
from tests.support.frontiers import POLICY, FrontierWorld, frontier_world

A, B = "https://a.example/", "https://b.example/"
DONE = Completion("fetched", 0)


def test_a_claim_is_a_lease_with_the_next_fence(world: FrontierWorld) -> None:
    world.add(A, priority=3, depth=2)
    before = world.now()
    lease = world.lease()
    assert (lease.url, lease.raw_url, lease.origin, lease.owner) == (A, A, "https://a.example", "w1")
    assert (lease.fence, lease.attempt_count, lease.priority, lease.depth) == (1, 1, 3, 2)
    assert before <= lease.expires_at - POLICY.lease_micros <= world.now()
    row, origin = world.url(A), world.origin(lease.origin)
    assert (row["state"], row["reason"], row["lease_owner"], row["fence"]) == ("leased", "claimed", "w1", 1)
    assert (origin["in_flight_count"], origin["ready_count"], origin["ready_at"]) == (1, 0, None)
    assert origin["claimable_at"] == lease.expires_at - POLICY.lease_micros + POLICY.gap_micros + START_SLACK_MICROS
    assert world.events(A) == [("ready", "added"), ("leased", "claimed")]


def test_nothing_is_claimed_twice_nor_beyond_the_cap(world: FrontierWorld) -> None:
    world.add(A, A + "2")
    assert len(world.claim(most=10)) == 1
    world.pass_seconds(700)
    assert world.claim("w2") == []


def test_the_gap_holds_between_claims(world: FrontierWorld) -> None:
    world.add(A, A + "2")
    complete(world.frontier, world.lease(), DONE)
    world.pass_seconds(500)
    assert world.claim() == []
    world.pass_seconds(101)
    assert world.lease().url == A + "2"


def test_the_best_url_of_an_origin_comes_first(world: FrontierWorld) -> None:
    """Priority p is worth p minutes of waiting, so what is unimportant does not starve."""
    world.add(A + "old")
    world.pass_seconds(10 * 60)
    world.add(A + "high", priority=11)
    world.add(A + "low", priority=9)
    order = []
    for _ in range(3):
        lease = world.lease()
        order.append(lease.url.removeprefix(A))
        complete(world.frontier, lease, DONE)
        world.pass_seconds(601)
    assert order == ["high", "old", "low"]


def test_a_big_host_does_not_starve_the_rest(world: FrontierWorld) -> None:
    """C19: one origin with many URLs, and small ones that came later."""
    world.add(*[f"{A}{number}" for number in range(300)], priority=1_000)
    world.add(*[f"https://small{number}.example/" for number in range(20)])
    claimed: Counter[str] = Counter()
    for _ in range(3):
        for lease in world.claim(most=100):
            claimed[lease.origin] += 1
            complete(world.frontier, lease, DONE)
        world.pass_seconds(601)
    assert claimed == {"https://a.example": 3, **{f"https://small{number}.example": 1 for number in range(20)}}


def test_the_origin_that_waited_longest_comes_first(world: FrontierWorld) -> None:
    world.add(B)
    world.pass_seconds(1)
    world.add(A, priority=1_000)
    with world.frontier.writing() as connection:
        connection.exec_driver_sql(
            "UPDATE buckets SET claimable_at = CASE key WHEN 'https://b.example' THEN 1 ELSE 2 END"
        )
    assert [world.lease().url, world.lease("w2").url] == [B, A]


def test_each_class_has_its_share(world: FrontierWorld) -> None:
    """News 4, documentation 1: of ten claims eight and two, while both have enough."""
    world.add(*[f"https://n{number}.example/" for number in range(20)], class_name="news")
    world.add(*[f"https://d{number}.example/" for number in range(20)], class_name="documentation")
    kinds = Counter(world.lease().origin.removeprefix("https://")[0] for _ in range(10))
    assert kinds == {"n": 8, "d": 2}
    rest = Counter(lease.origin.removeprefix("https://")[0] for lease in world.claim(most=100))
    assert rest == {"n": 12, "d": 18}


def test_origins_of_a_group_share_its_bucket(frontier_url: str) -> None:
    """One request in flight, and one each gap, for all origins of a registrable domain; the others wait in a queue."""
    policy = Policy(POLICY.gap_micros, 1, POLICY.lease_micros, is_grouped=True)
    with frontier_world(frontier_url, policy) as world:
        world.add(*[f"https://{name}.big.example.org/" for name in "abcd"], A)
        world.add(*[f"https://{name}.example.org/" for name in "efgh"])
        leases = world.claim(most=10)
        assert sorted(lease.url for lease in leases if "example.org" not in lease.url) == [A]
        assert len(leases) == 2
        group = world.origin("example.org")
        assert (group["kind"], group["in_flight_count"]) == ("registrable_domain", 1)
        for lease in leases:
            complete(world.frontier, lease, DONE)
        assert world.origin("example.org")["in_flight_count"] == 0
        for _ in range(7):
            world.pass_seconds(601)
            leases = world.claim(most=10)
            assert len(leases) == 1
            complete(world.frontier, leases[0], DONE)
        world.pass_seconds(601)
        assert world.claim(most=10) == []


def test_a_claim_sweeps_when_nothing_is_ready(world: FrontierWorld) -> None:
    world.add(A)
    complete(world.frontier, world.lease(), Completion("fetched", 0, next_in_micros=3_600 * SECOND_MICROS))
    world.pass_seconds(3_000)
    assert world.claim() == []
    world.pass_seconds(601)
    assert world.lease().fence == 2


@pytest.mark.parametrize("most", [0, 101])
def test_a_claim_is_bounded(world: FrontierWorld, most: int) -> None:
    with pytest.raises(UsageError, match=f"{most} claims; expected 1 to 100"):
        world.claim(most=most)


def test_a_count_that_is_wrong_stops_claims(world: FrontierWorld) -> None:
    world.add(A)
    with world.frontier.writing() as connection:
        connection.exec_driver_sql("UPDATE urls SET state = 'done'")
    with pytest.raises(IntegrityError, match="1 origins count ready URLs, and 0 have one"):
        world.claim()
    with world.frontier.writing() as connection:
        connection.exec_driver_sql("UPDATE buckets SET ready_count = 0")


WORKERS, ORIGINS, URLS_EACH = 16, 6, 4
HASTY = Policy(gap_micros=SECOND_MICROS // 10, in_flight_cap=1, lease_micros=SECOND_MICROS)
END_OF_TIME = 2**62


def test_many_workers_are_as_polite_as_one(frontier_url: str) -> None:
    """Law 12: sixteen workers, some killed, some frozen past their lease, and a clock that is set back meanwhile.

    Judged by what the origins saw in real time: no two requests at once, none sooner than the gap, each URL fetched
    to its end once. (C9: whoever wakes up too late changes nothing, and each time is counted.)
    """
    with frontier_world(frontier_url, HASTY) as world, ThreadPoolExecutor(1) as pool:
        origins = [f"https://o{number}.example" for number in range(ORIGINS)]
        world.add(*[f"{origin}/{number}" for origin in origins for number in range(URLS_EACH)])
        is_done = Event()
        running = pool.submit(run_workers, world.frontier, WORKERS, is_done)
        try:
            left = ORIGINS * URLS_EACH
            while left and not running.done():
                time.sleep(0.2)
                world.pass_seconds(-0.05)
                with world.frontier.writing() as connection:  # what waits for its next attempt waits no longer
                    connection.execute(URLS.update().where(URLS.c.state == "waiting").values(due_at=0))
                with world.frontier.reading() as connection:
                    is_open = URLS.c.state.not_in(["done", "failed"])
                    left = connection.execute(select(func.count()).where(is_open)).scalar_one()
        finally:
            is_done.set()
        journal = running.result()
        receipts = [
            receipt(origin, (0, END_OF_TIME), seen, gap_micros=HASTY.gap_micros, in_flight_cap=HASTY.in_flight_cap)
            for origin, seen in journal.requests.items()
        ]
        assert [made for made in receipts if not made.is_polite] == []
        assert len(receipts) == ORIGINS
        assert set(journal.completed.values()) == {1}
        with world.frontier.reading() as connection:
            stale = select(func.count()).where(URL_EVENTS.c.reason == STALE_COMMIT)
            assert connection.execute(stale).scalar_one() == journal.stale_count
            done = set(connection.execute(select(URLS.c.url).where(URLS.c.state == "done")).scalars())
        assert done == journal.completed.keys()
        world.pass_seconds(10)
        sweep(world.frontier, "sweeper")


@pytest.mark.parametrize(("per_mille", "order"), [(1_000, ["new", "seen"]), (0, ["seen", "new"])])
def test_a_share_of_claims_is_for_urls_that_were_never_visited(
    frontier_url: str, per_mille: int, order: list[str]
) -> None:
    """The page that is due again has waited longer; a reserved claim takes the new one."""
    with frontier_world(frontier_url, replace(POLICY, discovery_per_mille=per_mille)) as world:
        world.add(A + "seen", priority=5)
        complete(world.frontier, world.lease(), Completion("fetched", 0, next_in_micros=SECOND_MICROS))
        world.pass_seconds(601)
        world.add(A + "new")
        sweep(world.frontier, "s")
        claimed = []
        for _ in order:
            lease = world.lease()
            claimed.append(lease.url.removeprefix(A))
            assert (lease.seen.visited_at is None) is (claimed[-1] == "new")
            complete(world.frontier, lease, DONE)
            world.pass_seconds(601)
        assert claimed == order
