"""Budgets against traps: counted with what is taken in, cut with a reason and a sample, raised by a person."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from sqlalchemy import func, select

from crawler.frontier.adding import Added, Candidate, add_urls
from crawler.frontier.budgets import allow
from crawler.frontier.leases import Completion, complete
from crawler.frontier.reading import OriginStatus, status_of, why
from crawler.frontier.schema import BUCKETS, URLS
from crawler.frontier.suppressing import OptOut, delete_suppressed, suppress
from crawler.frontier.trap_schema import ALERTS, TRAP_ALLOWANCES, TRAP_COUNTS
from domain.errors import UsageError
from domain.traps import Limits
from tests.support.frontiers import POLICY, FrontierWorld, frontier_world, identity

A, B, ORIGIN = "https://a.example/", "https://b.example/", "https://a.example"
FACETS = [f"{A}shop?c={c}&s={s}&o={o}" for c, s, o in product(range(10), repeat=3)]
LIMITS = Limits(depth=5, facet_urls=100, query_values=50)


@pytest.fixture
def narrow(frontier_url: str) -> Any:
    """A frontier with small limits."""
    with frontier_world(frontier_url, replace(POLICY, limits=LIMITS)) as world:
        yield world


def link(world: FrontierWorld, *urls: str, depth: int = 1, source: str = "link") -> Counter[str]:
    """Takes in what pages name; how often each outcome or reason."""
    candidates = [Candidate(identity(url), url, source, 0, depth) for url in urls]
    return Counter(one.reason or one.outcome for one in add_urls(world.frontier, candidates, "w"))


def status(world: FrontierWorld) -> OriginStatus:
    return next(one for one in status_of(world.frontier, ORIGIN).origins)


def test_facets_are_cut_counted_and_sampled(narrow: FrontierWorld) -> None:
    """C16: three facets with ten values each; the rest of the site, and other origins, are not touched."""
    world = narrow
    assert link(world, *FACETS) == {"added": 100, "trap_facets": 900}
    assert link(world, A + "page", B + "shop?a=1&b=2", FACETS[0]) == {"added": 2, "known": 1}
    (cut,) = status(world).cuts
    assert (cut["reason"], cut["cut_count"], cut["samples"]) == ("trap_facets", 900, FACETS[100:105])
    assert [one["reason"] for one in why(world.frontier, identity(FACETS[100])).refusals] == ["trap_facets"]
    told = why(world.frontier, identity(FACETS[-1]))
    assert told.obstacles[0] == "its origin is cut by trap_facets, 900 times so far"
    assert told.refusals == [], "one of many leaves no row of its own"


def test_growing_relative_links_are_cut(narrow: FrontierWorld) -> None:
    """C16: ``a/`` links to ``a/``."""
    url, seen = A, []
    for depth in range(1, 5):
        url += "a/"
        seen += link(narrow, url, depth=depth)
    assert seen == ["added", "added", "trap_repetition", "trap_repetition"]
    assert link(narrow, A + "deep", depth=6) == {"trap_depth": 1}


def test_one_alert_for_an_origin_until_somebody_has_looked(narrow: FrontierWorld) -> None:
    world = narrow
    link(world, *FACETS[:199])
    assert status_of(world.frontier, ORIGIN).alerts == [], "99 cuts"
    for _ in range(3):
        link(world, *FACETS)
    link(world, A + "a/a/a/")
    (alert,) = status_of(world.frontier, ORIGIN).alerts
    assert (alert["kind"], alert["subject"]) == ("trap", ORIGIN)
    allow(world.frontier, ORIGIN, "trap_facets", 300, reason="a real shop", actor="ann")
    assert status_of(world.frontier, ORIGIN).alerts == []
    link(world, *FACETS)
    assert len(status_of(world.frontier, ORIGIN).alerts) == 1
    with world.frontier.reading() as connection:
        assert connection.execute(select(func.count()).select_from(ALERTS)).scalar_one() == 2


def test_a_person_raises_a_limit(narrow: FrontierWorld) -> None:
    """With an audited row; the last one holds, and only for that origin and trap."""
    world = narrow
    world.add(A)
    complete(world.frontier, world.lease(), Completion("fetched", 0, 1, '"v"'))
    link(world, *FACETS)
    allow(world.frontier, ORIGIN, "trap_facets", 150, reason="a shop", actor="ann")
    assert link(world, *FACETS) == {"known": 100, "added": 50, "trap_facets": 850}
    allow(world.frontier, ORIGIN, "trap_facets", None, reason="all of it", actor="bob")
    assert link(world, *FACETS) == {"known": 150, "added": 850}
    assert link(world, A + "a/a/a") == {"trap_repetition": 1}
    assert world.url(A)["etag"] is None, "its links come again with the next visit"
    with world.frontier.reading() as connection:
        rows = connection.execute(select(TRAP_ALLOWANCES).order_by(TRAP_ALLOWANCES.c.allowance_id)).all()
    assert [(row.trap, row.reason, row.actor) for row in rows] == [
        ("trap_facets", "a shop", "ann"),
        ("trap_facets", "all of it", "bob"),
    ]
    told = [one["reason"] for one in why(world.frontier, identity(A)).origin_events if one["event"] == "allowed"]
    assert told == ["trap_facets up to 150: a shop", "trap_facets without limit: all of it"]


def test_validators_are_believed_again(world: FrontierWorld) -> None:
    world.add(A)
    complete(world.frontier, world.lease(), Completion("fetched", 0, 1, lie=f"constant_validators x at {A}"))
    assert status(world).distrusted_at is not None
    allow(world.frontier, ORIGIN, "validators", None, reason="they mended it", actor="ann")
    assert status(world).distrusted_at is None


@pytest.mark.parametrize(
    ("origin", "trap", "said"),
    [(ORIGIN, "gravity", "reason 'gravity'"), ("https://nobody.example", "trap_depth", "no origin")],
)
def test_nonsense_is_not_allowed(world: FrontierWorld, origin: str, trap: str, said: str) -> None:
    world.add(A)
    with pytest.raises(UsageError, match=said):
        allow(world.frontier, origin, trap, None, reason="why", actor="ann")


def test_seeds_are_counted_and_never_cut(narrow: FrontierWorld) -> None:
    assert link(narrow, *FACETS[:150], source="seed") == {"added": 150}
    assert link(narrow, *FACETS[:151]) == {"known": 150, "trap_facets": 1}


def test_workers_that_add_beside_each_other_keep_a_limit(narrow: FrontierWorld) -> None:
    """The counts change with what is taken in, so together they take in no more than one would."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: link(narrow, *FACETS[number * 200 : number * 200 + 300]), range(4)))
    with narrow.frontier.reading() as connection:
        assert connection.execute(select(func.count()).select_from(URLS)).scalar_one() == 100
        counted = select(TRAP_COUNTS.c.url_count).where(TRAP_COUNTS.c.reason == "trap_origin")
        assert connection.execute(counted).scalar_one() == 100


def test_an_opt_out_deletes_samples(narrow: FrontierWorld) -> None:
    world = narrow
    link(world, *FACETS)
    suppression = suppress(world.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))
    assert delete_suppressed(world.frontier, suppression.suppression_id, "ann")["samples"] == 1
    (cut,) = status(world).cuts
    assert (cut["cut_count"], cut["samples"]) == (900, [])


def test_what_is_known_is_told_as_known(narrow: FrontierWorld) -> None:
    """Even if it would be cut today: it was taken in before."""
    link(narrow, A + "x", source="seed", depth=0)
    candidates = [Candidate(identity(A + "x"), A + "x", "link", 0, 9)]
    assert list(add_urls(narrow.frontier, candidates, "w")) == [Added(A + "x", "known")]
    with narrow.frontier.reading() as connection:
        assert connection.execute(select(BUCKETS.c.ready_count)).scalar_one() == 1
