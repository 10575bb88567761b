"""The ways in which a record can be no click event, as a table: name, the reason it must be quarantined for, bytes.

Belongs here: every broken form that producers are known to write. The expected reason stands beside each by hand; a
test holds the table against ``domain/parsing.py``. Each form is a broken twin of a real click, under its identity, so
that counting one of them, or letting it stand for the click, shows in the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from domain.events import EVENT_VERSION, MAX_EVENT_BYTES, MAX_INT64, Reason

Fields = dict[str, Any]

MEGABYTE_BYTES = 1_000_000
"""About as large as a record can be: Kafka's own limit for a topic is a little above."""
NESTING = 5_000
"""Deeper than any JSON reader goes."""


@dataclass(frozen=True)
class MalformedKind:
    """One broken form. ``is_large``: at most one of it is sent in a run."""

    name: str
    reason: Reason
    build: Callable[[Fields], bytes | None]
    is_large: bool = False


def _written(fields: Fields) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _with(**changes: Any) -> Callable[[Fields], bytes]:
    return lambda fields: _written(fields | changes)


def _without(name: str) -> Callable[[Fields], bytes]:
    return lambda fields: _written({key: value for key, value in fields.items() if key != name})


def _literally(name: str, literal: bytes) -> Callable[[Fields], bytes]:
    """The value as these bytes, which need not be JSON."""
    return lambda fields: _written(fields | {name: "@"}).replace(b'"@"', literal)


def _text(change: Callable[[bytes], bytes]) -> Callable[[Fields], bytes]:
    return lambda fields: change(_written(fields))


def _fixed(payload: bytes | None) -> Callable[[Fields], bytes | None]:
    return lambda _: payload


def _clicked(change: Callable[[str], str]) -> Callable[[Fields], bytes]:
    return lambda fields: _written(fields | {"clicked_at": change(fields["clicked_at"])})


def _padded(size_bytes: int) -> Callable[[Fields], bytes]:
    """A valid event but for its size, by a key that nobody reads."""

    def build(fields: Fields) -> bytes:
        empty = _written(fields | {"padding": ""})
        return _written(fields | {"padding": "x" * (size_bytes - len(empty))})

    return build


def _repeated(addition: bytes) -> Callable[[Fields], bytes]:
    return lambda fields: _written(fields)[:-1] + addition + b"}"


_EMPTY = (
    MalformedKind("tombstone", "empty", _fixed(None)),
    MalformedKind("no bytes", "empty", _fixed(b"")),
)
_TOO_LARGE = (
    MalformedKind("one megabyte", "too_large", _padded(MEGABYTE_BYTES), is_large=True),
    MalformedKind("a byte too many", "too_large", _padded(MAX_EVENT_BYTES + 1), is_large=True),
    MalformedKind("large and no JSON", "too_large", _fixed(b"\xff" * (MAX_EVENT_BYTES + 1)), is_large=True),
)
_NOT_UTF8 = (
    MalformedKind("stray byte", "not_utf8", _literally("user_agent", b'"Opera \xff"')),
    MalformedKind("Latin-1", "not_utf8", _literally("user_agent", b'"M\xfcller"')),
    MalformedKind("overlong slash", "not_utf8", _literally("user_agent", b'"a\xc0\xafb"')),
    MalformedKind("surrogate in UTF-8", "not_utf8", _literally("user_agent", b'"\xed\xa0\x80"')),
    MalformedKind("cut inside a character", "not_utf8", _text(lambda text: text[:-1] + b"\xe2\x82")),
    MalformedKind("compressed bytes", "not_utf8", _fixed(b"\x1f\x8b\x08\x00\x9c\xf3\xab\xfe")),
)
_MALFORMED_JSON = (
    MalformedKind("cut off", "malformed_json", _text(lambda text: text[: len(text) // 2])),
    MalformedKind("blanks only", "malformed_json", _fixed(b"  \n ")),
    MalformedKind("plain text", "malformed_json", _fixed(b"click")),
    MalformedKind("a web page", "malformed_json", _fixed(b"<html><body>502 Bad Gateway</body></html>")),
    MalformedKind("null", "malformed_json", _fixed(b"null")),
    MalformedKind("a number", "malformed_json", _fixed(b"1")),
    MalformedKind("a string", "malformed_json", _text(lambda text: json.dumps(text.decode()).encode())),
    MalformedKind("a list of one event", "malformed_json", _text(lambda text: b"[" + text + b"]")),
    MalformedKind("two events on two lines", "malformed_json", _text(lambda text: text + b"\n" + text)),
    MalformedKind("two events by a comma", "malformed_json", _text(lambda text: text + b"," + text)),
    MalformedKind("text after the event", "malformed_json", _text(lambda text: text + b" ok")),
    MalformedKind("comma before the brace", "malformed_json", _repeated(b",")),
    MalformedKind("comment", "malformed_json", _text(lambda text: b"/* click */" + text)),
    MalformedKind("single quotes", "malformed_json", _text(lambda text: text.replace(b'"', b"'"))),
    MalformedKind("names without quotes", "malformed_json", _text(lambda text: text.replace(b'"ad_id"', b"ad_id"))),
    MalformedKind("byte order mark", "malformed_json", _text(lambda text: b"\xef\xbb\xbf" + text)),
    MalformedKind("UTF-16", "malformed_json", _fixed('{"v":1}'.encode("utf-16-le"))),
    MalformedKind("NaN", "malformed_json", _literally("ad_id", b"NaN")),
    MalformedKind("leading zero", "malformed_json", _literally("ad_id", b"010001")),
    MalformedKind("hexadecimal", "malformed_json", _literally("ad_id", b"0x2711")),
    MalformedKind("raw line feed", "malformed_json", _literally("user_agent", b'"a\nb"')),
    MalformedKind("raw NUL", "malformed_json", _literally("user_agent", b'"a\x00b"')),
    MalformedKind("half a surrogate pair", "malformed_json", _literally("user_agent", b'"\\ud83d"')),
    MalformedKind("unknown escape", "malformed_json", _literally("user_agent", b'"\\x41"')),
    MalformedKind("key repeated, same value", "malformed_json", _repeated(b',"v":1')),
    MalformedKind("key repeated, other value", "malformed_json", _repeated(b',"ad_id":1')),
    MalformedKind("key repeated further in", "malformed_json", _repeated(b',"extra":{"a":1,"a":2}')),
    MalformedKind("nested too deep", "malformed_json", _repeated(b',"extra":' + b"[" * NESTING + b"]" * NESTING)),
)
_UNKNOWN_VERSION = (
    MalformedKind("next version", "unknown_version", _with(v=EVENT_VERSION + 1)),
    MalformedKind("version 0", "unknown_version", _with(v=0)),
    MalformedKind("negative version", "unknown_version", _with(v=-1)),
    MalformedKind("huge version", "unknown_version", _with(v=MAX_INT64)),
    MalformedKind("next version, other fields", "unknown_version", _fixed(b'{"v":2,"imp":"x","ad":"y"}')),
)
_MISSING = tuple(
    MalformedKind(f"no {name}", "missing_field", _without(name))
    for name in (
        *("v", "impression_id", "ad_id", "advertiser_id", "campaign_id", "clicked_at", "country", "device"),
        *("ip", "user_agent", "kind", "server_id", "server_seq"),
    )
)
_MISSING_OTHERWISE = (
    MalformedKind("ad_id null", "missing_field", _with(ad_id=None)),
    MalformedKind("country null", "missing_field", _with(country=None)),
    MalformedKind("empty object", "missing_field", _fixed(b"{}")),
    MalformedKind("name in capitals", "missing_field", _text(lambda text: text.replace(b'"ad_id"', b'"AD_ID"'))),
    MalformedKind("wrong type and a field missing", "missing_field", _fixed(b'{"v":1,"ad_id":"x"}')),
)
_WRONG_TYPE = (
    MalformedKind("version as text", "wrong_type", _with(v="1")),
    MalformedKind("ad_id as text", "wrong_type", lambda fields: _written(fields | {"ad_id": str(fields["ad_id"])})),
    MalformedKind("ad_id with a fraction", "wrong_type", _with(ad_id=10_001.5)),
    MalformedKind("ad_id with a point and zero", "wrong_type", _literally("ad_id", b"10001.0")),
    MalformedKind("ad_id beyond all floats", "wrong_type", _literally("ad_id", b"1e400")),
    MalformedKind("ad_id true", "wrong_type", _with(ad_id=True)),
    MalformedKind("ad_id a list", "wrong_type", _with(ad_id=[10_001])),
    MalformedKind("ad_id an object", "wrong_type", _with(ad_id={"id": 10_001})),
    MalformedKind("ad_id beyond 64 bits", "wrong_type", _with(ad_id=MAX_INT64 + 1)),
    MalformedKind("ad_id of 30 digits", "wrong_type", _with(ad_id=10**30)),
    MalformedKind("server_seq far below zero", "wrong_type", _with(server_seq=-(10**20))),
    MalformedKind("impression_id a number", "wrong_type", _with(impression_id=42)),
    MalformedKind("clicked_at in milliseconds", "wrong_type", _with(clicked_at=1_800_000_000_000)),
    MalformedKind("country false", "wrong_type", _with(country=False)),
    MalformedKind("spooled_at a number", "wrong_type", _with(spooled_at=0)),
    MalformedKind("wrong type and bad value", "wrong_type", _with(ad_id="x", country="Germany")),
)
_BAD_TIME = (
    MalformedKind("no zone", "bad_value", _clicked(lambda text: text[:-1])),
    MalformedKind("other zone", "bad_value", _clicked(lambda text: text[:-1] + "+02:00")),
    MalformedKind("date only", "bad_value", _clicked(lambda text: text[:10])),
    MalformedKind("blank for T", "bad_value", _clicked(lambda text: text.replace("T", " "))),
    MalformedKind("nanoseconds", "bad_value", _clicked(lambda text: text[:-1] + "000Z")),
    MalformedKind("before 2000", "bad_value", _clicked(lambda text: "1970" + text[4:])),
    MalformedKind("year 0001", "bad_value", _clicked(lambda text: "0001" + text[4:])),
    MalformedKind("year 10000", "bad_value", _clicked(lambda text: "10000" + text[4:])),
    MalformedKind("negative year", "bad_value", _clicked(lambda text: "-" + text)),
    MalformedKind("30 February", "bad_value", _clicked(lambda text: text[:5] + "02-30" + text[10:])),
    MalformedKind("29 February 2100", "bad_value", _clicked(lambda text: "2100-02-29" + text[10:])),
    MalformedKind("hour 24", "bad_value", _clicked(lambda text: text[:11] + "24" + text[13:])),
    MalformedKind("leap second", "bad_value", _clicked(lambda text: text[:17] + "60" + text[19:])),
    MalformedKind("spooled_at without zone", "bad_value", _with(spooled_at="2026-01-01T00:00:00")),
)
_BAD_VALUE = (
    MalformedKind("ad_id 0", "bad_value", _with(ad_id=0)),
    MalformedKind("ad_id negative", "bad_value", _with(ad_id=-10_001)),
    MalformedKind("campaign_id negative", "bad_value", _with(campaign_id=-MAX_INT64 - 1)),
    MalformedKind("server_seq negative", "bad_value", _with(server_seq=-1)),
    MalformedKind("impression_id empty", "bad_value", _with(impression_id="")),
    MalformedKind("impression_id with a blank", "bad_value", _with(impression_id="an id")),
    MalformedKind("impression_id of 65 letters", "bad_value", _with(impression_id="i" * 65)),
    MalformedKind("impression_id ends in a line feed", "bad_value", _with(impression_id="id\n")),
    MalformedKind("country in small letters", "bad_value", _with(country="de")),
    MalformedKind("country of three letters", "bad_value", _with(country="DEU")),
    MalformedKind("country empty", "bad_value", _with(country="")),
    MalformedKind("country of full-width letters", "bad_value", _with(country="ＤＥ")),
    MalformedKind("unknown device", "bad_value", _with(device="phone")),
    MalformedKind("unknown kind", "bad_value", _with(kind="view")),
    MalformedKind("kind in capitals", "bad_value", _with(kind="Click")),
    MalformedKind("ip too long", "bad_value", _with(ip="1" * 65)),
    MalformedKind("user_agent too long", "bad_value", _with(user_agent="U" * 4_097)),
    MalformedKind("escaped NUL", "bad_value", _literally("user_agent", b'"a\\u0000b"')),
    MalformedKind("escaped bell", "bad_value", _literally("ip", b'"198.18.0.1\\u0007"')),
    MalformedKind("delete character", "bad_value", _with(user_agent="a\x7fb")),
    MalformedKind("server_id with a slash", "bad_value", _with(server_id="../edge")),
)

MALFORMED_KINDS: tuple[MalformedKind, ...] = (
    *_EMPTY,
    *_TOO_LARGE,
    *_NOT_UTF8,
    *_MALFORMED_JSON,
    *_UNKNOWN_VERSION,
    *_MISSING,
    *_MISSING_OTHERWISE,
    *_WRONG_TYPE,
    *_BAD_TIME,
    *_BAD_VALUE,
)
