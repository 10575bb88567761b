"""The table of broken forms: each is quarantined for the reason that stands beside it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from domain.events import MAX_EVENT_BYTES, REASONS
from domain.parsing import parse_event
from tests.traffic.samples import SHOP
from traffic.event import microseconds
from traffic.malformed import MALFORMED_KINDS, MalformedKind
from traffic.visits import Visit, as_fields, write_event

APPENDED_AT = datetime(2026, 3, 2, tzinfo=UTC)
VISIT = Visit("0195-id", SHOP, microseconds(datetime(2026, 3, 1, 9, tzinfo=UTC)), "198.18.0.1", "Opera", "traffic-1", 4)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in MALFORMED_KINDS])
def test_kind_is_judged_as_the_table_says(kind: MalformedKind) -> None:
    assert parse_event(kind.build(as_fields(VISIT)), APPENDED_AT, {SHOP.ad_id}) == kind.reason


def test_the_event_they_are_made_from_is_valid() -> None:
    assert not isinstance(parse_event(write_event(VISIT), APPENDED_AT, {SHOP.ad_id}), str)


def test_every_reason_but_the_two_of_valid_json_is_there() -> None:
    assert {kind.reason for kind in MALFORMED_KINDS} == REASONS.keys() - {"future_dated", "unknown_ad"}


def test_kinds_differ_in_name_and_bytes() -> None:
    assert len({kind.name for kind in MALFORMED_KINDS}) == len(MALFORMED_KINDS)
    assert len({kind.build(as_fields(VISIT)) for kind in MALFORMED_KINDS}) == len(MALFORMED_KINDS)


def test_large_kinds_are_marked_and_one_of_them_is_about_a_megabyte() -> None:
    sizes = {kind.name: len(kind.build(as_fields(VISIT)) or b"") for kind in MALFORMED_KINDS}
    large = {kind.name for kind in MALFORMED_KINDS if kind.is_large}
    assert {name for name, size in sizes.items() if size > MAX_EVENT_BYTES} == large
    assert sizes["one megabyte"] == 1_000_000
    assert sizes["a byte too many"] == MAX_EVENT_BYTES + 1
