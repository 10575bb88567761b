"""Soft 404: an origin's answer to a made-up path, and what becomes of pages like it."""

from __future__ import annotations

import asyncio

import pytest

from crawler.frontier.adding import Candidate, add_urls
from crawler.frontier.budgets import allow
from crawler.frontier.reading import status_of
from crawler.urls import normalise
from tests.support.crawl_world import ROBOTS, Crawl, check_polite
from tests.support.hostile_site import Behaviour, HostileSite, answer

SORRY = "Sorry, the page that you were looking for is not here any more, so have a look at our newest offers instead"
STORY = "The bridge over the river was closed this morning after divers found a crack in its second pillar"


def text(words: str, *links: str) -> Behaviour:
    anchors = "".join(f"<a href='{link}'></a>" for link in links)
    return answer(f"<!doctype html><title>t</title><p>{words}</p>{anchors}".encode())


class AnyPath(dict[str, Behaviour]):
    """A site that says "sorry" with status 200 to whatever it does not know."""

    def get(self, path: str, _default: object = None) -> Behaviour:  # type: ignore[override] - of paths alone
        return self[path] if path in self else text(f"{SORRY} {path}", "/offers")


@pytest.fixture
def sorry() -> HostileSite:
    site = HostileSite(behaviours=AnyPath())
    site.behaviours |= {"/robots.txt": ROBOTS, "/story": text(STORY, "/read")}
    return site


def named(crawl: Crawl, *urls: str) -> None:
    """As links of a page three levels deep."""
    list(add_urls(crawl.frontier, [Candidate(normalise(url), url, "link", 0, 3) for url in urls], "w"))


def probes(site: HostileSite) -> list[str]:
    return [path for path in site.asked_paths() if len(path) == 25]


def test_pages_like_the_missing_one_are_cut(crawl: Crawl, sorry: HostileSite) -> None:
    """One probe for the origin, through its bucket; the page is no document, its links are not followed."""

    async def run() -> None:
        async with sorry as site:
            named(crawl, f"{site.origin}/gone", f"{site.origin}/story", f"{site.origin}/gone/2")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 1, "trap_soft_404": 3}, "the story, and not /read, which is not there"
            assert len(probes(site)) == 1
            assert "/offers" not in site.asked_paths()
            assert set(crawl.documents()) == {f"{site.origin}/story"}
            check_polite(site)
            (cut,) = status_of(crawl.frontier, site.origin).origins[0].cuts
            assert (cut["reason"], cut["cut_count"]) == ("trap_soft_404", 3)

    asyncio.run(run())


def test_a_person_may_allow_them(crawl: Crawl, sorry: HostileSite) -> None:
    async def run() -> None:
        async with sorry as site:
            named(crawl, f"{site.origin}/gone")
            await crawl.run(site)
            allow(crawl.frontier, site.origin, "trap_soft_404", None, reason="it is an app", actor="ann")
            named(crawl, f"{site.origin}/gone/2")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 2}, "the page and its link, /offers"

    asyncio.run(run())


def test_who_says_404_is_asked_once_and_cut_never(crawl: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/a": text(STORY), "/b": text(STORY)}) as site:
            named(crawl, f"{site.origin}/a", f"{site.origin}/b")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 2}
            assert len(probes(site)) == 1
            assert crawl.origin(site.origin)["missing_page"] == "honest"

    asyncio.run(run())


def test_no_probe_where_robots_forbids_it_nor_on_shallow_pages(crawl: Crawl) -> None:
    async def run() -> None:
        closed = answer(b"User-agent: *\nDisallow: /\nAllow: /a\n", content_type="text/plain")
        async with HostileSite(behaviours={"/robots.txt": closed, "/abc": text(STORY)}) as site:
            named(crawl, f"{site.origin}/abc")
            await crawl.run(site)
            assert [path for path in probes(site) if not path.startswith("/a")] == []
            assert crawl.said(f"{site.origin}/abc") == ("waiting", "fetched")
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": text(STORY)}) as shallow:
            crawl.seed(f"{shallow.origin}/")
            await crawl.run(shallow)
            assert shallow.asked_paths() == ["/robots.txt", "/"]

    asyncio.run(run())
