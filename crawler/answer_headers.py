"""Headers of an answer, read leniently and never slowly.

Belongs here: Retry-After, validators, media type and a look at the start of a body. Does not belong here: charsets
(``crawler/charset.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from crawler.outcomes import Validators

LONGEST_RETRY_AFTER_SECONDS = 6 * 3_600
"""More than this is asked by mistake more often than on purpose; the origin says it again if it means it."""
_MAX_DATE_CHARACTERS = 64
_SECONDS = re.compile(r"[0-9]{1,18}")
SNIFFED_BYTES = 512
UNTOLD_TYPES = frozenset({"", "application/octet-stream", "application/x-unknown", "unknown/unknown", "*/*"})
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_BINARY_STARTS = (
    b"%PDF-",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"MZ",
    b"\x7fELF",
    b"Rar!",
)
_HTML_START = re.compile(
    rb"\s*(?:<!--|<(?:!doctype html|html|head|body|title|script|meta|table|div|h1|p|a|br|iframe|style|font|b)[\s>])",
    re.IGNORECASE,
)
_XML_START = re.compile(rb"\s*<\?xml")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def retry_after_seconds(value: str | None, at: datetime) -> int | None:
    """The wait that a Retry-After asks for, from 0 to the clamp; None if it asks for none that can be read."""
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(int(text), LONGEST_RETRY_AFTER_SECONDS)
    until = _date(text)
    if until is None:
        return None
    return max(0, min(int((until - at).total_seconds()), LONGEST_RETRY_AFTER_SECONDS))


def _date(text: str) -> datetime | None:
    if not text or len(text) > _MAX_DATE_CHARACTERS:
        return None
    try:
        until = parsedate_to_datetime(text)
        return until.astimezone(UTC) if until.tzinfo else until.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def validators_of(headers: Sequence[tuple[bytes, bytes]]) -> Validators:
    """ETag and Last-Modified as they came; of several, the first."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found.setdefault(name.lower(), value)
    return Validators(found.get(b"etag") or None, found.get(b"last-modified") or None)


def conditional_headers(validators: Validators) -> Mapping[str, str]:
    """What asks for an answer only if there is another version, byte for byte as it was given.

    A validator that is no UTF-8 cannot be sent so by the HTTP client, and then is not sent at all.
    """
    asked = {"If-None-Match": validators.etag, "If-Modified-Since": validators.last_modified}
    return {name: text for name, value in asked.items() if value and (text := _utf8(value)) is not None}


def _utf8(value: bytes) -> str | None:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def declared_type(content_type: str | None) -> str:
    """The media type that a header names, in small letters, without parameters; empty if it names none."""
    return (content_type or "").partition(";")[0].strip().lower()


def media_type(content_type: str | None, head: bytes) -> str | None:
    """What a body is, from its header and its first bytes; None if it is nothing that has text.

    A declared type stands, unless the bytes are plainly not text: a page is not made of what calls itself one.
    """
    declared = declared_type(content_type)
    start = head[:SNIFFED_BYTES]
    if start.startswith(_BINARY_STARTS) or (not start.startswith(_BYTE_ORDER_MARKS) and _CONTROL.search(start)):
        return None
    if declared not in UNTOLD_TYPES:
        return declared
    if _HTML_START.match(start):
        return "text/html"
    return "text/xml" if _XML_START.match(start) else "text/plain"
