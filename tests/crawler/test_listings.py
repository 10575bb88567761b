"""Sitemaps and feeds as bytes: what they list, bombs, entities, cut ends."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.listings import read_listing
from domain.listings import MOST_DECODED_BYTES, MOST_LISTED, Listed, Listing

SITEMAP = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
ENTRY = "<url><loc>https://a.example/{}</loc></url>"


def test_a_sitemap() -> None:
    body = SITEMAP + (
        b"<url><loc> https://a.example/1?a=1&amp;b=2 </loc><lastmod>2026-11-30</lastmod>"
        b'<image:image xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><image:loc>https://a.example/p.png'
        b"</image:loc></image:image></url><url><loc>https://a.example/2</loc></url><url><priority>1</priority></url></urlset>"
    )
    pages = (Listed("https://a.example/1?a=1&b=2", "2026-11-30"), Listed("https://a.example/2"))
    assert read_listing(body) == Listing("urlset", pages, (), "read")
    assert read_listing(gzip.compress(body)) == Listing("urlset", pages, (), "read")


def test_an_index_lists_listings() -> None:
    body = b"<sitemapindex><sitemap><loc>https://a.example/s1</loc></sitemap></sitemapindex>"
    assert read_listing(body) == Listing("sitemapindex", (), (Listed("https://a.example/s1"),), "read")


@pytest.mark.parametrize(
    "body",
    [
        b"<rss version='2.0'><channel><link>https://a.example/</link><item><title>t</title><link>https://a.example/1</link>"
        b"<atom:link xmlns:atom='http://www.w3.org/2005/Atom' href='x'/><pubDate>now</pubDate></item></channel></rss>",
        b"<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://a.example/'/><entry><link rel='edit' href='x'/>"
        b"<link href='https://a.example/1'/><updated>now</updated></entry></feed>",
        b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
        b"<item><link>https://a.example/1</link><dc:date xmlns:dc='d'>now</dc:date></item></rdf:RDF>",
    ],
    ids=["RSS", "Atom", "RSS 1.0"],
)
def test_feeds(body: bytes) -> None:
    assert read_listing(body) == Listing("feed", (Listed("https://a.example/1", "now"),), (), "read")


def test_what_is_cut_off_gives_what_it_holds() -> None:
    body = SITEMAP + (ENTRY.format(1) + ENTRY.format(2)).encode()
    cut = read_listing(body + b"<url><loc>https://a.exam")
    assert ([one.raw_url[-1] for one in cut.pages], cut.end) == (["1", "2"], "not_well_formed")
    packed = gzip.compress(body + b"<url>" * 20)
    assert read_listing(packed[:-9]).end == "bad_coding"


@pytest.mark.parametrize(
    "doctype",
    [
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        b'<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd">',
    ],
    ids=["bomb", "file", "request"],
)
def test_no_entities(doctype: bytes) -> None:
    """C14: refused where it begins."""
    body = b'<?xml version="1.0"?>' + doctype + b"<urlset><url><loc>&a;</loc></url></urlset>"
    assert read_listing(body) == Listing("unknown", (), (), "doctype_refused")


def test_a_bomb_ends_at_the_cap() -> None:
    """C14: much more than the cap, in a few hundred kilobytes."""
    body = SITEMAP + ENTRY.format(1).encode() + b" " * (MOST_DECODED_BYTES * 4)
    packed = gzip.compress(body)
    assert len(packed) < 300_000
    read = read_listing(packed)
    assert ([one.raw_url for one in read.pages], read.end) == (["https://a.example/1"], "decoded_too_large")


def test_one_endless_token_ends_at_its_cap() -> None:
    """C14: a parser that looks at it again with each piece would take time by the square of its length."""
    read = read_listing(SITEMAP + ENTRY.format(1).encode() + b"<!--" + b" " * (MOST_DECODED_BYTES - 1_000))
    assert ([one.raw_url for one in read.pages], read.end) == (["https://a.example/1"], "token_too_long")
    assert read_listing(b"<a " + b" " * 3_000_000).end == "token_too_long"


def test_too_many_urls_elements_and_levels_end_it() -> None:
    """C14."""
    body = SITEMAP + "".join(ENTRY.format(number) for number in range(MOST_LISTED + 5)).encode() + b"</urlset>"
    read = read_listing(body)
    assert (len(read.pages), read.end) == (MOST_LISTED, "too_many_urls")
    assert read_listing(b"<urlset>" + b"<a/>" * 1_000_001).end == "too_many_elements"
    assert read_listing(b"<urlset>" * 65).end == "too_nested"


@pytest.mark.parametrize(
    "body", [b"", b"nothing", b"<html><a href=x>", b"\x1f\x8b", b'<?xml version="1.0" encoding="gb2312"?><urlset/>']
)
def test_what_is_no_listing(body: bytes) -> None:
    read = read_listing(body)
    assert (read.pages, read.listings) == ((), ())
    assert read.end in {"not_a_listing", "bad_coding"}


@given(st.binary(max_size=200), st.sampled_from([b"", SITEMAP, b"<rss><item><link>", b"\x1f\x8b\x08"]))
def test_any_bytes_are_read(noise: bytes, start: bytes) -> None:
    assert read_listing(start + noise).end != "unchanged"
