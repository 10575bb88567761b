"""The raw facts of one request and the bytes of its event.

Belongs here: writing a valid event, usual or odd in form. Events that are not valid are ``malformed.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from domain.events import EVENT_VERSION, Kind
from traffic.dice import Weighted
from traffic.event import MINUTE_US, SECOND_US, Dimensions, instant

SERVERS = ("traffic-1", "traffic-2", "traffic-3")
USER_AGENTS = {
    "mobile": (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile Safari/604.1",
        "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36",
    ),
    "desktop": (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36",
        "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    ),
    "tablet": (
        "Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 Version/17.6 Safari/604.1",
        "Mozilla/5.0 (Linux; Android 14; SM-X910) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36",
    ),
    "other": ("SmartTV/1.0 (tv)", "curl/8.5.0"),
}
CACHED_MINUTES = 4_096


class Visit(NamedTuple):
    """One request as a click server saw it."""

    impression_id: str
    dimensions: Dimensions
    clicked_us: int
    ip: str
    user_agent: str
    server_id: str
    server_seq: int


def write_event(visit: Visit, kind: Kind = "click") -> bytes:
    """The usual form of the event. By hand, since this runs once a click; all texts are free of quotes."""
    advertiser_id, campaign_id, ad_id, country, device = visit.dimensions
    return (
        f'{{"v":{EVENT_VERSION},"impression_id":"{visit.impression_id}","ad_id":{ad_id},'
        f'"advertiser_id":{advertiser_id},"campaign_id":{campaign_id},"clicked_at":"{write_instant(visit.clicked_us)}",'
        f'"country":"{country}","device":"{device}","ip":"{visit.ip}","user_agent":"{visit.user_agent}",'
        f'"kind":"{kind}","server_id":"{visit.server_id}","server_seq":{visit.server_seq}}}'
    ).encode()


def write_instant(us: int) -> str:
    """ISO 8601 in UTC with microseconds."""
    minute, rest = divmod(us, MINUTE_US)
    seconds, fraction = divmod(rest, SECOND_US)
    return f"{_minute_text(minute)}{seconds:02d}.{fraction:06d}Z"


@lru_cache(maxsize=CACHED_MINUTES)
def _minute_text(minute: int) -> str:
    return instant(minute * MINUTE_US).strftime("%Y-%m-%dT%H:%M:")


def random_ip(random: Random) -> str:
    """An address of the ranges kept for benchmarks and documents, so that nobody is meant by it."""
    bits = random.getrandbits(18)
    if bits < _IPV6_BELOW:
        return f"2001:db8::{bits:x}"
    return f"198.{18 + (bits & 1)}.{bits >> 9 & 255}.{bits >> 1 & 255}"


_IPV6_BELOW = 1 << 15
"""One address in eight is of IPv6."""


def as_fields(visit: Visit) -> dict[str, Any]:
    """The click event as a document, to be changed."""
    fields: dict[str, Any] = json.loads(write_event(visit))
    return fields


def write_odd_event(visit: Visit, random: Random) -> bytes:
    """The click event in a form that is valid and unusual: what a producer that is not ours may write."""
    return _ODD_FORMS.choose(random)(as_fields(visit))


def _written(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _escaped(fields: dict[str, Any]) -> bytes:
    country = "".join(f"\\u{ord(letter):04x}" for letter in fields["country"])
    return _written(fields | {"country": "@"}).replace(b'"@"', f'"{country}"'.encode())


def _whole_second_missing_zeros(fields: dict[str, Any]) -> bytes:
    """A fraction of fewer digits: the trailing zeros are left out, and the point if nothing is left."""
    return _written(fields | {"clicked_at": fields["clicked_at"][:-1].rstrip("0").rstrip(".") + "Z"})


_FORMS: tuple[Callable[[dict[str, Any]], bytes], ...] = (
    lambda fields: _written(fields | {"clicked_at": fields["clicked_at"].replace("Z", "+00:00")}),
    lambda fields: _written(fields | {"spooled_at": fields["clicked_at"]}),
    lambda fields: _written(fields | {"spooled_at": None}),
    lambda fields: _written({"extra": {"nested": [1, 2.5, None, {"ad_id": 1}]}, "kind2": "head", **fields}),
    lambda fields: _written(dict(reversed(fields.items()))),
    lambda fields: _written(fields | {"user_agent": "Müller‑Browser/1.0 (日本; 🙂)"}),
    lambda fields: _written(fields | {"user_agent": 'quoted "and" \\ back'}),
    lambda fields: _written(fields | {"user_agent": ""}),
    lambda fields: b" \r\n\t" + json.dumps(fields, indent=2).encode() + b"\n ",
    _escaped,
    _whole_second_missing_zeros,
)
_ODD_FORMS = Weighted(_FORMS, [1] * len(_FORMS))
