"""The Spark parsing is held equal to the plain-Python parsing, bad input by bad input."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from domain.events import REASONS
from domain.identity import click_identity, minted_at
from domain.parsing import ParsedEvent, parse_event
from spark_jobs.transforms import parse

pytestmark = pytest.mark.spark

APPENDED_AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
KNOWN_ADS = (17, 2**63 - 1)
GOOD: dict[str, Any] = {
    "v": 1,
    "impression_id": "0190b5c2-1111-7abc-8abc-000000000001",
    "ad_id": 17,
    "advertiser_id": 3,
    "campaign_id": 5,
    "clicked_at": "2026-11-30T09:59:00.123456Z",
    "country": "US",
    "device": "mobile",
    "ip": "198.51.100.7",
    "user_agent": "Mozilla/5.0",
    "kind": "click",
    "server_id": "edge-1",
    "server_seq": 123,
}
TEXT = json.dumps(GOOD)
ABSENT = object()


def event(**changes: Any) -> bytes:
    fields = {**GOOD, **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ABSENT}).encode()


def text(old: str, new: str) -> bytes:
    assert old in TEXT
    return TEXT.replace(old, new).encode()


CASES: dict[str, tuple[bytes | None, str | None]] = {
    "good": (event(), None),
    "good, spaces around": (f" \n{TEXT}\t ".encode(), None),
    "good, unknown key": (event(extra={"a": [1, 2]}), None),
    "good, key with an escape": (text('"ad_id"', '"ad\\u005fid"'), None),
    "good, letters beyond ASCII": (event(user_agent="é漢😀"), None),
    "good, longest user agent": (event(user_agent="😀" * 4096), None),
    "good, offset instead of Z": (event(clicked_at="2026-11-30T09:59:00+00:00"), None),
    "good, spooled": (event(spooled_at="2026-11-30T09:59:01Z"), None),
    "good, spooled_at null": (event(spooled_at=None), None),
    "good, largest id": (event(ad_id=2**63 - 1), None),
    "good, minus zero": (text('"server_seq": 123', '"server_seq": -0'), None),
    "no value": (None, "empty"),
    "empty value": (b"", "empty"),
    "a megabyte": (event(user_agent="x" * 1_000_000), "too_large"),
    "not UTF-8": (b"\xff\xfe", "not_utf8"),
    "blank": (b"   ", "malformed_json"),
    "cut off": (TEXT[:-5].encode(), "malformed_json"),
    "text after it": (f"{TEXT} x".encode(), "malformed_json"),
    "two objects": (f"{TEXT}{TEXT}".encode(), "malformed_json"),
    "two objects, comma": (f"{TEXT},{TEXT}".encode(), "malformed_json"),
    "null after it": (f"{TEXT},null".encode(), "malformed_json"),
    "the end of an array after it": (f"{TEXT}]".encode(), "malformed_json"),
    "the end of an array and more after it": (f"{TEXT}]}}".encode(), "malformed_json"),
    "a whole array's end after it": (f"{TEXT},0]".encode(), "malformed_json"),
    "the end of an object after it": (f"{TEXT}}}".encode(), "malformed_json"),
    "an array": (b"[]", "malformed_json"),
    "a number": (b"5", "malformed_json"),
    "null": (b"null", "malformed_json"),
    "byte order mark": (b"\xef\xbb\xbf" + TEXT.encode(), "malformed_json"),
    "repeated key": (text('"v": 1', '"v": 1, "v": 1'), "malformed_json"),
    "repeated key inside": (text('"v": 1', '"v": 1, "x": {"a": 1, "a": 2}'), "malformed_json"),
    "NaN": (text("17", "NaN"), "malformed_json"),
    "leading zero": (text("17", "017"), "malformed_json"),
    "raw control character": (text("Mozilla", "\x01"), "malformed_json"),
    "lone surrogate": (event(user_agent="\ud800"), "malformed_json"),
    "very deep": (('{"a":' + "[" * 5000 + "]" * 5000 + "}").encode(), "malformed_json"),
    "number of 1,500 digits": (f'{TEXT[:-1]},"x":{"9" * 1500}}}'.encode(), "malformed_json"),
    "version 2": (event(v=2), "unknown_version"),
    "version 2 with other fields": (event(v=2, ad_id="x"), "unknown_version"),
    "no version": (event(v=ABSENT), "missing_field"),
    "no ad": (event(ad_id=ABSENT), "missing_field"),
    "ad null": (event(ad_id=None), "missing_field"),
    "version as text": (event(v="1"), "wrong_type"),
    "ad as text": (event(ad_id="17"), "wrong_type"),
    "ad as decimal": (event(ad_id=17.0), "wrong_type"),
    "ad with exponent": (text('"ad_id": 17', '"ad_id": 1e3'), "wrong_type"),
    "ad as boolean": (event(ad_id=True), "wrong_type"),
    "ad beyond 64 bits": (event(ad_id=2**63), "wrong_type"),
    "ad of 60 digits": (event(ad_id=10**60), "wrong_type"),
    "country as number": (event(country=5), "wrong_type"),
    "user agent as number": (event(user_agent=5), "wrong_type"),
    "user agent as object": (event(user_agent={"a": 1}), "wrong_type"),
    "clicked_at as number": (event(clicked_at=1764496800), "wrong_type"),
    "ad zero": (event(ad_id=0), "bad_value"),
    "ad negative": (event(ad_id=-5), "bad_value"),
    "impression with a space": (event(impression_id="a b"), "bad_value"),
    "impression empty": (event(impression_id=""), "bad_value"),
    "impression too long": (event(impression_id="x" * 65), "bad_value"),
    "country lower case": (event(country="us"), "bad_value"),
    "country and line feed": (event(country="US\n"), "bad_value"),
    "device unknown": (event(device="tv"), "bad_value"),
    "kind unknown": (event(kind="Click"), "bad_value"),
    "NUL in user agent": (event(user_agent="a\x00b"), "bad_value"),
    "user agent too long": (event(user_agent="x" * 4097), "bad_value"),
    "no zone": (event(clicked_at="2026-11-30T09:59:00"), "bad_value"),
    "another zone": (event(clicked_at="2026-11-30T10:59:00+01:00"), "bad_value"),
    "no such day": (event(clicked_at="2026-02-30T10:00:00Z"), "bad_value"),
    "hour 24": (event(clicked_at="2026-11-30T24:00:00Z"), "bad_value"),
    "leap second": (event(clicked_at="2026-11-30T09:59:60Z"), "bad_value"),
    "spooled_at nonsense": (event(spooled_at="x"), "bad_value"),
    "year 157730": (event(clicked_at="157730-01-01T00:00:00Z"), "bad_value"),
    "year 9999": (event(clicked_at="9999-01-01T00:00:00Z"), "future_dated"),
    "a microsecond beyond the bound": (event(clicked_at="2026-11-30T10:05:00.000001Z"), "future_dated"),
    "on the bound": (event(clicked_at="2026-11-30T10:05:00Z"), None),
    "ad unknown": (event(ad_id=99), "unknown_ad"),
}


def parsed_by_spark(spark: SparkSession, payloads: list[bytes | None]) -> list[Row]:
    rows = [(payload and bytearray(payload), 0, offset, APPENDED_AT) for offset, payload in enumerate(payloads)]
    records = spark.createDataFrame(rows, "value binary, partition int, offset long, timestamp timestamp")
    ads = spark.createDataFrame([(ad,) for ad in KNOWN_ADS], "ad_id long")
    derived = {
        "identity": parse.identity(),
        "minted_at": parse.minted_at(),
        "minute": parse.minute(),
        "click_date": parse.click_date(),
        "click_hour": parse.click_hour(),
    }
    return sorted(parse.parse_events(records, ads).withColumns(derived).collect(), key=lambda row: row["offset"])


def assert_equal_to_oracle(row: Row, payload: bytes | None) -> None:
    oracle = parse_event(payload, APPENDED_AT, KNOWN_ADS)
    if not isinstance(oracle, ParsedEvent):
        assert (row["reason"], row["clicked_at"], row["spooled_at"]) == (oracle, None, None), payload
        return
    assert row["reason"] is None, payload
    instants = {"clicked_at"}
    assert {n: row[n] for n in vars(oracle) if n not in instants} == {
        n: v for n, v in vars(oracle).items() if n not in instants
    }
    assert row["clicked_at"].astimezone(UTC) == oracle.clicked_at


def test_every_case_gets_its_reason_and_equals_the_oracle(spark: SparkSession) -> None:
    rows = parsed_by_spark(spark, [payload for payload, _ in CASES.values()])
    assert {name: row["reason"] for name, row in zip(CASES, rows, strict=True)} == {
        name: reason for name, (_, reason) in CASES.items()
    }
    for row, (payload, _) in zip(rows, CASES.values(), strict=True):
        assert_equal_to_oracle(row, payload)


def test_every_reason_has_a_case() -> None:
    assert {reason for _, reason in CASES.values() if reason} == set(REASONS)


def test_derived_columns(spark: SparkSession) -> None:
    (row,) = parsed_by_spark(spark, [event()])
    assert bytes(row["identity"]) == click_identity(GOOD["impression_id"], GOOD["ad_id"])
    assert row["minted_at"].astimezone(UTC) == minted_at(GOOD["impression_id"])
    assert row["minute"].astimezone(UTC) == datetime(2026, 11, 30, 9, 59, tzinfo=UTC)
    assert (str(row["click_date"]), row["click_hour"]) == ("2026-11-30", 9)


def test_an_opaque_impression_id_has_no_mint_time(spark: SparkSession) -> None:
    (row,) = parsed_by_spark(spark, [event(impression_id="opaque_0001")])
    assert row["minted_at"] is None
    assert bytes(row["identity"]) == click_identity("opaque_0001", GOOD["ad_id"])


_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20))
_changes = st.dictionaries(st.sampled_from(sorted(GOOD)), _scalars, max_size=3)
_instants = st.integers(-(10**9), 10**9).map(lambda s: f"{(APPENDED_AT + timedelta(seconds=s)).isoformat()[:19]}Z")
_near = st.integers(-400, 400).map(lambda s: (APPENDED_AT + timedelta(seconds=s)).isoformat())
_payloads = st.one_of(
    _changes.map(lambda changes: event(**changes)),
    st.one_of(_instants, _near).map(lambda at: event(clicked_at=at)),
    st.tuples(st.integers(0, len(TEXT)), st.binary(max_size=3)).map(
        lambda cut: TEXT.encode()[: cut[0]] + cut[1] + TEXT.encode()[cut[0] :]
    ),
)


# Examples are not made smaller when one fails: that takes hundreds of Spark jobs, and the message names the payload.
@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)
@given(st.lists(_payloads, min_size=400, max_size=400))
def test_generated_payloads_equal_the_oracle(spark: SparkSession, payloads: list[bytes]) -> None:
    """Law 5. Many payloads an example, since an example is a Spark job."""
    for row, payload in zip(parsed_by_spark(spark, list(payloads)), payloads, strict=True):
        assert_equal_to_oracle(row, payload)
