"""One visit: its robots.txt, the gap between its own requests, and what an origin's switch does to it."""

from __future__ import annotations

import asyncio

from crawler.frontier.reading import why
from crawler.frontier.suppressing import OptOut, suppress
from crawler.urls import normalise
from domain.politeness import SECOND_MICROS
from tests.support.crawl_child import GAP_MICROS
from tests.support.crawl_world import ROBOTS, Crawl, check_polite, page, slow
from tests.support.hostile_site import HostileSite, answer


def test_robots_is_read_once_for_many_pages(crawl: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/a": page(), "/b": page()}) as site:
            crawl.seed(f"{site.origin}/a", f"{site.origin}/b")
            await crawl.run(site)
            assert site.asked_paths() == ["/robots.txt", "/a", "/b"]
            check_polite(site)

    asyncio.run(run())


def test_a_robots_file_that_moved_within_its_origin_keeps_the_gap(crawl: Crawl) -> None:
    """C15: every request spends the one bucket."""

    async def run() -> None:
        moved = answer(status="301 Moved", location="/rules")
        async with HostileSite(behaviours={"/robots.txt": moved, "/rules": ROBOTS, "/private/": page()}) as site:
            crawl.seed(f"{site.origin}/private/")
            made = await crawl.run(site)
            assert made.counts == {"robots_disallowed": 1}
            assert site.asked_paths() == ["/robots.txt", "/rules"]
            check_polite(site)

    asyncio.run(run())


def test_a_long_crawl_delay_parks_the_origin_and_gives_the_page_back(crawl: Crawl) -> None:
    """C2."""

    async def run() -> None:
        delayed = answer(b"User-agent: *\nCrawl-delay: 600\n")
        async with HostileSite(behaviours={"/robots.txt": delayed, "/": page()}) as site:
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site)
            assert made.counts == {"origin_parked": 1}
            assert crawl.origin(site.origin)["gap_micros"] == 600 * SECOND_MICROS
            assert crawl.url(f"{site.origin}/")["attempt_count"] == 0
            assert why(crawl.frontier, normalise(f"{site.origin}/")).obstacles[0] == "origin is parked"
            assert site.asked_paths() == ["/robots.txt"]

    asyncio.run(run())


def test_a_page_whose_body_is_cut_at_the_limit_keeps_no_validators(crawl: Crawl) -> None:
    """C23: what is cut never counts as unchanged."""

    async def run() -> None:
        big = answer(b"<title>big</title>" + b"x" * (10 * 1024 * 1024), etag='"v1"')
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": big}) as site:
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site)
            assert made.counts == {"wire_too_large": 1}
            assert crawl.url(f"{site.origin}/")["etag"] is None
            assert crawl.documents() == {f"{site.origin}/": "big"}

    asyncio.run(run())


def test_a_page_that_the_parser_refuses_is_kept_with_its_reason(crawl: Crawl) -> None:
    """C21: the page is quarantined, none of its links is followed, and the worker goes on."""

    async def run() -> None:
        deep = answer(b"<a href=/x>x</a>" + b"<div>" * 1_500)
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": deep, "/next": page()}) as site:
            crawl.seed(f"{site.origin}/", f"{site.origin}/next")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 1, "too_deep": 1}
            assert crawl.said(f"{site.origin}/x") == (None, "")
            assert crawl.documents() == {f"{site.origin}/": "", f"{site.origin}/next": "a page"}

    asyncio.run(run())


def test_the_gap_of_a_slow_robots_file_counts_from_its_request(crawl: Crawl) -> None:
    async def run() -> None:
        slow_rules = slow(GAP_MICROS * 2 / SECOND_MICROS, ROBOTS)
        async with HostileSite(behaviours={"/robots.txt": slow_rules, "/": page()}) as site:
            crawl.seed(f"{site.origin}/")
            await crawl.run(site)
            assert site.asked_paths() == ["/robots.txt", "/"]
            check_polite(site)

    asyncio.run(run())


def test_an_opt_out_reaches_a_visit_that_is_under_way(crawl: Crawl) -> None:
    """The host opts out while its robots.txt is on its way: the page is not asked for."""

    async def run() -> None:
        async with HostileSite(behaviours={"/": page()}) as site:

            async def opting_out(writer: asyncio.StreamWriter) -> None:
                suppress(crawl.frontier, OptOut("host", "127.0.0.1", "asked", "mail", "ann"))
                await ROBOTS(writer)

            site.behaviours["/robots.txt"] = opting_out
            crawl.seed(f"{site.origin}/")
            stop = asyncio.Event()
            crawl_run = asyncio.create_task(crawl.run(site, stop=stop, is_until_idle=False))
            while crawl.events(f"{site.origin}/")[-1][1] != "stale_commit":
                await asyncio.sleep(0.05)
                assert len(site.asked) <= 1
            stop.set()
            assert (await crawl_run).counts == {"lease_lost": 1}
            assert site.asked_paths() == ["/robots.txt"]
            assert crawl.said(f"{site.origin}/")[0] == "suppressed"

    asyncio.run(run())
