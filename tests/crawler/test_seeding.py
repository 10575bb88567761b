"""Seeds: each refused with its reason or taken in, and nothing at all of a wrong order."""

from __future__ import annotations

import pytest

from crawler.seeding import add_seeds
from domain.errors import UsageError
from tests.support.crawl_world import Crawl

A = "https://a.example/"


def test_bad_ones_are_refused_and_counted_the_others_taken_in(crawl: Crawl) -> None:
    told = add_seeds(crawl.frontier, ["mailto:x@y.z", A], "ann", 3, "landing")
    assert [(one.outcome, one.reason) for one in told] == [("refused", "scheme"), ("added", "")]
    (lease,) = crawl.claim()
    assert (lease.url, lease.source, lease.priority, lease.class_name) == (A, "seed", 3, "landing")


@pytest.mark.parametrize(("actor", "priority", "class_name"), [(" ", 0, "news"), ("ann", -1, "news"), ("ann", 0, "x")])
def test_a_wrong_order_takes_nothing_in(crawl: Crawl, actor: str, priority: int, class_name: str) -> None:
    with pytest.raises(UsageError):
        add_seeds(crawl.frontier, ["mailto:x@y.z", A], actor, priority, class_name)
    assert crawl.said(A) == (None, "")
