"""Which bodies are needed: no document loses its body, whoever commits and whoever deletes at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from crawler.frontier import keeping
from crawler.frontier.keeping import delete_old_documents, discard_suppressed, discard_unneeded
from crawler.frontier.leases import Completion, complete
from crawler.frontier.schema import DOCUMENTS
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.sweeping import sweep
from crawler.store import BodyMissingError, BodyStore
from domain.crawl_states import Lease
from domain.politeness import SECOND_MICROS
from domain.recrawl import after_visit
from tests.support.frontiers import FrontierWorld
from tests.support.stored_pages import BODY, commit, store_page

A, B = "https://a.example/", "https://b.example/"
DAY_SECONDS = 86_400


@pytest.fixture
def store(tmp_path: Path) -> BodyStore:
    return BodyStore(tmp_path / "bodies", 1_000_000)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_page_committed_beside_a_deletion_has_its_body(world: FrontierWorld, store: BodyStore, is_new: bool) -> None:
    """The deletion has looked when another worker commits the same body: the commit waits, and puts it again.

    So it does where the page is unchanged and has no new document.
    """
    world.add(A)
    digest = store_page(world, store)
    world.pass_seconds(10 * DAY_SECONDS)
    world.add(B)
    lease = world.lease()
    assert store.put(BODY) == digest, "it is there, and nothing is written"
    has_looked, is_committed = threading.Event(), threading.Event()

    def discard(one: str) -> int:
        has_looked.set()
        is_committed.wait(0.5)
        return store.discard(one)

    def commit_meanwhile() -> None:
        has_looked.wait(30)
        keep_body = partial(store.keep, digest, BODY)
        commit(world.frontier, lease, content_hash=digest, keep_body=keep_body, is_new=is_new)
        is_committed.set()

    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(commit_meanwhile)
        assert discard_unneeded(world.frontier, [digest], 5, discard)[0] == 1
        committing.result()
    assert store.get(digest) == BODY


def confirm_unmodified(world: FrontierWorld, lease: Lease) -> None:
    seen = after_visit(lease.seen, lease.claimed_at, None, is_unmodified=True)
    complete(world.frontier, lease, Completion("not_modified", 0, DAY_SECONDS * SECOND_MICROS, seen=seen))


def confirm_unchanged(world: FrontierWorld, lease: Lease) -> None:
    commit(world.frontier, lease, content_hash=str(lease.seen.content_hash), is_new=False)


CONFIRMING = pytest.mark.parametrize("confirm", [confirm_unmodified, confirm_unchanged])


def confirmed(world: FrontierWorld, store: BodyStore, confirm: Callable[[FrontierWorld, Lease], None]) -> str:
    """A page of A that was fetched 31 days ago, and found unchanged today; its body."""
    world.add(A)
    digest = store.put(BODY)
    commit(world.frontier, world.lease(), content_hash=digest, next_in_micros=SECOND_MICROS)
    world.pass_seconds(31 * DAY_SECONDS)
    sweep(world.frontier, "s")
    confirm(world, world.lease())
    delete_old_documents(world.frontier, 30)
    return digest


@CONFIRMING
def test_the_body_of_an_unchanged_page_stays(
    world: FrontierWorld, store: BodyStore, confirm: Callable[[FrontierWorld, Lease], None]
) -> None:
    """No document of the last days refers to it: the last visits found it as it was, and wrote none."""
    digest = confirmed(world, store, confirm)
    assert discard_unneeded(world.frontier, [digest], 5, store.discard) == (0, 0)
    assert store.get(digest) == BODY
    world.pass_seconds(6 * DAY_SECONDS)
    assert discard_unneeded(world.frontier, [digest], 5, store.discard)[0] == 1


@CONFIRMING
def test_an_opt_out_finds_the_body_of_an_unchanged_page(
    world: FrontierWorld, store: BodyStore, confirm: Callable[[FrontierWorld, Lease], None]
) -> None:
    digest = confirmed(world, store, confirm)
    suppression = suppress(world.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))
    assert discard_suppressed(world.frontier, suppression.suppression_id, "ann", store.discard) == 1
    with pytest.raises(BodyMissingError):
        store.get(digest)


@CONFIRMING
def test_an_opt_out_leaves_the_body_of_an_unchanged_page_of_others(
    world: FrontierWorld, store: BodyStore, confirm: Callable[[FrontierWorld, Lease], None]
) -> None:
    digest = confirmed(world, store, confirm)
    world.add(B)
    assert store_page(world, store) == digest
    suppression = suppress(world.frontier, OptOut("host", "b.example", "asked", "mail", "ann"))
    assert discard_suppressed(world.frontier, suppression.suppression_id, "ann", store.discard) == 0
    assert store.get(digest) == BODY


def test_many_bodies_go_in_portions(world: FrontierWorld, store: BodyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "CHUNK", 2)
    digests = set()
    for number in range(5):
        world.add(f"{A}{number}")
        digests.add(store_page(world, store, f"<p>{number}".encode()))
        world.pass_seconds(700)
    gone: list[str] = []
    suppression = suppress(world.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))

    def discard(digest: str) -> int:
        gone.append(digest)
        return store.discard(digest)

    assert discard_suppressed(world.frontier, suppression.suppression_id, "ann", discard) == 5
    assert (len(gone), set(gone)) == (5, digests)
    world.pass_seconds(31 * DAY_SECONDS)
    assert delete_old_documents(world.frontier, 30) == 5
    with world.frontier.reading() as connection:
        assert connection.execute(select(func.count()).select_from(DOCUMENTS)).scalar_one() == 0
