"""What the frontier answers, for JSON: instants as such, at every depth."""

from __future__ import annotations

from crawler.frontier.reading import status_of, why
from crawler.frontier.suppressing import OptOut, delete_suppressed, suppress
from crawler.telling import status_object, timed, why_object
from crawler.urls import normalise
from domain.buckets import from_unix_micros
from tests.support.crawl_world import Crawl

A = "https://a.example/"


def test_instants_are_instants_and_0_is_none() -> None:
    assert timed({"happened_at": 1_000_000, "until_at": 0, "fence": 7}) == {
        "happened_at": from_unix_micros(1_000_000),
        "until_at": None,
        "fence": 7,
    }


def test_a_status_and_a_why_say_so_in_their_lists(crawl: Crawl) -> None:
    crawl.seed(A)
    suppression = suppress(crawl.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))
    delete_suppressed(crawl.frontier, suppression.suppression_id, "ann")
    told = status_object(status_of(crawl.frontier, "a.example"))
    assert told["origins"][0]["origin"] == A[:-1]
    (kept,) = told["suppressions"]
    at = from_unix_micros(0)
    assert kept["suppressed_at"] > at
    assert all(one["deleted_at"] > at for one in kept["deletions"])
    chain = why_object(why(crawl.frontier, normalise(A)))
    assert chain["origin_events"][0]["happened_at"] > at
    assert chain["suppressions"] == [kept]
