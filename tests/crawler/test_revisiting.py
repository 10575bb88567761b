"""Visits of pages that were visited before: changed or not, sampled, and origins whose validators lie."""

from __future__ import annotations

import asyncio

from crawler.frontier.outbox import Trace, undelivered
from crawler.frontier.reading import why
from crawler.urls import normalise
from tests.support.crawl_world import ROBOTS, Crawl, check_polite, page
from tests.support.hostile_site import Behaviour, HostileSite, answer

WEEK_SECONDS = 7 * 86_400


def told(crawl: Crawl, url: str) -> list[str]:
    """What the origin's history says of its validators."""
    events = why(crawl.frontier, normalise(url)).origin_events
    return [str(one["reason"]) for one in events if one["event"] == "distrusted"]


def told_status(crawl: Crawl) -> int:
    """The status that the tables are told of the last lease."""
    trace = Trace(*undelivered(crawl.frontier)[-1].payload["trace"])
    assert trace.status is not None
    return trace.status


async def visited(crawl: Crawl, site: HostileSite, behaviour: Behaviour, per_mille: int) -> str:
    """Serves this from now on, and visits the one page once more, when its time has come; why its lease ended."""
    site.behaviours["/"] = behaviour
    site.rows.clear()  # the clock that is set forward passes over a gap
    crawl.pass_seconds(WEEK_SECONDS)
    made = await crawl.run(site, unconditional_per_mille=per_mille)
    check_polite(site)
    (reason,) = made.counts
    return reason


def test_a_page_without_validators_is_compared_by_its_hash(crawl: Crawl) -> None:
    """C23: unchanged, changed, cut, and whole again, which is compared with nothing."""

    async def run() -> None:
        async with HostileSite(
            behaviours={"/robots.txt": ROBOTS, "/": page("/x"), "/x": answer(status="410 G")}
        ) as site:
            url = f"{site.origin}/"
            crawl.seed(url)
            await crawl.run(site)
            first = crawl.url(url)
            assert await visited(crawl, site, page("/x"), 0) == "unchanged"
            assert crawl.url(url)["interval_micros"] == 2 * first["interval_micros"]
            assert await visited(crawl, site, page("/x", "/x"), 0) == "fetched"
            counts = crawl.url(url)["comparison_count"], crawl.url(url)["change_count"]
            cut = answer(b"<title>big</title>" + b"x" * (10 * 1024 * 1024))
            assert counts == (2, 1)
            assert await visited(crawl, site, cut, 0) == "wire_too_large"
            assert await visited(crawl, site, cut, 0) == "wire_too_large", "cut twice in the same way is not unchanged"
            assert await visited(crawl, site, page("/x", "/x"), 0) == "fetched"
            assert (crawl.url(url)["comparison_count"], crawl.url(url)["change_count"]) == counts

    asyncio.run(run())


def test_a_constant_etag_with_a_new_body_is_found_by_the_sample(crawl: Crawl) -> None:
    """C23: asked without validators, another body has the ETag of the last; from then on nobody asks with them."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page(etag='"v"')}) as site:
            url = f"{site.origin}/"
            crawl.seed(url)
            await crawl.run(site)
            assert await visited(crawl, site, page("#", etag='"v"'), 1_000) == "fetched"
            assert "if-none-match" not in site.asked[-1].headers
            assert told(crawl, url) == [f'constant_validators "v" at {url}']
            asked_count = len(site.asked)
            assert await visited(crawl, site, page("#", etag='"v"'), 0) == "unchanged"
            assert "if-none-match" not in site.asked[-1].headers, "distrusted"
            assert len(site.asked) == asked_count + 2, "robots.txt and the page"

    asyncio.run(run())


def test_a_304_to_an_old_validator_is_a_lie(crawl: Crawl) -> None:
    """C23: the sample finds another body under another ETag, and the old ETag is still answered with 304."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page(etag='"v1"')}) as site:
            url = f"{site.origin}/"
            crawl.seed(url)
            await crawl.run(site)

            async def lying(writer: asyncio.StreamWriter) -> None:
                is_conditional = "if-none-match" in site.asked[-1].headers
                await (answer(status="304 Same") if is_conditional else page("#", etag='"v2"'))(writer)

            assert await visited(crawl, site, lying, 0) == "not_modified", "believed as long as nobody tests it"
            assert await visited(crawl, site, lying, 1_000) == "fetched"
            assert site.asked[-1].headers["if-none-match"] == '"v1"'
            assert told_status(crawl) == 200, "of the page, not of the question after it"
            assert told(crawl, url) == [f'false_not_modified "v1" at {url}']
            assert await visited(crawl, site, lying, 0) == "unchanged"
            assert len(told(crawl, url)) == 1

    asyncio.run(run())


def test_an_honest_origin_is_not_accused(crawl: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page(etag='"v1"')}) as site:
            url = f"{site.origin}/"
            crawl.seed(url)
            await crawl.run(site)

            async def honest(writer: asyncio.StreamWriter) -> None:
                is_known = site.asked[-1].headers.get("if-none-match") == '"v2"'
                await (answer(status="304 Same") if is_known else page("#", etag='"v2"'))(writer)

            assert await visited(crawl, site, honest, 1_000) == "fetched"
            assert await visited(crawl, site, honest, 1_000) == "unchanged"
            assert await visited(crawl, site, honest, 0) == "not_modified"
            assert told(crawl, url) == []

    asyncio.run(run())


def test_a_body_cut_where_the_whole_one_ended_is_not_unchanged(crawl: Crawl) -> None:
    """C23: what is kept of the longer body has the hash of the shorter one, which was whole."""

    async def run() -> None:
        whole = b"<title>log</title>" + b"x" * (10 * 1024 * 1024 - 18)
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": answer(whole, etag='"v"')}) as site:
            url = f"{site.origin}/"
            crawl.seed(url)
            made = await crawl.run(site)
            assert made.counts == {"fetched": 1}
            assert await visited(crawl, site, answer(whole + b"more", etag='"v"'), 1_000) == "wire_too_large"
            row = crawl.url(url)
            assert (row["content_hash"], row["etag"], row["comparison_count"]) == (None, None, 0)
            assert told(crawl, url) == [], "nothing is proven by it either"

    asyncio.run(run())
