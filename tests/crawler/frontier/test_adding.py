"""Taking in URLs: each once, refused ones with their reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from crawler.frontier.adding import Added, Candidate, add_urls, refuse
from crawler.frontier.reading import why
from crawler.frontier.schema import URLS
from crawler.frontier.suppressing import OptOut, suppress
from domain.errors import UsageError
from tests.support.frontiers import FrontierWorld, identity

A = "https://a.example/"


def test_a_url_is_taken_in_once(world: FrontierWorld) -> None:
    assert world.add(A, A + "2", A) == [Added(A, "added"), Added(A + "2", "added"), Added(A, "known")]
    assert world.add(A, A + "3") == [Added(A, "known"), Added(A + "3", "added")]
    assert world.origin("https://a.example")["ready_count"] == 3


def test_two_workers_add_the_same(world: FrontierWorld) -> None:
    """C17: each URL has one row, and one of the workers is told that it was new."""
    urls = [f"https://h{number % 7}.example/{number}" for number in range(600)]

    def add(is_backwards: bool) -> list[Added]:
        ordered = urls[::-1] if is_backwards else urls
        candidates = [Candidate(identity(url), url, "link") for url in ordered]
        return list(add_urls(world.frontier, candidates, "w"))

    with ThreadPoolExecutor(4) as pool:
        results = [added for found in pool.map(add, [False, True, False, True]) for added in found]
    assert sorted(one.url for one in results if one.outcome == "added") == sorted(urls)
    with world.frontier.reading() as connection:
        assert connection.execute(select(func.count()).select_from(URLS)).scalar_one() == len(urls)


def test_the_class_and_the_priority_of_the_first_count(world: FrontierWorld) -> None:
    world.add(A, class_name="landing", priority=5)
    world.add(A, A + "2", class_name="news", priority=9)
    assert world.origin("https://a.example")["class_name"] == "landing"
    assert (world.url(A)["priority"], world.url(A + "2")["priority"]) == (5, 9)


def test_long_urls_are_known_by_their_hash(world: FrontierWorld) -> None:
    long = A + "x" * 7_000
    assert world.add(long, long + "y") == [Added(long, "added"), Added(long + "y", "added")]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"priority": -1}, "priority -1"),
        ({"priority": 1_001}, "priority 1001"),
        ({"depth": -1}, "depth -1"),
        ({"class_name": "gossip"}, "class 'gossip'"),
    ],
)
def test_what_makes_no_sense_is_refused(world: FrontierWorld, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        world.add(A, **fields)


def test_suppressed_urls_are_refused_and_counted(world: FrontierWorld) -> None:
    suppress(world.frontier, OptOut("prefix", A + "private/", "asked", "mail from the domain", "ann"))
    assert world.add(A + "private/1", A + "public") == [
        Added(A + "private/1", "refused", "suppressed_by_prefix"),
        Added(A + "public", "added"),
    ]
    (refusal,) = why(world.frontier, identity(A + "private/1")).refusals
    assert (refusal["reason"], refusal["suppression_id"], refusal["source"]) == ("suppressed_by_prefix", 1, "seed")


def test_what_is_no_url_is_recorded(world: FrontierWorld) -> None:
    refuse(world.frontier, "mailto:x@a.example", "scheme", "seed")
    (refusal,) = why(world.frontier, identity("mailto:x@a.example")).refusals
    assert (refusal["reason"], refusal["suppression_id"]) == ("scheme", None)
