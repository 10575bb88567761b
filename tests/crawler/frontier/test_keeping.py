"""Which bodies are needed: no document loses its body, whoever commits and whoever deletes at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from crawler.frontier import keeping
from crawler.frontier.keeping import delete_old_documents, discard_suppressed, discard_unneeded
from crawler.frontier.schema import DOCUMENTS
from crawler.frontier.suppressing import OptOut, suppress
from crawler.store import BodyStore
from tests.support.frontiers import FrontierWorld
from tests.support.stored_pages import BODY, commit, store_page

A, B = "https://a.example/", "https://b.example/"
DAY_SECONDS = 86_400


@pytest.fixture
def store(tmp_path: Path) -> BodyStore:
    return BodyStore(tmp_path / "bodies", 1_000_000)


def test_a_document_committed_beside_a_deletion_has_its_body(world: FrontierWorld, store: BodyStore) -> None:
    """The deletion has looked when another worker commits the same body: the commit waits, and puts it again."""
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
        commit(world.frontier, lease, content_hash=digest, keep_body=partial(store.keep, digest, BODY))
        is_committed.set()

    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(commit_meanwhile)
        assert discard_unneeded(world.frontier, [digest], 5, discard)[0] == 1
        committing.result()
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
