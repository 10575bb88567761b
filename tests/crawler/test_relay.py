"""The relay: from the frontier's outbox into the Delta tables, whatever dies in between."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest

from crawler.frontier.outbox import undelivered, undelivered_count
from crawler.relay import relay
from domain.errors import WriterBusyError
from domain.settings import Settings
from tests.support.crawl_world import ROBOTS, Crawl, page
from tests.support.hostile_site import HostileSite, answer
from tests.support.stored_pages import HASH, commit, fail_one, lease_of
from warehouse.crawl_documents import read_crawl
from warehouse.crawl_rows import CRAWL_LOCK
from warehouse.layout import open_table
from warehouse.locks import writer_lock

ALWAYS = (date(2000, 1, 1), date(2100, 1, 1))
A, B = "https://a.example/", "https://b.example/x"
STEPS = ("documents", "links", "fetch_log", "acknowledged")


class KilledError(Exception):
    """The process that died."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def told(settings: Settings, name: str, *columns: str) -> list[tuple[object, ...]]:
    rows = read_crawl(settings, name, *ALWAYS).sort_by([(columns[0], "ascending")]).to_pylist()
    return [tuple(row[column] for column in columns) for row in rows]


def test_every_outcome_is_told_once(crawl: Crawl, settings: Settings) -> None:
    """A page with links, a 404, a redirect and a robots refusal, fetched by a real worker."""

    async def run() -> HostileSite:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS}) as site:
            site.behaviours |= {"/": page("/a", "/gone", "/moved", "/private/x", "mailto:x@y.z"), "/a": page()}
            site.behaviours |= {"/gone": answer(status="410 Gone"), "/moved": answer(status="302 F", location="/a")}
            crawl.seed(f"{site.origin}/")
            await crawl.run(site)
            return site

    origin = asyncio.run(run()).origin
    done = relay(crawl.frontier, settings)
    assert (done.event_count, done.document_count, done.link_count, done.batch_count) == (5, 2, 4, 1)
    assert told(settings, "fetch_log", "url", "outcome", "reason", "status_number") == [
        (f"{origin}/", "page", "fetched", 200),
        (f"{origin}/a", "page", "fetched", 200),
        (f"{origin}/gone", "final", "http_410", 410),
        (f"{origin}/moved", "redirected", "redirected", 302),
        (f"{origin}/private/x", "refused", "robots_disallowed", None),
    ]
    assert told(settings, "documents", "url", "title", "link_count", "index_reason") == [
        (f"{origin}/", "a page", 4, "index_ready"),
        (f"{origin}/a", "a page", 0, "no_text"),
    ]
    assert told(settings, "links", "link_number", "target_url", "kind") == [
        (number, f"{origin}/{path}", "a") for number, path in enumerate(("a", "gone", "moved", "private/x"), 1)
    ]
    assert undelivered_count(crawl.frontier) == 0
    assert relay(crawl.frontier, settings).event_count == 0
    assert open_table(settings, "fetch_log").version() == 1, "of nothing there is no commit"


@pytest.mark.parametrize("step", STEPS)
def test_a_relay_that_dies_after_any_step_loses_and_doubles_nothing(
    crawl: Crawl, settings: Settings, step: str
) -> None:
    crawl.seed(A, B)
    commit(crawl.frontier, lease_of(crawl), links=[(B, "x", "a", False)])
    fail_one(crawl.frontier, lease_of(crawl))

    def die(done: str) -> None:
        if done == step:
            raise KilledError

    with pytest.raises(KilledError):
        relay(crawl.frontier, settings, after_step=die)
    relay(crawl.frontier, settings)
    assert sorted(told(settings, "fetch_log", "outcome")) == [("page",), ("transient",)]
    assert told(settings, "documents", "content_hash") == [(HASH,)]
    assert told(settings, "links", "target_url") == [(B,)]
    doubled = {name: open_table(settings, name).to_pyarrow_table().num_rows for name in STEPS[:3]}
    fetched = {"documents": 1, "links": 1, "fetch_log": 2}
    again = STEPS[: STEPS.index(step) + 1] if step != "acknowledged" else ()
    assert doubled == {name: count * (2 if name in again else 1) for name, count in fetched.items()}


def test_no_outcome_is_told_before_its_document(crawl: Crawl, settings: Settings) -> None:
    """Whoever reads the log of fetches finds the document of each page in it, at any moment."""
    crawl.seed(A)
    commit(crawl.frontier, lease_of(crawl))
    seen: list[tuple[int, int]] = []

    def look(_step: str) -> None:
        seen.append((len(told(settings, "fetch_log", "url")), len(told(settings, "documents", "url"))))

    relay(crawl.frontier, settings, after_step=look)
    assert seen[0] == (0, 1)
    assert all(log_count <= document_count for log_count, document_count in seen)


def test_two_relays_do_not_deliver_beside_each_other(crawl: Crawl, settings: Settings) -> None:
    crawl.seed(A)
    commit(crawl.frontier, lease_of(crawl))
    with writer_lock(settings, CRAWL_LOCK), pytest.raises(WriterBusyError):
        relay(crawl.frontier, settings, wait_seconds=0)
    assert len(undelivered(crawl.frontier)) == 1
