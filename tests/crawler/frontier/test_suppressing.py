"""Opt-outs: blocked at once, deleted with a trail, remembered for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from crawler.frontier.adding import Candidate, add_urls
from crawler.frontier.leases import Completion, complete, start
from crawler.frontier.reading import status_of, why
from crawler.frontier.requests import log_request
from crawler.frontier.schema import REQUESTS, URL_EVENTS, URLS
from crawler.frontier.suppressing import OptOut, delete_suppressed, suppress
from crawler.frontier.sweeping import sweep
from domain.crawl_states import StaleLeaseError
from domain.errors import UsageError
from domain.receipts import RequestRow
from domain.suppressions import SuppressionKind
from tests.support.frontiers import LEASE_SECONDS, FrontierWorld, identity

A, B, C = "https://a.big.example/", "https://b.big.example/", "https://c.example/"
DONE = Completion("fetched", 0)


def opt_out(kind: SuppressionKind, pattern: str) -> OptOut:
    return OptOut(kind, pattern, "asked", "mail from the owner", "ann")


CASES: dict[SuppressionKind, tuple[str, set[str]]] = {
    "url": (A + "x", {A + "x"}),
    "prefix": (A + "x", {A + "x", A + "xy"}),
    "host": ("a.big.example", {A, A + "x", A + "xy"}),
    "registrable_domain": ("big.example", {A, A + "x", A + "xy", B + "x"}),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_is_covered_is_not_claimed_again(world: FrontierWorld, kind: SuppressionKind) -> None:
    pattern, covered = CASES[kind]
    everything = {A, A + "x", A + "xy", B + "x", C}
    world.add(*sorted(everything))
    suppress(world.frontier, opt_out(kind, pattern))
    assert {url for url in everything if world.url(url)["state"] == "suppressed"} == covered
    claimed = set()
    for _ in range(4):
        for lease in world.claim(most=5):
            claimed.add(lease.url)
            complete(world.frontier, lease, DONE)
        world.pass_seconds(601)
    assert claimed == everything - covered


@pytest.mark.parametrize(("kind", "pattern"), [("url", A), ("prefix", A), ("host", "a.big.example")])
def test_who_holds_a_lease_commits_nothing(world: FrontierWorld, kind: SuppressionKind, pattern: str) -> None:
    world.add(A)
    lease = world.lease()
    suppress(world.frontier, opt_out(kind, pattern))
    with pytest.raises(StaleLeaseError):
        start(world.frontier, lease)
    with pytest.raises(StaleLeaseError):
        complete(world.frontier, lease, DONE)
    assert world.origin(A[:-1])["in_flight_count"] == 1
    world.pass_seconds(LEASE_SECONDS + 1)
    sweep(world.frontier, "s")
    assert world.origin(A[:-1])["in_flight_count"] == 0
    assert (world.url(A)["state"], world.claim()) == ("suppressed", [])


def test_suppressing_again_is_the_same_suppression(world: FrontierWorld) -> None:
    first = suppress(world.frontier, opt_out("host", "a.big.example"))
    assert suppress(world.frontier, opt_out("host", "a.big.example")) == first


def test_a_suppression_outlives_what_is_deleted(world: FrontierWorld) -> None:
    world.add(A, A + "x", C)
    lease = next(one for one in world.claim(most=2) if one.url == A)
    log_request(world.frontier, lease, RequestRow(1, 2, 200))
    suppression = suppress(world.frontier, opt_out("host", "a.big.example"))
    assert delete_suppressed(world.frontier, suppression.suppression_id, "ann")["urls"] == 1, "the other is in flight"
    world.pass_seconds(LEASE_SECONDS + 1)
    sweep(world.frontier, "s")
    deleted = delete_suppressed(world.frontier, suppression.suppression_id, "bob")
    assert (deleted["urls"], deleted["requests"]) == (1, 1)
    with world.frontier.reading() as connection:
        left = [connection.execute(select(func.count()).select_from(one)).scalar_one() for one in (URLS, REQUESTS)]
        about = connection.execute(select(URL_EVENTS.c.url_id).distinct()).scalars().all()
    assert left == [1, 0]
    assert about == [world.url(C)["url_id"]]
    assert world.add(A)[0].reason == "suppressed_by_host"
    (kept,) = status_of(world.frontier, "a.big.example").suppressions
    assert (kept["verification"], kept["actor"], kept["refused_count"]) == ("mail from the owner", "ann", 1)
    assert [(row["data_class"], row["row_count"], row["actor"]) for row in kept["deletions"]][-5:] == [
        ("requests", 1, "bob"),
        ("url_events", deleted["url_events"], "bob"),
        ("listings", 0, "bob"),
        ("urls", 1, "bob"),
        ("samples", 0, "bob"),
    ]
    assert why(world.frontier, identity(A)).obstacles == ["suppressed by host a.big.example: asked"]


def test_nothing_slips_in_beside_a_suppression(world: FrontierWorld) -> None:
    """Four workers name URLs of a host while it opts out; whoever comes first, none stays claimable."""

    def add(worker: int) -> None:
        for number in range(15):
            url = f"{A}{worker}/{number}"
            list(add_urls(world.frontier, [Candidate(identity(url), url, "link")], "w"))

    with ThreadPoolExecutor(5) as pool:
        adding = [pool.submit(add, worker) for worker in range(4)]
        suppressing = pool.submit(suppress, world.frontier, opt_out("prefix", A))
        for one in (*adding, suppressing):
            one.result()
    with world.frontier.reading() as connection:
        states = set(connection.execute(select(URLS.c.state)).scalars())
    assert states <= {"suppressed"}
    assert world.claim() == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (OptOut("host", "A.Example", "asked", "mail", "ann"), "a name in small letters"),
        (OptOut("prefix", "https://a.example", "asked", "mail", "ann"), "a host and a path"),
        (OptOut("host", "a.example", "asked", " ", "ann"), "verification ' '"),
        (OptOut("host", "a.example", "asked", "mail", ""), "no actor"),
    ],
)
def test_an_opt_out_says_who_and_how_verified(world: FrontierWorld, asked: OptOut, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        suppress(world.frontier, asked)


def test_only_what_was_suppressed_is_deleted(world: FrontierWorld) -> None:
    with pytest.raises(UsageError, match="no suppression 7"):
        delete_suppressed(world.frontier, 7, "ann")
