"""Percent-encoding in one form: what it leaves alone, and that a second time changes nothing."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.percent import ascii_form, one_form

PIECES = st.lists(st.sampled_from([*"%0123456789abcdefABCDEF/?~-é", "%7E", "%2f", "%25", "%41", "%61"])).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/%7efoo%2d%5F", "/~foo-_"),
        ("/%2f%3f%26%25", "/%2F%3F%26%25"),
        ("/%e3%83%84", "/%E3%83%84"),
        ("/100%", "/100%"),
        ("/%zz%4", "/%zz%4"),
        ("/%2541", "/%2541"),
        ("/%%34%31", "/%%341"),
        ("/%4%31", "/%4%31"),
    ],
)
def test_one_form(text: str, expected: str) -> None:
    assert one_form(text) == expected


@given(PIECES)
def test_a_second_time_changes_nothing(text: str) -> None:
    assert one_form(one_form(text)) == one_form(text)


@given(PIECES)
def test_the_bytes_that_are_meant_stay(text: str) -> None:
    assert unquote_to_bytes(one_form(text)) == unquote_to_bytes(text)


@pytest.mark.parametrize(
    ("octets", "expected"),
    [("/ツ".encode(), "/%E3%83%84"), (b"/%e3%83%84", "/%E3%83%84"), (b"/\xff", "/%FF")],
)
def test_ascii_form(octets: bytes, expected: str) -> None:
    assert ascii_form(octets.decode("utf-8", "surrogateescape")) == expected
