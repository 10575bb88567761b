"""What headers tell: the kind, the user agent cut to the schema, the peer's address."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from domain.events import json_schema
from domain.settings import Settings
from services.click.visitor import Visitor, visitor_of
from services.click.whereabouts import Whereabouts

PEER = ("2001:db8::1", 40_000)
PROPERTIES = json_schema()["properties"]
NOWHERE = Whereabouts(Settings(home=Path("unused")))


def _visitor(method: str, headers: list[tuple[bytes, bytes]], peer: tuple[str, int] | None) -> Visitor:
    return visitor_of(method, headers, peer, NOWHERE)


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
    assert _visitor(method, headers, PEER).kind == kind


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
    assert _visitor("GET", [(b"user-agent", sent)], PEER).user_agent == kept


def test_the_first_user_agent_counts_and_none_is_empty() -> None:
    assert _visitor("GET", [(b"user-agent", b""), (b"user-agent", b"second")], PEER).user_agent == ""
    assert _visitor("GET", [], PEER).user_agent == ""


def test_address() -> None:
    assert _visitor("GET", [(b"x-forwarded-for", b"203.0.113.9")], PEER).ip == "2001:db8::1"
    assert _visitor("GET", [], None).ip == ""


@given(st.binary(max_size=9_000))
def test_no_bytes_leave_the_schema(sent: bytes) -> None:
    visitor = _visitor("GET", [(b"user-agent", sent)], PEER)
    Draft202012Validator(PROPERTIES["user_agent"]).validate(visitor.user_agent)
    Draft202012Validator(PROPERTIES["device"]).validate(visitor.device)
    visitor.user_agent.encode()


def test_a_program_that_says_so_is_flagged_and_nothing_else_changes() -> None:
    """R1: known bots stay clicks of their kind; what becomes of them is for verdicts to say."""
    bot = _visitor("GET", [(b"user-agent", b"Mozilla/5.0 (compatible; Googlebot/2.1)")], PEER)
    assert (bot.is_bot, bot.kind) == (True, "click")
    assert not _visitor("GET", [(b"user-agent", b"Mozilla/5.0 (iPhone) Mobile Safari")], PEER).is_bot
