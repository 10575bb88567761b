"""What the tables are told of a document, and whether an index may take it."""

from __future__ import annotations

import pytest

from crawler.contents import contents_of
from crawler.parse import PARSER_VERSION, PageSource, parse_page
from crawler.parse_worker import ParseOutcome

URL = "https://a.example/"
PAGE = b"<title>t\0t</title><link rel=canonical href=/c><p>some text<a href=/x rel=nofollow>x</a>"


def source_of(body: bytes, *tags: str) -> PageSource:
    return PageSource(URL, body, "text/html", "text/html; charset=utf-8", tags, "tallystick")


def parsed(source: PageSource) -> ParseOutcome:
    return ParseOutcome("parsed", parse_page(source))


@pytest.mark.parametrize(
    ("body", "tags", "fetch_reason", "reason"),
    [
        (PAGE, (), "fetched", "index_ready"),
        (PAGE, (), "decoded_too_large", "not_whole"),
        (PAGE, ("noindex",), "fetched", "noindex"),
        (PAGE, ("otherbot: noindex",), "fetched", "index_ready"),
        (b"<title>only a title</title>", (), "fetched", "no_text"),
    ],
)
def test_what_keeps_a_document_out_of_an_index(
    body: bytes, tags: tuple[str, ...], fetch_reason: str, reason: str
) -> None:
    source = source_of(body, *tags)
    assert contents_of(source, parsed(source), fetch_reason).index_reason == reason


def test_the_facts_are_those_of_the_page() -> None:
    source = source_of(PAGE, "nofollow")
    facts, links, _ = contents_of(source, parsed(source), "fetched")
    assert {name: facts[name] for name in ("canonical_url", "link_count", "is_nofollow", "robots_tags")} == {
        "canonical_url": f"{URL}c", "link_count": 2, "is_nofollow": True, "robots_tags": '["nofollow"]',
    }  # fmt: skip
    assert "\0" not in facts["title"]
    assert facts["parser_version"] == PARSER_VERSION
    assert len(facts["simhash"]) == 16
    assert [(link[0], link[2], link[3]) for link in links] == [(f"{URL}c", "canonical", False), (f"{URL}x", "a", True)]


def test_a_quarantined_page_is_told_with_its_reason() -> None:
    """C21"""
    facts, links, reason = contents_of(source_of(PAGE), ParseOutcome("parser_crashed", None, "SIGSEGV"), "fetched")
    assert (facts["parse_reason"], facts["simhash"], facts["is_noindex"], links, reason) == (
        "parser_crashed", None, None, [], "not_parsed",
    )  # fmt: skip
