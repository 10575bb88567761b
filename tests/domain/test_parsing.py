"""Parsing of one event in plain Python: each kind of bad input, the order of the reasons, and that it never raises."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import FIELDS, MAX_EVENT_BYTES, MAX_INT64, REASONS
from domain.parsing import ParsedEvent, parse_event
from tests.support.events import AD, ADVERTISER, CAMPAIGN, click

APPENDED_AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
CLICKED_AT = datetime(2026, 5, 4, 11, 59, 59, 123456, tzinfo=UTC)
ADS = {AD, MAX_INT64}
ABSENT = object()


def _event(**changes: Any) -> bytes:
    document = json.loads(click("imp-1", CLICKED_AT)[1]) | changes
    return json.dumps({name: value for name, value in document.items() if value is not ABSENT}).encode()


def _edited(old: str, new: str) -> bytes:
    text = _event().decode()
    assert old in text
    return text.replace(old, new).encode()


GOOD: dict[str, bytes] = {
    "plain": _event(),
    "head": _event(kind="head"),
    "prefetch": _event(kind="prefetch"),
    "spaces around": b" \r\n\t" + _event() + b" \n",
    "unknown keys": _event(extra={"nested": [1, 2.5, None]}, Ad_id=5),
    "escaped key": _edited('"ad_id"', '"ad\\u005fid"'),
    "text beyond ASCII": _event(user_agent="é漢😀"),
    "longest user agent": _event(user_agent="😀" * 4096),
    "longest impression": _event(impression_id="x" * 64),
    "largest integers": _event(ad_id=MAX_INT64, advertiser_id=MAX_INT64, server_seq=MAX_INT64),
    "offset instead of Z": _event(clicked_at="2026-05-04T11:59:59.123456+00:00"),
    "spooled": _event(spooled_at="2026-05-04T11:59:59Z"),
    "spooled_at null": _event(spooled_at=None),
    "at the future bound": _event(clicked_at="2026-05-04T12:05:00Z"),
    "year 2000": _event(clicked_at="2000-01-01T00:00:00Z"),
}

BAD: dict[str, tuple[bytes | None, str]] = {
    "no value": (None, "empty"),
    "empty value": (b"", "empty"),
    "a megabyte": (_event(user_agent="x" * 1_000_000), "too_large"),
    "a byte too many": (b" " * (MAX_EVENT_BYTES - len(_event()) + 1) + _event(), "too_large"),
    "no UTF-8": (_event()[:-1] + b"\xff}", "not_utf8"),
    "UTF-16": (_event().decode().encode("utf-16"), "not_utf8"),
    "blank": (b" ", "malformed_json"),
    "cut": (_event()[:-1], "malformed_json"),
    "more after it": (_event() + b"x", "malformed_json"),
    "two objects": (_event() * 2, "malformed_json"),
    "array": (b"[" + _event() + b"]", "malformed_json"),
    "number": (b"1", "malformed_json"),
    "null": (b"null", "malformed_json"),
    "byte order mark": (b"\xef\xbb\xbf" + _event(), "malformed_json"),
    "NaN": (_edited('"v": 1', '"v": NaN'), "malformed_json"),
    "Infinity in an unknown key": (_edited('"v": 1', '"v": 1, "x": -Infinity'), "malformed_json"),
    "single quotes": (_event().replace(b'"', b"'"), "malformed_json"),
    "trailing comma": (_event()[:-1] + b",}", "malformed_json"),
    "leading zero": (_edited('"v": 1', '"v": 01'), "malformed_json"),
    "raw control character": (_edited("Mozilla", "\x01"), "malformed_json"),
    "repeated key": (_edited('"v": 1', '"v": 1, "v": 1'), "malformed_json"),
    "repeated key, one escaped": (_edited('"v": 1', '"v": 1, "\\u0076": 1'), "malformed_json"),
    "repeated key inside": (_edited('"v": 1', '"v": 1, "x": {"a": 1, "a": 1}'), "malformed_json"),
    "lone surrogate": (_edited("Mozilla", "\\ud800"), "malformed_json"),
    "lone surrogate in a key": (_edited('"v": 1', '"v": 1, "\\udc00": 1'), "malformed_json"),
    "very deep": (b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}", "malformed_json"),
    "version 0": (_event(v=0), "unknown_version"),
    "version 2": (_event(v=2), "unknown_version"),
    "version -1": (_event(v=-1), "unknown_version"),
    "version 2 of another shape": (b'{"v": 2}', "unknown_version"),
    **{f"no {f.name}": (_event(**{f.name: ABSENT}), "missing_field") for f in FIELDS if f.is_required},
    **{f"{f.name} null": (_event(**{f.name: None}), "missing_field") for f in FIELDS if f.is_required},
    **{f"{f.name} an object": (_event(**{f.name: {}}), "wrong_type") for f in FIELDS},
    **{f"{f.name} a boolean": (_event(**{f.name: True}), "wrong_type") for f in FIELDS},
    "version as text": (_event(v="1"), "wrong_type"),
    "id as text": (_event(ad_id=str(AD)), "wrong_type"),
    "id with a fraction": (_event(ad_id=1.5), "wrong_type"),
    "id with a zero fraction": (_event(ad_id=float(AD)), "wrong_type"),
    "id with an exponent": (_edited(f'"ad_id": {AD}', '"ad_id": 17e0'), "wrong_type"),
    "id beyond 64 bits": (_event(ad_id=MAX_INT64 + 1), "wrong_type"),
    "id far below 64 bits": (_event(ad_id=-(10**30)), "wrong_type"),
    "time as a number": (_event(clicked_at=1_777_888_799), "wrong_type"),
    "id zero": (_event(ad_id=0), "bad_value"),
    "id negative": (_event(campaign_id=-1), "bad_value"),
    "sequence negative": (_event(server_seq=-1), "bad_value"),
    "impression empty": (_event(impression_id=""), "bad_value"),
    "impression too long": (_event(impression_id="x" * 65), "bad_value"),
    "impression with a bar": (_event(impression_id="a|b"), "bad_value"),
    "impression and a line feed": (_event(impression_id="a\n"), "bad_value"),
    "impression beyond ASCII": (_event(impression_id="é"), "bad_value"),
    "country lower case": (_event(country="de"), "bad_value"),
    "country of three": (_event(country="DEU"), "bad_value"),
    "country and a line feed": (_event(country="DE\n"), "bad_value"),
    "device unknown": (_event(device="tv"), "bad_value"),
    "device with a prefix": (_event(device="mobilex"), "bad_value"),
    "kind unknown": (_event(kind="view"), "bad_value"),
    "server empty": (_event(server_id=""), "bad_value"),
    "ip too long": (_event(ip="1" * 65), "bad_value"),
    "NUL in the user agent": (_event(user_agent="a\x00"), "bad_value"),
    "DEL in the user agent": (_event(user_agent="\x7f"), "bad_value"),
    "user agent too long": (_event(user_agent="x" * 4097), "bad_value"),
    "time without zone": (_event(clicked_at="2026-05-04T11:59:59"), "bad_value"),
    "time of another zone": (_event(clicked_at="2026-05-04T13:59:59+02:00"), "bad_value"),
    "time with a space": (_event(clicked_at="2026-05-04 11:59:59Z"), "bad_value"),
    "time to the nanosecond": (_event(clicked_at="2026-05-04T11:59:59.123456789Z"), "bad_value"),
    "date only": (_event(clicked_at="2026-05-04"), "bad_value"),
    "week date": (_event(clicked_at="2026-W19-1T11:59:59Z"), "bad_value"),
    "February 30": (_event(clicked_at="2026-02-30T11:59:59Z"), "bad_value"),
    "February 29 of no leap year": (_event(clicked_at="2026-02-29T11:59:59Z"), "bad_value"),
    "hour 24": (_event(clicked_at="2026-05-04T24:00:00Z"), "bad_value"),
    "leap second": (_event(clicked_at="2026-05-04T11:59:60Z"), "bad_value"),
    "year 1999": (_event(clicked_at="1999-12-31T23:59:59Z"), "bad_value"),
    "year 10000": (_event(clicked_at="10000-01-01T00:00:00Z"), "bad_value"),
    "other digits": (_event(clicked_at="\u0662026-05-04T11:59:59Z"), "bad_value"),
    "spooled_at nonsense": (_event(spooled_at="soon"), "bad_value"),
    "beyond the future bound": (_event(clicked_at="2026-05-04T12:05:00.000001Z"), "future_dated"),
    "year 9999": (_event(clicked_at="9999-12-31T23:59:59.999999Z"), "future_dated"),
    "unknown ad": (_event(ad_id=AD + 1), "unknown_ad"),
}

ORDER: dict[str, bytes | None] = {
    "empty": b"",
    "too_large": b"\xff" * (MAX_EVENT_BYTES + 1),
    "not_utf8": b"\xff{",
    "malformed_json": b'{"v": 2,',
    "unknown_version": _event(v=2, ad_id=ABSENT),
    "missing_field": _event(ad_id=ABSENT, country=5),
    "wrong_type": _event(country=5, device="tv"),
    "bad_value": _event(device="tv", clicked_at="9999-01-01T00:00:00Z"),
    "future_dated": _event(clicked_at="9999-01-01T00:00:00Z", ad_id=AD + 1),
    "unknown_ad": _event(ad_id=AD + 1),
}
"""What deserves its reason and the next ones: the first in the order of judgement is given."""


def _parse(payload: bytes | None) -> ParsedEvent | str:
    return parse_event(payload, APPENDED_AT, ADS)


@pytest.mark.parametrize("payload", GOOD.values(), ids=GOOD)
def test_good_events(payload: bytes) -> None:
    assert isinstance(_parse(payload), ParsedEvent)


def test_an_event_as_it_is_parsed() -> None:
    assert _parse(_event(extra=1)) == ParsedEvent(
        impression_id="imp-1",
        ad_id=AD,
        advertiser_id=ADVERTISER,
        campaign_id=CAMPAIGN,
        clicked_at=CLICKED_AT,
        country="US",
        device="mobile",
        kind="click",
        server_id="edge-1",
        server_seq=0,
    )


@pytest.mark.parametrize(("payload", "reason"), BAD.values(), ids=BAD)
def test_bad_input_has_its_reason(payload: bytes | None, reason: str) -> None:
    """L8 and A7 among them: future-dated and unknown ads are told apart before anybody looks at their time."""
    assert _parse(payload) == reason


def test_every_reason_has_a_case() -> None:
    assert {reason for _, reason in BAD.values()} == ORDER.keys() == REASONS.keys()


@pytest.mark.parametrize(("reason", "payload"), ORDER.items(), ids=ORDER)
def test_the_first_reason_that_applies_is_given(reason: str, payload: bytes | None) -> None:
    assert _parse(payload) == reason


def test_the_future_is_judged_by_the_append_time() -> None:
    event = _event(clicked_at="2036-01-01T00:00:00Z")
    assert _parse(event) == "future_dated"
    assert isinstance(parse_event(event, APPENDED_AT + timedelta(days=3_700), ADS), ParsedEvent)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_never_raise(payload: bytes) -> None:
    assert _parse(payload) in REASONS


@given(st.sampled_from([field.name for field in FIELDS]), JSON)
def test_any_value_of_any_field_never_raises(name: str, value: Any) -> None:
    found = _parse(_event(**{name: value}))
    assert isinstance(found, ParsedEvent) or found in REASONS


@given(st.integers(0, len(_event())), st.integers(0, len(_event())), st.binary(max_size=4))
def test_any_edit_of_a_good_event_never_raises(start: int, end: int, inserted: bytes) -> None:
    payload = _event()[: min(start, end)] + inserted + _event()[max(start, end) :]
    found = _parse(payload)
    assert isinstance(found, ParsedEvent) or found in REASONS
