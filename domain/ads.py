"""What an ad is, for the warehouse and the click service.

Belongs here: the fields and their bounds. The history of ads is table ``ads``, see ``warehouse/ads.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from domain.errors import UsageError
from domain.events import MAX_INT64

MAX_URL_LENGTH = 2_048
_CURRENCY = re.compile(r"[A-Z]{3}\Z")
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f]")


class AdError(UsageError):
    """An ad has a field that is not allowed."""


@dataclass(frozen=True)
class Ad:
    """One ad. ``price_micros`` is millionths of the currency unit per click; it and ``currency`` come together."""

    ad_id: int
    advertiser_id: int
    campaign_id: int
    target_url: str
    price_micros: int | None = None
    currency: str | None = None

    def __post_init__(self) -> None:
        for name in ("ad_id", "advertiser_id", "campaign_id"):
            self._check(name, _is_int(getattr(self, name), minimum=1), f"a whole number from 1 to {MAX_INT64}")
        self._check(
            "target_url", _is_web_url(self.target_url), f"an http(s) address of up to {MAX_URL_LENGTH} characters"
        )
        if self.price_micros is not None:
            self._check("price_micros", _is_int(self.price_micros, minimum=0), f"a whole number from 0 to {MAX_INT64}")
        if self.currency is not None:
            is_code = isinstance(self.currency, str) and _CURRENCY.match(self.currency) is not None
            self._check("currency", is_code, "an ISO 4217 code such as EUR")
        self._check(
            "currency", (self.currency is None) == (self.price_micros is None), "a price and its currency, or neither"
        )

    def _check(self, name: str, is_allowed: bool, expected: str) -> None:
        if not is_allowed:
            raise AdError(f"{name} is {getattr(self, name)!r}", expected, "correct the ad")


def _is_int(value: object, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= MAX_INT64


def _is_web_url(value: object) -> bool:
    """Checked here once, because the redirect sends people to it as it stands."""
    if not isinstance(value, str) or len(value) > MAX_URL_LENGTH or _UNSAFE_IN_URL.search(value):
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
