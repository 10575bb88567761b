"""The JSON Schema file equals the definition of the event, and tells good events from bad ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from clicklog.schema import SCHEMA_FILE, schema_text
from domain.events import EVENT_VERSION, json_schema
from tests.support.events import click

GOOD = json.loads(click("imp-1", datetime(2026, 1, 31, 12, tzinfo=UTC))[1])


def _validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_file_is_the_definition() -> None:
    """After a change of ``domain/events.py``: ``python -m clicklog.schema``."""
    assert SCHEMA_FILE.name == f"click_event.v{EVENT_VERSION}.json"
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()
    assert json.loads(schema_text()) == json_schema()


@pytest.mark.parametrize("changes", [{}, {"kind": "head"}, {"spooled_at": None}, {"a_key_of_theirs": [1]}], ids=str)
def test_a_good_event_is_accepted(changes: dict[str, object]) -> None:
    assert list(_validator().iter_errors(GOOD | changes)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2},
        {"ad_id": "17"},
        {"ad_id": 0},
        {"ad_id": 2**63},
        {"impression_id": "has spaces"},
        {"clicked_at": "2026-01-31T12:00:00"},
        {"country": "us"},
        {"device": "fridge"},
        {"user_agent": "bell \x07"},
        {"server_id": None},
    ],
    ids=str,
)
def test_a_bad_event_is_refused(changes: dict[str, object]) -> None:
    assert list(_validator().iter_errors(GOOD | changes))
