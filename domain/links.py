"""The text of a click link: its parameters, read strictly and written one way.

Belongs here: the query string in and out. Does not belong here: whether the signature holds (``domain/signing.py``)
and which HTTP status a fault becomes (``services/click``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from domain.events import MAX_INT64
from domain.signing import SIGNATURE_CHARACTERS, SignedLink

CLICK_PATH = "/v1/c"
MAX_QUERY_BYTES = 4_096
"""Our own parameters take 200 bytes; the rest is room for what others append to a link (utm_source, fbclid)."""

LinkFaultReason = Literal[
    "query_too_long", "missing_parameter", "repeated_parameter", "oversized_parameter", "malformed_parameter"
]


@dataclass(frozen=True)
class LinkFault:
    """Why a query string is no click link. ``parameter`` is None where the fault is in no single one."""

    reason: LinkFaultReason
    parameter: str | None
    expected: str


@dataclass(frozen=True)
class _Parameter:
    max_bytes: int
    pattern: re.Pattern[bytes]
    expected: str


_PARAMETERS = {
    "imp": _Parameter(64, re.compile(rb"[A-Za-z0-9_-]+"), "1 to 64 letters, digits, - or _"),
    "ad": _Parameter(19, re.compile(rb"[1-9][0-9]*"), f"a whole number from 1 to {MAX_INT64}, without leading zeros"),
    "kid": _Parameter(32, re.compile(rb"[A-Za-z0-9_-]+"), "1 to 32 letters, digits, - or _"),
    "sig": _Parameter(
        SIGNATURE_CHARACTERS,
        re.compile(rb"[A-Za-z0-9_-]{%d}" % SIGNATURE_CHARACTERS),
        f"{SIGNATURE_CHARACTERS} characters of base64url",
    ),
}
_OPTIONAL_PARAMETERS = {
    "exp": _Parameter(11, re.compile(rb"[1-9][0-9]*"), "a Unix time in seconds, without leading zeros"),
}
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def parse_link(query: bytes) -> SignedLink | LinkFault:
    """The link that a raw query string carries, or its first fault. Never raises.

    Parameters that are not ours are ignored, whatever they hold: advertising platforms append theirs to every link.
    """
    if len(query) > MAX_QUERY_BYTES:
        return LinkFault("query_too_long", None, f"a query string of at most {MAX_QUERY_BYTES} bytes")
    values: dict[str, bytes] = {}
    for part in query.split(b"&"):
        raw_name, _, raw_value = part.partition(b"=")
        name = _unescaped(raw_name).decode("latin-1")
        if name not in _PARAMETERS and name not in _OPTIONAL_PARAMETERS:
            continue
        if name in values:
            return LinkFault("repeated_parameter", name, f"{name} once")
        values[name] = _unescaped(raw_value)
    return _fault_in(values) or SignedLink(
        impression_id=values["imp"].decode(),
        ad_id=int(values["ad"]),
        key_id=values["kid"].decode(),
        signature=values["sig"].decode(),
        expires_seconds=int(values["exp"]) if "exp" in values else None,
    )


def _fault_in(values: dict[str, bytes]) -> LinkFault | None:
    given = {name: parameter for name, parameter in _OPTIONAL_PARAMETERS.items() if name in values}
    for name, parameter in (_PARAMETERS | given).items():
        value = values.get(name)
        if not value:
            return LinkFault("missing_parameter", name, parameter.expected)
        if len(value) > parameter.max_bytes:
            return LinkFault("oversized_parameter", name, parameter.expected)
        if not parameter.pattern.fullmatch(value) or (name == "ad" and int(value) > MAX_INT64):
            return LinkFault("malformed_parameter", name, parameter.expected)
    return None


def _unescaped(text: bytes) -> bytes:
    """Percent-decoded once. A stray percent sign stays, and no value of ours may hold one."""
    return _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), text) if b"%" in text else text


def link_query(link: SignedLink) -> str:
    """The query string of a link, in the order in which the documents show it."""
    parameters: dict[str, str | int] = {"imp": link.impression_id, "ad": link.ad_id, "kid": link.key_id}
    if link.expires_seconds is not None:
        parameters["exp"] = link.expires_seconds
    return urlencode(parameters | {"sig": link.signature})
