"""Headers read leniently: waits, versions, types."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answer_headers import (
    LONGEST_RETRY_AFTER_SECONDS,
    conditional_headers,
    media_type,
    retry_after_seconds,
    validators_of,
)
from crawler.outcomes import Validators

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected_seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        (" 120 ", 120),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("999999999", LONGEST_RETRY_AFTER_SECONDS),
        ("9" * 5_000, None),
        ("Sun, 01 Mar 2026 12:01:00 GMT", 60),
        ("Sun, 01 Mar 2026 13:01:00 +0100", 60),
        ("Sun, 01 Mar 2026 12:01:00", 60),
        ("Sunday, 01-Mar-26 12:01:00 GMT", 60),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0),
        ("Fri, 01 Jan 9999 00:00:00 GMT", LONGEST_RETRY_AFTER_SECONDS),
        ("Sun, 99 Mar 2026 12:01:00 GMT", None),
    ],
)
def test_retry_after(value: str | None, expected_seconds: int | None) -> None:
    assert retry_after_seconds(value, AT) == expected_seconds


@given(st.text(max_size=80))
def test_no_retry_after_makes_it_raise(value: str) -> None:
    waited_seconds = retry_after_seconds(value, AT)
    assert waited_seconds is None or 0 <= waited_seconds <= LONGEST_RETRY_AFTER_SECONDS


def test_validators_are_kept_verbatim() -> None:
    headers = [(b"ETag", b'W/"a"'), (b"etag", b'"second"'), (b"Last-Modified", b"any text")]
    assert validators_of(headers) == Validators(b'W/"a"', b"any text")
    assert validators_of([(b"etag", b"")]) == Validators()


def test_a_validator_that_cannot_be_sent_as_it_is_is_not_sent() -> None:
    assert conditional_headers(Validators(b'"\xff"', b"a date")) == {"If-Modified-Since": "a date"}
    assert conditional_headers(Validators('"é"'.encode())) == {"If-None-Match": '"é"'}


@pytest.mark.parametrize(
    ("content_type", "start", "expected"),
    [
        ("text/html; charset=x", b"anything", "text/html"),
        ("TEXT/HTML", b"", "text/html"),
        (None, b"  <!DOCTYPE HTML>", "text/html"),
        (None, b"<p>x", "text/html"),
        ("application/octet-stream", b"<html>", "text/html"),
        (None, b"<?xml version='1.0'?>", "text/xml"),
        (None, b"just words", "text/plain"),
        ("text/html", b"%PDF-1.7", None),
        ("text/html", b"PK\x03\x04", None),
        ("text/html", b"a\x00b", None),
        ("text/html", "\ufeff<p>".encode("utf-16"), "text/html"),
        (None, b"\x89PNG\r\n", None),
    ],
)
def test_media_types(content_type: str | None, start: bytes, expected: str | None) -> None:
    assert media_type(content_type, start) == expected
