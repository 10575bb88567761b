"""What headers tell: the kind, the user agent cut to the schema, the peer's address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from domain.events import json_schema
from services.click.visitor import visitor_of

PEER = ("2001:db8::1", 40_000)
PROPERTIES = json_schema()["properties"]


@pytest.mark.parametrize(
    ("method", "headers", "kind"),
    [
        ("GET", [], "click"),
        ("HEAD", [], "head"),
        ("HEAD", [(b"sec-purpose", b"prefetch")], "head"),
        ("GET", [(b"sec-purpose", b"prefetch")], "prefetch"),
        ("GET", [(b"sec-purpose", b"prefetch;prerender")], "prefetch"),
        ("GET", [(b"sec-purpose", b"prefetch;anonymous-client-ip")], "prefetch"),
        ("GET", [(b"sec-purpose", b"prerender")], "prefetch"),
        ("GET", [(b"purpose", b"Prefetch")], "prefetch"),
        ("GET", [(b"x-purpose", b"preview")], "prefetch"),
        ("GET", [(b"x-moz", b"prefetch")], "prefetch"),
        ("GET", [(b"purpose", b""), (b"x-moz", b"prefetch")], "prefetch"),
        ("GET", [(b"sec-purpose", b""), (b"referer", b"https://x.example/prefetch")], "click"),
    ],
)
def test_kind(method: str, headers: list[tuple[bytes, bytes]], kind: str) -> None:
    """R1: previews are told apart before they are logged."""
    assert visitor_of(method, headers, PEER).kind == kind


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"Mozilla/5.0", "Mozilla/5.0"),
        (b"a\tb\x00c\x7fd", "abcd"),
        ("Bücher 😀".encode(), "Bücher 😀"),
        (b"B\xfccher", "Bücher"),
        (b"\x80\xfe\xff", "\x80þÿ"),
        (b"x" * 5_000, "x" * 4_096),
        (("😀" * 5_000).encode(), "😀" * 4_096),
        (b"\x00" * 10 + b"x" * 4_096, "x" * 4_096),
    ],
)
def test_user_agent_is_what_the_schema_allows(sent: bytes, kept: str) -> None:
    assert visitor_of("GET", [(b"user-agent", sent)], PEER).user_agent == kept


def test_the_first_user_agent_counts_and_none_is_empty() -> None:
    assert visitor_of("GET", [(b"user-agent", b""), (b"user-agent", b"second")], PEER).user_agent == ""
    assert visitor_of("GET", [], PEER).user_agent == ""


def test_address() -> None:
    assert visitor_of("GET", [(b"x-forwarded-for", b"203.0.113.9")], PEER).ip == "2001:db8::1"
    assert visitor_of("GET", [], None).ip == ""


@given(st.binary(max_size=9_000))
def test_no_bytes_leave_the_schema(sent: bytes) -> None:
    visitor = visitor_of("GET", [(b"user-agent", sent)], PEER)
    Draft202012Validator(PROPERTIES["user_agent"]).validate(visitor.user_agent)
    Draft202012Validator(PROPERTIES["device"]).validate(visitor.device)
    visitor.user_agent.encode()
