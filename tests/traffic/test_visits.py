"""The bytes of valid events, usual and odd, as the product's parser reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random

import pytest

from domain.parsing import parse_event
from services.click.devices import device_of
from tests.traffic.samples import SHOP
from traffic.event import microseconds
from traffic.visits import USER_AGENTS, Visit, as_fields, random_ip, write_event, write_instant, write_odd_event

APPENDED_AT = datetime(2026, 3, 2, tzinfo=UTC)
CLICKED_US = microseconds(datetime(2026, 3, 1, 9, 59, 59, 120_000, tzinfo=UTC))
VISIT = Visit("0195-id", SHOP, CLICKED_US, "198.18.0.1", USER_AGENTS["mobile"][0], "traffic-1", 4)


def test_the_usual_form_has_every_field() -> None:
    assert json.loads(write_event(VISIT, "head")) == {
        "v": 1,
        "impression_id": "0195-id",
        "ad_id": 10_001,
        "advertiser_id": 11,
        "campaign_id": 1101,
        "clicked_at": "2026-03-01T09:59:59.120000Z",
        "country": "DE",
        "device": "mobile",
        "ip": "198.18.0.1",
        "user_agent": USER_AGENTS["mobile"][0],
        "kind": "head",
        "server_id": "traffic-1",
        "server_seq": 4,
    }
    assert as_fields(VISIT)["kind"] == "click"


def test_every_odd_form_is_the_same_event_in_other_bytes() -> None:
    usual = write_event(VISIT)
    expected = parse_event(usual, APPENDED_AT, {SHOP.ad_id})
    random = Random(1)
    forms = {write_odd_event(VISIT, random) for _ in range(500)}
    assert len(forms) == 11
    assert usual not in forms
    assert {form: parse_event(form, APPENDED_AT, {SHOP.ad_id}) for form in forms} == dict.fromkeys(forms, expected)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        pytest.param(datetime(2026, 3, 1, 9, tzinfo=UTC), "2026-03-01T09:00:00.000000Z", id="zeros"),
        pytest.param(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), "9999-12-31T23:59:59.999999Z", id="last"),
    ],
)
def test_instants(at: datetime, text: str) -> None:
    assert write_instant(microseconds(at)) == text


def test_user_agents_are_of_the_device_that_the_click_service_sees() -> None:
    assert {device: {device_of(text) for text in texts} for device, texts in USER_AGENTS.items()} == {
        device: {device} for device in USER_AGENTS
    }


def test_addresses_are_nobodys() -> None:
    random = Random(1)
    addresses = {random_ip(random) for _ in range(2_000)}
    assert {address.split(".")[0] if "." in address else address[:9] for address in addresses} == {"198", "2001:db8:"}
    assert len(addresses) > 1_500
