"""What a request tells of its sender: the kind of request, the user agent, the class of device, address and country.

Belongs here: reading headers, so that whatever a stranger sends becomes a valid field of an event. Nothing here can
fail, and nothing here decides whether the request is answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from domain.events import CONTROL_CHARACTERS, FIELDS, Kind
from services.click.bots import is_bot
from services.click.devices import Device, device_of
from services.click.whereabouts import Headers, Whereabouts

_PREFETCH_HEADERS = frozenset((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"))
_PREFETCH_TOKENS = (b"prefetch", b"prerender", b"preview")
_CONTROL = re.compile(CONTROL_CHARACTERS)
_MAX_LENGTH = {field.name: field.max_length for field in FIELDS}


@dataclass(frozen=True)
class Visitor:
    """Who asked, as far as the request says. ``ip`` is the peer's address, or behind a trusted proxy the visitor's."""

    kind: Kind
    ip: str
    country: str
    user_agent: str
    device: Device
    is_bot: bool


def visitor_of(method: str, headers: Headers, peer: tuple[str, int] | None, whereabouts: Whereabouts) -> Visitor:
    """The sender of a request with these headers (names in lower case). Of two user agents the first counts."""
    is_prefetch = False
    user_agent: str | None = None
    for name, value in headers:
        if name == b"user-agent" and user_agent is None:
            user_agent = _field_text(value, "user_agent")
        elif name in _PREFETCH_HEADERS and not is_prefetch:
            is_prefetch = any(token in value.lower() for token in _PREFETCH_TOKENS)
    kind: Kind = "head" if method == "HEAD" else "prefetch" if is_prefetch else "click"
    ip, country = whereabouts.locate(headers, peer[0] if peer else "")
    text = user_agent or ""
    return Visitor(kind, ip[: _MAX_LENGTH["ip"]], country, text, device_of(text), is_bot(text))


def _field_text(value: bytes, field_name: str) -> str:
    """The header as text that the event's schema allows: without control characters, cut at the field's length."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return _CONTROL.sub("", text)[: _MAX_LENGTH[field_name]]
