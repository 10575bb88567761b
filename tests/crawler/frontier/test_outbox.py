"""The outbox: written with what it tells of, read in bounded portions, gone once it is delivered."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from crawler.frontier import outbox, suppressing
from crawler.frontier.leases import Completion, Failure, complete, fail, release
from crawler.frontier.outbox import acknowledge, undelivered, undelivered_count
from crawler.frontier.reading import status_of
from crawler.frontier.schema import OUTBOX
from crawler.frontier.suppressing import OptOut, delete_suppressed, suppress
from crawler.frontier.sweeping import sweep
from domain.crawl_states import StaleLeaseError
from domain.suppressions import SuppressionKind
from tests.support.frontiers import LEASE_SECONDS, FrontierWorld
from tests.support.stored_pages import HASH, commit

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


def outcomes(world: FrontierWorld) -> list[tuple[str, str]]:
    return [(event.payload["outcome"], event.payload["reason"]) for event in undelivered(world.frontier)]


def test_each_outcome_has_its_event_and_a_release_has_none(world: FrontierWorld) -> None:
    world.add(A)
    commit(world.frontier, world.lease())
    world.add(B)
    fail(world.frontier, world.lease(), Failure("final", "http_410"))
    world.add(C)
    release(world.frontier, world.lease(), "worker_stopped")
    world.pass_seconds(700)
    complete(world.frontier, world.lease(), Completion("not_modified", 0))
    assert outcomes(world) == [("page", "fetched"), ("final", "http_410"), ("not_modified", "not_modified")]
    (first, *_) = undelivered(world.frontier)
    assert first.payload["document"]["content_hash"] == HASH
    assert len({event.event_id for event in undelivered(world.frontier)}) == 3


def test_a_stale_commit_tells_nothing(world: FrontierWorld) -> None:
    """C9"""
    world.add(A)
    slept = world.lease()
    world.pass_seconds(LEASE_SECONDS + 601)
    sweep(world.frontier, "s")
    for end in (
        lambda: commit(world.frontier, slept),
        lambda: fail(world.frontier, slept, Failure("final", "http_410")),
        lambda: complete(world.frontier, slept, Completion("fetched", 0)),
    ):
        with pytest.raises(StaleLeaseError):
            end()
    assert outcomes(world) == []


def test_a_commit_that_fails_at_the_last_moment_leaves_no_event_and_no_document(world: FrontierWorld) -> None:
    world.add(A)
    lease = world.lease()

    def full() -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        commit(world.frontier, lease, keep_body=full)
    assert (outcomes(world), world.url(A)["state"]) == ([], "leased")
    commit(world.frontier, lease)
    assert outcomes(world) == [("page", "fetched")]


def test_a_portion_is_bounded(world: FrontierWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (A, B, C):
        world.add(url)
        commit(world.frontier, world.lease())
    monkeypatch.setattr(outbox, "MOST_EVENTS", 2)
    portion = undelivered(world.frontier)
    assert len(portion) == 2
    acknowledge(world.frontier, [event.outbox_id for event in portion])
    acknowledge(world.frontier, [event.outbox_id for event in portion])
    assert undelivered_count(world.frontier) == 1
    monkeypatch.setattr(outbox, "MOST_PAYLOAD_BYTES", 1)
    world.add("https://d.example/")
    commit(world.frontier, world.lease())
    assert len(undelivered(world.frontier)) == 1, "one that is too large by itself is delivered all the same"


def test_an_opt_out_takes_what_was_not_delivered(world: FrontierWorld) -> None:
    for url in (A, B):
        world.add(url)
        commit(world.frontier, world.lease())
    suppression = suppress(world.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))
    assert delete_suppressed(world.frontier, suppression.suppression_id, "ann")["outbox"] == 1
    with world.frontier.reading() as connection:
        left = connection.execute(select(OUTBOX.c.url_id)).scalars().all()
    assert left == [world.url(B)["url_id"]]


@pytest.mark.parametrize("kind", ["url", "host"])
def test_of_a_suppressed_page_nothing_is_told(world: FrontierWorld, kind: SuppressionKind) -> None:
    """It was fetched before the opt-out, and is not deleted yet."""
    for url in (A, B):
        world.add(url)
        commit(world.frontier, world.lease())
    suppress(world.frontier, OptOut(kind, A if kind == "url" else "a.example", "asked", "mail", "ann"))
    assert [event.payload["url"] for event in undelivered(world.frontier)] == [B]


def test_a_host_is_silent_before_each_of_its_pages_is_marked(
    world: FrontierWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add(A)
    commit(world.frontier, world.lease())
    monkeypatch.setattr(suppressing, "_mark_some", lambda *_of_it: False)  # it died there
    suppress(world.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))
    assert world.url(A)["state"] == "done"
    assert undelivered(world.frontier) == []


def test_stages_are_counted_apart(world: FrontierWorld) -> None:
    world.add(A, A + "x", A + "y")
    commit(world.frontier, world.lease())
    for failed in (False, True):
        world.pass_seconds(601)
        if failed:
            fail(world.frontier, world.lease(), Failure("final", "http_410"))
        else:
            commit(world.frontier, world.lease(), body=b"<meta name=robots content=noindex>x")
    (origin,) = status_of(world.frontier, "a.example").origins
    assert origin.stage_counts == {
        "fetch": {"fetched": 2, "http_410": 1},
        "parse": {"parsed": 2},
        "store": {"stored": 2},
        "index": {"index_ready": 1, "noindex": 1},
    }
