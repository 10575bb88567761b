"""Event bytes: valid under the published schema, the ad's owner from its record, microseconds kept."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from jsonschema import Draft202012Validator

from domain.events import MAX_EVENT_BYTES, MAX_INT64, json_schema
from domain.settings import Settings
from services.click.ad_map import ServedAd
from services.click.events import Stamp, event_bytes
from services.click.visitor import visitor_of
from services.click.whereabouts import Whereabouts

AD = ServedAd(17, 3, 5, "https://shop.example/")
NOWHERE = Whereabouts(Settings(home=Path("unused")))
LARGEST = ServedAd(MAX_INT64, MAX_INT64, MAX_INT64, "https://shop.example/")


@pytest.mark.parametrize(
    ("clicked_at", "text"),
    [
        (datetime(2026, 3, 1, 12, 30, 15, 250, tzinfo=UTC), "2026-03-01T12:30:15.000250Z"),
        (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00.000000Z"),
    ],
)
def test_instants_have_microseconds_and_a_zone(clicked_at: datetime, text: str) -> None:
    event = orjson.loads(event_bytes("imp-7", AD, visitor_of("GET", [], None, NOWHERE), Stamp("edge-1", 0, clicked_at)))
    assert event["clicked_at"] == text


@pytest.mark.parametrize("user_agent", [b"", b'"' * 4_096, b"\\" * 4_096, ("\U0010ffff" * 4_096).encode()])
@pytest.mark.parametrize("ad", [AD, LARGEST])
def test_the_largest_event_is_valid(user_agent: bytes, ad: ServedAd) -> None:
    visitor = visitor_of("GET", [(b"user-agent", user_agent)], ("f" * 100, 1), NOWHERE)
    stamp = Stamp("e" * 64, MAX_INT64, datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
    payload = event_bytes("a" * 64, ad, visitor, stamp)
    Draft202012Validator(json_schema()).validate(orjson.loads(payload))
    assert len(payload) < MAX_EVENT_BYTES
    assert b"\n" not in payload


def test_a_bot_is_said_only_where_it_is_one() -> None:
    stamp = Stamp("edge-1", 0, datetime(2026, 3, 1, tzinfo=UTC))
    for user_agent, said in ((b"curl/8.0", {"bot": True}), (b"Mozilla/5.0 (iPad)", {})):
        visitor = visitor_of("GET", [(b"user-agent", user_agent)], None, NOWHERE)
        event = orjson.loads(event_bytes("imp-7", AD, visitor, stamp))
        assert {name: value for name, value in event.items() if name == "bot"} == said
        Draft202012Validator(json_schema()).validate(event)
