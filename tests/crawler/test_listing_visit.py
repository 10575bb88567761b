"""Sitemaps and feeds of sites: found by robots.txt and by pages, asked for through bucket, robots.txt and guard."""

from __future__ import annotations

import asyncio
import gzip

from sqlalchemy import select

from crawler.frontier.outbox import Trace, undelivered
from crawler.frontier.reading import status_of
from crawler.frontier.trap_schema import LISTINGS
from tests.support.crawl_world import Crawl, check_polite, page
from tests.support.hostile_site import Behaviour, HostileSite, answer

XML = "application/xml"


def sitemap(*urls: str) -> Behaviour:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return answer(f"<urlset>{entries}</urlset>".encode(), content_type=XML)


def index(*urls: str) -> Behaviour:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return answer(f"<sitemapindex>{entries}</sitemapindex>".encode(), content_type=XML)


def robots(*lines: str) -> Behaviour:
    return answer("\n".join(["User-agent: *", "Disallow: /private", *lines, ""]).encode(), content_type="text/plain")


def readings(crawl: Crawl) -> list[tuple[str, int, int, str]]:
    columns = LISTINGS.c.kind, LISTINGS.c.listed_count, LISTINGS.c.added_count, LISTINGS.c.end_reason
    with crawl.frontier.reading() as connection:
        return [tuple(row) for row in connection.execute(select(*columns).order_by(LISTINGS.c.listing_id))]


def test_sitemaps_of_robots_bring_pages(crawl: Crawl) -> None:
    """C14, C15: an index that lists itself and another; every request spends the bucket, robots.txt and scope hold."""

    async def run() -> None:
        async with HostileSite() as site, HostileSite(address="127.0.0.2") as other:
            listed = (f"{site.origin}/a", f"{site.origin}/private/b", f"{other.origin}/c", "mailto:x@y.z", "/d")
            body = "".join(f"<url><loc>{url}</loc></url>" for url in listed)
            packed = answer(gzip.compress(f"<urlset>{body}</urlset>".encode()), content_type="application/gzip")
            site.behaviours = {
                "/robots.txt": robots("Sitemap: /index.xml", f"Sitemap: {other.origin}/s.xml"),
                "/index.xml": index("/index.xml", "/s.xml.gz"),
                "/s.xml.gz": packed,
                **{path: page() for path in ("/", "/a", "/d")},
            }
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site, other)
            assert made.counts == {"fetched": 3, "read": 2, "robots_disallowed": 1}
            assert sorted(site.asked_paths()) == ["/", "/a", "/d", "/index.xml", "/robots.txt", "/s.xml.gz"]
            assert other.asked == [], "out of scope"
            check_polite(site)
            assert readings(crawl) == [("sitemapindex", 2, 1, "read"), ("urlset", 5, 3, "read")]
            assert set(crawl.documents()) == {f"{site.origin}{path}" for path in ("/", "/a", "/d")}
            assert crawl.url(f"{site.origin}/a")["source"] == "sitemap_entry"

    asyncio.run(run())


def test_a_feed_of_a_page_is_read_and_read_again(crawl: Crawl) -> None:
    """The second time its bytes are the same, and nothing is taken in."""

    async def run() -> None:
        feed = b"<rss><channel><item><link>/news</link></item></channel></rss>"
        linked = b"<!doctype html><link rel='alternate' type='application/rss+xml' href='/feed'>"
        behaviours = {
            "/robots.txt": robots(),
            "/": answer(linked),
            "/feed": answer(feed, content_type="application/rss+xml"),
            "/news": page(),
        }
        async with HostileSite(behaviours=behaviours) as site:
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 2, "read": 1}
            assert made.added_count == 2
            crawl.pass_seconds(7_000)
            made = await crawl.run(site)
            assert made.counts == {"unchanged": 3}
            assert readings(crawl) == [("feed", 1, 1, "read"), ("unknown", 0, 0, "unchanged")]
            told = [event.payload for event in undelivered(crawl.frontier) if event.payload["url"].endswith("/feed")]
            assert [(one["outcome"], one["reason"], one["document"]) for one in told] == [
                ("listing", "read", None),
                ("listing", "unchanged", None),
            ]
            assert [Trace(*one["trace"]).status for one in told] == [200, 200]

    asyncio.run(run())


def test_indexes_within_each_other_end(crawl: Crawl) -> None:
    """C14: each index names a new one, for ever."""

    async def run() -> None:
        async with HostileSite() as site:
            site.behaviours = {f"/{number}.xml": index(f"/{number + 1}.xml") for number in range(9)}
            site.behaviours |= {"/robots.txt": robots("Sitemap: /0.xml"), "/": page()}
            crawl.seed(f"{site.origin}/")
            await crawl.run(site)
            assert [path for path in site.asked_paths() if path.endswith(".xml")] == [f"/{n}.xml" for n in range(4)]
            (cut,) = status_of(crawl.frontier, site.origin).origins[0].cuts
            assert (cut["reason"], cut["samples"]) == ("trap_listing_depth", [f"{site.origin}/4.xml"])

    asyncio.run(run())


def test_what_is_no_sitemap_is_told(crawl: Crawl) -> None:
    async def run() -> None:
        behaviours = {"/robots.txt": robots("Sitemap: /s.xml", "Sitemap: /t.xml"), "/": page()}
        async with HostileSite(behaviours=behaviours) as site:
            site.behaviours["/s.xml"] = answer(b"<p>sorry</p>")
            site.behaviours["/t.xml"] = answer(b"<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>", content_type=XML)
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 1, "listing_doctype_refused": 1, "listing_not_a_listing": 1}

    asyncio.run(run())
