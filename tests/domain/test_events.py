"""The event as data: one description, and a JSON Schema that says the same to producers that are not ours."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from domain.events import DEVICES, FIELDS, INSTANT_PATTERN, KINDS, MAX_INT64, REASONS, Kind, Reason, json_schema
from domain.parsing import ParsedEvent, parse_event
from tests.support.events import AD, click

VALIDATOR = Draft202012Validator(json_schema())
AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
ABSENT = object()


def _document(**changes: Any) -> dict[str, Any]:
    document = json.loads(click("imp-1", AT)[1]) | changes
    return {name: value for name, value in document.items() if value is not ABSENT}


def test_the_types_list_what_the_tables_list() -> None:
    assert get_args(Kind) == KINDS
    assert get_args(Reason) == tuple(REASONS)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())


def test_the_schema_describes_every_field() -> None:
    schema = json_schema()
    assert list(schema["properties"]) == [field.name for field in FIELDS]
    assert all(described["description"] for described in schema["properties"].values())
    assert set(schema["required"]) == {field.name for field in FIELDS} - {"spooled_at"}


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown key": {"extra": {"a": 1}},
    "spooled": {"spooled_at": "2026-05-04T11:00:00Z"},
    "spooled null": {"spooled_at": None},
    "largest id": {"advertiser_id": MAX_INT64},
    **{f"kind {kind}": {"kind": kind} for kind in KINDS},
    **{f"device {device}": {"device": device} for device in DEVICES},
    **{f"no {field.name}": {field.name: ABSENT} for field in FIELDS},
    **{f"{field.name} null": {field.name: None} for field in FIELDS if field.is_required},
    **{f"{field.name} an array": {field.name: []} for field in FIELDS},
    "version 2": {"v": 2},
    "id zero": {"ad_id": 0},
    "id beyond 64 bits": {"advertiser_id": MAX_INT64 + 1},
    "id as text": {"campaign_id": "1"},
    "id with a fraction": {"campaign_id": 1.5},
    "sequence negative": {"server_seq": -1},
    "impression too long": {"impression_id": "x" * 65},
    "impression and a line feed": {"impression_id": "x\n"},
    "country lower case": {"country": "de"},
    "country beyond ASCII": {"country": "ÄÖ"},
    "device unknown": {"device": "tv"},
    "ip too long": {"ip": "1" * 65},
    "user agent longest": {"user_agent": "é" * 4096},
    "user agent too long": {"user_agent": "é" * 4097},
    "user agent with NUL": {"user_agent": "\x00"},
    "user agent and a line feed": {"user_agent": "x\n"},
    "user agent with DEL": {"user_agent": "\x7f"},
    "time without zone": {"clicked_at": "2026-05-04T12:00:00"},
    "hour 24": {"clicked_at": "2026-05-04T24:00:00Z"},
    "month 13": {"clicked_at": "2026-13-04T12:00:00Z"},
    "spooled nonsense": {"spooled_at": "soon"},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_the_schema_and_the_parser_agree(changes: dict[str, Any]) -> None:
    document = _document(**changes)
    found = parse_event(json.dumps(document).encode(), AT, {AD})
    assert VALIDATOR.is_valid(document) == isinstance(found, ParsedEvent), found


def test_days_that_do_not_exist_are_beyond_a_pattern() -> None:
    """The one thing that the parser refuses and the schema cannot see."""
    document = _document(clicked_at="2026-02-30T12:00:00Z")
    assert VALIDATOR.is_valid(document)
    assert parse_event(json.dumps(document).encode(), AT, {AD}) == "bad_value"


def test_instants_have_at_most_microseconds() -> None:
    assert re.search(INSTANT_PATTERN, "2026-05-04T12:00:00.123456Z")
    assert not re.search(INSTANT_PATTERN, "2026-05-04T12:00:00.1234567Z")
    assert not re.search(INSTANT_PATTERN, "2026-05-04T12:00:00.Z")
