"""A robots.txt that moved to another origin: asked for there within that origin's own measure, or not at all."""

from __future__ import annotations

import asyncio

import pytest

from crawler.frontier.reading import why
from crawler.frontier.requests import receipt_of
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.switches import set_switch
from crawler.urls import normalise
from tests.support.crawl_world import FOREVER, ROBOTS, Crawl, check_polite, page
from tests.support.hostile_site import Behaviour, HostileSite, answer


def moved(url: str) -> Behaviour:
    return answer(status="301 Moved", location=url)


def test_the_rules_are_read_elsewhere_and_both_origins_are_treated_politely(crawl: Crawl) -> None:
    """Law 12: three origins lead to one that is crawled meanwhile; its gap and cap hold, by its own log."""

    async def run() -> None:
        async with HostileSite() as other, HostileSite() as a, HostileSite() as b, HostileSite() as c:
            paths = [f"/{number}" for number in range(6)]
            other.behaviours = {"/robots.txt": ROBOTS, **{path: page() for path in paths}}
            for site in (a, b, c):
                site.behaviours = {"/robots.txt": moved(f"{other.origin}/robots.txt"), "/": page("/private/x")}
            crawl.seed(*[f"{other.origin}{path}" for path in paths], *[f"{site.origin}/" for site in (a, b, c)])
            made = await crawl.run(other, a, b, c)
            assert made.counts == {"fetched": 9, "robots_disallowed": 3}
            for site in (other, a, b, c):
                check_polite(site)
            assert [site.asked_paths() for site in (a, b, c)] == [["/robots.txt", "/"]] * 3
            assert sorted(other.asked_paths()) == sorted([*paths, *["/robots.txt"] * 4])
            assert receipt_of(crawl.frontier, other.origin, 0, FOREVER).request_count == 10
            assert made.request_count == 16

    asyncio.run(run())


def test_a_chain_over_origins_is_followed_and_a_loop_ends(crawl: Crawl) -> None:
    """RFC 9309, section 2.3.1.2: five hops; more count as "no such file"."""

    async def run() -> None:
        async with HostileSite() as a, HostileSite() as b, HostileSite() as c:
            a.behaviours = {"/robots.txt": moved(f"{b.origin}/robots.txt"), "/private": page()}
            b.behaviours = {"/robots.txt": moved(f"{c.origin}/robots.txt")}
            c.behaviours = {"/robots.txt": ROBOTS}
            crawl.seed(f"{a.origin}/private")
            assert (await crawl.run(a, b, c)).counts == {"robots_disallowed": 1}
            assert [site.asked_paths() for site in (b, c)] == [["/robots.txt"]] * 2
            assert all(crawl.origin(site.origin)["startable_at"] for site in (b, c)), "each request was permitted"
        async with HostileSite() as d, HostileSite() as e:
            d.behaviours = {"/robots.txt": moved(f"{e.origin}/robots.txt"), "/": page()}
            e.behaviours = {"/robots.txt": moved(f"{d.origin}/robots.txt")}
            crawl.seed(f"{d.origin}/")
            assert (await crawl.run(d, e)).counts == {"fetched": 1}
            assert (d.asked_paths(), e.asked_paths()) == (["/robots.txt"] * 3 + ["/"], ["/robots.txt"] * 3)
            for site in (d, e):
                check_polite(site)

    asyncio.run(run())


@pytest.mark.parametrize("closed", ["path", "paused", "suppressed"])
def test_where_nobody_may_look_nothing_is_allowed(crawl: Crawl, closed: str) -> None:
    """Another path than robots.txt could be one that its origin forbids; a switch and an opt-out hold for hops too."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS}, address="127.0.0.2") as other, HostileSite() as site:
            target = f"{other.origin}/{'rules.txt' if closed == 'path' else 'robots.txt'}"
            site.behaviours = {"/robots.txt": moved(target), "/": page()}
            if closed == "paused":
                crawl.seed(f"{other.origin}/")
                set_switch(crawl.frontier, other.origin, "paused", reason="asked", actor="ann")
            if closed == "suppressed":
                suppress(crawl.frontier, OptOut("host", "127.0.0.2", "asked", "mail", "ann"))
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site, other, longest_hop_seconds=0.5)
            assert made.counts == {"robots_unreadable": 1}
            assert (site.asked_paths(), other.asked) == (["/robots.txt"], [])
            said = why(crawl.frontier, normalise(f"{site.origin}/")).events[-1]["detail"]
            assert said == f"redirected to {target}"

    asyncio.run(run())


def test_a_throttled_hop_rests_the_origin_that_asked_for_it(crawl: Crawl) -> None:
    """C1, C4."""

    async def run() -> None:
        busy = answer(status="429 Slow", retry_after="200")
        async with HostileSite(behaviours={"/robots.txt": busy}) as other, HostileSite() as site:
            site.behaviours = {"/robots.txt": moved(f"{other.origin}/robots.txt"), "/": page()}
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site, other)
            assert made.counts == {"robots_unreadable": 1}
            assert crawl.origin(other.origin)["failure_count"] == 1
            assert crawl.origin(other.origin)["claimable_at"] - crawl.now() > 190_000_000
            assert crawl.url(f"{other.origin}/robots.txt")["state"] == "done", "no page to be claimed"

    asyncio.run(run())
