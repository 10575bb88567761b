"""The identity of a URL: what is brought to one form, what is left alone, what has none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.urls import MAX_URL_CHARACTERS, UrlRefusedError, normalise, parse
from domain.frontier import UrlIdentity
from tests.support.conformance import rows

NOT_MET = {
    **dict.fromkeys(("url_norm-0061", "url_norm-0444"), "scheme"),
    **dict.fromkeys(("url_norm-0826", "url_norm-0837", "url_norm-0838", "url_norm-0868"), "credentials"),
}
"""Rows that have an identity elsewhere, and here are refused with this reason."""

_PIECES = (
    "http:// https:// // / a b.example :80 ? # & = % %2e %2E .. . %41 4 %7e %% é ſ \\ [::1] 0x7f 1 @ ; %E3%83%84 + ~"
)
near_urls = st.lists(st.sampled_from([*_PIECES.split(), "\t", " ", "\ud800"]), max_size=14).map("".join)


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("HTTP://Example.COM:80/%7Efoo/../b%2fc?q=%7e&A=1#part", "http://example.com/b%2Fc?q=~&A=1"),
        ("http://example.com", "http://example.com/"),
        ("http://example.com/?", "http://example.com/?"),
        ("http://example.com//a//b/", "http://example.com//a//b/"),
        ("http://www.example.com/index.html?utm_source=x&b=2&a=1", "http://www.example.com/index.html?utm_source=x&b=2&a=1"),
        ("http://example.com/a b\n", "http://example.com/a%20b"),
        ("http://例え.jp/", "http://xn--r8jz45g.jp/"),
        ("http://2130706433/", "http://127.0.0.1/"),
    ],
)  # fmt: skip
def test_one_form_and_no_guesses(raw: str, url: str) -> None:
    assert normalise(raw).url == url


@pytest.mark.parametrize(
    ("url", "origin", "host", "domain"),
    [
        ("https://a.b.example.co.uk:8443/x", "https://a.b.example.co.uk:8443", "a.b.example.co.uk", "example.co.uk"),
        ("http://me.github.io/", "http://me.github.io", "me.github.io", "me.github.io"),
        ("http://com/", "http://com", "com", "com"),
        ("http://[::1]/", "http://[::1]", "[::1]", "[::1]"),
        ("http://10.1.2.3/", "http://10.1.2.3", "10.1.2.3", "10.1.2.3"),
        ("http://a.example.com./", "http://a.example.com.", "a.example.com.", "example.com"),
    ],
)
def test_groups(url: str, origin: str, host: str, domain: str) -> None:
    assert normalise(url) == UrlIdentity(url, origin, host, domain)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "unparsable"),
        ("no url", "unparsable"),
        ("http://", "unparsable"),
        ("http://a b/", "unparsable"),
        ("http://a\x00b/", "unparsable"),
        ("http://1.2.3.4.5/", "unparsable"),
        ("javascript:alert(1)", "scheme"),
        ("mailto:a@b.example", "scheme"),
        ("ftp://a.example/", "scheme"),
        ("http://user@a.example/", "credentials"),
        ("http://:secret@a.example/", "credentials"),
        ("http://a.example/" + "a" * MAX_URL_CHARACTERS, "too_long"),
        ("http://a.example/" + "é" * (MAX_URL_CHARACTERS // 2), "too_long"),  # six characters each, once escaped
    ],
)
def test_refusals(raw: str, reason: str) -> None:
    with pytest.raises(UrlRefusedError) as refusal:
        normalise(raw)
    assert (refusal.value.reason, refusal.value.raw) == (reason, raw)


def test_a_link_is_resolved_against_its_page() -> None:
    assert normalise("../c?d#e", "http://a.example/x/y/z").url == "http://a.example/x/c?d"


@given(near_urls)
def test_a_second_time_changes_nothing(raw: str) -> None:
    try:
        identity = normalise(raw, "http://base.example/x/")
    except UrlRefusedError:
        return
    assert normalise(identity.url) == identity
    assert identity.url.isascii()


def test_urls_are_read_as_browsers_read_them() -> None:
    """Every http row of the web platform's own tests."""
    wrong = []
    for row in rows("url_wpt"):
        try:
            href = parse(row["href"], row["base"]).href
        except UrlRefusedError:
            href = None
        if href != row["expected"]:
            wrong.append(row["id"])
    assert wrong == []


def test_the_normal_forms_of_others() -> None:
    """Rows whose form no step that could change the meaning has made."""
    wrong = {}
    for row in rows("url_normalize_safe"):
        try:
            form = normalise(row["url"], row.get("base")).url
        except UrlRefusedError as refusal:
            form = refusal.reason
        if form != row["expected"]:
            wrong[row["id"]] = form
    assert wrong == NOT_MET
