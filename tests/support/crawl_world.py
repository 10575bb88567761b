"""A frontier with bodies, small sites to crawl, and what the sites' own logs say of how they were treated."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import select

from crawler.fetch import PAGE_LIMITS
from crawler.frontier.adding import Candidate, add_urls
from crawler.frontier.database import open_frontier
from crawler.frontier.reading import why
from crawler.frontier.schema import DOCUMENTS
from crawler.store import BodyStore
from crawler.urls import normalise
from crawler.worker import CrawlReceipt, run_worker
from domain.receipts import receipt
from tests.support.crawl_child import GAP_MICROS, POLICY, params
from tests.support.frontiers import FrontierWorld
from tests.support.hostile_site import Behaviour, HostileSite, answer
from warehouse.clock import now

ROBOTS = answer(b"User-agent: *\nDisallow: /private\n", content_type="text/plain")
FOREVER = 1 << 62


def page(*links: str, **headers: str) -> Behaviour:
    """A page with these links."""
    anchors = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    return answer(f"<!doctype html><title>a page</title>{anchors}".encode(), **headers)


def slow(seconds: float, behaviour: Behaviour) -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await behaviour(writer)

    return behave


class Crawl(FrontierWorld):
    """A frontier on disk, with its bodies."""

    def __init__(self, folder: Path) -> None:
        self.database = f"sqlite:///{folder / 'frontier.sqlite'}"
        self.bodies = folder / "bodies"
        super().__init__(open_frontier(self.database, POLICY))

    def seed(self, *urls: str) -> None:
        list(add_urls(self.frontier, [Candidate(normalise(url), url, "seed") for url in urls], "ann"))

    async def run(self, *sites: HostileSite, stop: asyncio.Event | None = None, **fields: object) -> CrawlReceipt:
        wanted = params("w1", frozenset(site.port for site in sites), self.bodies.parent, **fields)
        store = BodyStore(self.bodies, PAGE_LIMITS.decoded_bytes)
        stopping = stop or asyncio.Event()
        return await run_worker(self.frontier, store, wanted, now, stop=stopping, show=lambda _progress: None)

    def documents(self) -> dict[str, str]:
        """Titles by URL; every one of them has its body."""
        with self.frontier.reading() as connection:
            rows = connection.execute(select(DOCUMENTS)).all()
        for row in rows:
            assert len(BodyStore(self.bodies, PAGE_LIMITS.decoded_bytes).get(row.content_hash)) == row.body_bytes
        assert len({row.url for row in rows}) == len(rows)
        return {row.url: row.title for row in rows}

    def documents_left(self) -> list[str]:
        """The URLs of documents, whatever became of their bodies."""
        with self.frontier.reading() as connection:
            return list(connection.execute(select(DOCUMENTS.c.url).order_by(DOCUMENTS.c.url)).scalars())

    def said(self, url: str) -> tuple[str | None, str]:
        """State and reason of a URL, as ``crawl why`` tells them."""
        told = why(self.frontier, normalise(url))
        return told.state, told.events[-1]["reason"] if told.events else ""


def check_polite(site: HostileSite, gap_micros: int = GAP_MICROS) -> None:
    """Law 12, by the log of the site itself."""
    seen = receipt(site.origin, (0, FOREVER), site.rows, gap_micros=gap_micros, in_flight_cap=1)
    assert seen.is_polite, (seen, site.asked_paths())
