"""What an ad may look like."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from domain.ads import MAX_URL_LENGTH, Ad, AdError
from domain.events import MAX_INT64

WHOLE: dict[str, Any] = {"ad_id": 1, "advertiser_id": 10, "campaign_id": 100, "target_url": "https://shoes.example/"}


def test_an_ad_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Ad(**WHOLE).ad_id = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    "change",
    [
        {"ad_id": MAX_INT64},
        {"price_micros": 0, "currency": "EUR"},
        {"price_micros": MAX_INT64, "currency": "JPY"},
        {"target_url": "http://a"},
        {"target_url": "HTTPS://Shoes.Example:8443/a?b=%20&c=d#e"},
        {"target_url": "https://[2001:db8::1]/"},
        {"target_url": "https://bücher.example/ü"},
        {"target_url": "https://a/" + "x" * (MAX_URL_LENGTH - 10)},
    ],
    ids=str,
)
def test_these_are_allowed(change: dict[str, Any]) -> None:
    assert Ad(**WHOLE | change)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ad_id": 0}, "ad_id is 0"),
        ({"ad_id": -1}, "ad_id is -1"),
        ({"ad_id": True}, "ad_id is True"),
        ({"ad_id": 1.0}, "ad_id is 1.0"),
        ({"ad_id": "1"}, "ad_id is '1'"),
        ({"ad_id": None}, "ad_id is None"),
        ({"ad_id": MAX_INT64 + 1}, "ad_id is 9223372036854775808"),
        ({"advertiser_id": 0}, "advertiser_id is 0"),
        ({"campaign_id": 0}, "campaign_id is 0"),
        ({"target_url": ""}, "target_url is ''"),
        ({"target_url": None}, "target_url is None"),
        ({"target_url": "shoes.example"}, "target_url is"),
        ({"target_url": "//shoes.example"}, "target_url is"),
        ({"target_url": "javascript:alert(1)"}, "target_url is"),
        ({"target_url": "ftp://shoes.example"}, "target_url is"),
        ({"target_url": "https:///path"}, "target_url is"),
        ({"target_url": "https://a b/"}, "target_url is"),
        ({"target_url": "https://a/\r\nSet-Cookie: x"}, "target_url is"),
        ({"target_url": "https://a/\x00"}, "target_url is"),
        ({"target_url": "https://a:99999/"}, "target_url is"),
        ({"target_url": "https://[::1/"}, "target_url is"),
        ({"target_url": "https://a/" + "x" * MAX_URL_LENGTH}, "target_url is"),
        ({"price_micros": -1, "currency": "EUR"}, "price_micros is -1"),
        ({"price_micros": 0.5, "currency": "EUR"}, "price_micros is 0.5"),
        ({"price_micros": 1}, "a price and its currency, or neither"),
        ({"currency": "EUR"}, "a price and its currency, or neither"),
        ({"price_micros": 1, "currency": "eur"}, "currency is 'eur'"),
        ({"price_micros": 1, "currency": "EURO"}, "currency is 'EURO'"),
        ({"price_micros": 1, "currency": "EUR\n"}, "currency is 'EUR"),
        ({"price_micros": 1, "currency": 978}, "currency is 978"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_these_are_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(AdError) as raised:
        Ad(**WHOLE | change)
    assert named in str(raised.value)
