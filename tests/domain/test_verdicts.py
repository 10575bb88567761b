"""What a record of a file says, and which verdict about a click is in force."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity import LogPosition
from domain.verdicts import ClickTarget, FraudVerdict, VerdictOfSet, parse_verdict, verdicts_in_force

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
CLICK = ClickTarget("imp-1", 7)
PLACE = LogPosition(1, 0, 5)
OF_CLICK = {"impression_id": "imp-1", "ad_id": 7}
OF_PLACE = {"log": 1, "partition": 0, "offset": 5}
SAID = {"verdict": "fraud", "reason": "a bot", "decided_at": "2026-05-04T11:00:00Z"}
DECIDED_AT = AT - timedelta(hours=1)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(OF_CLICK | SAID, FraudVerdict("v", CLICK, "fraud", "a bot", DECIDED_AT), id="a-click"),
        pytest.param(OF_PLACE | SAID, FraudVerdict("v", PLACE, "fraud", "a bot", DECIDED_AT), id="a-position"),
        pytest.param(
            {"log": "1", "partition": "0", "offset": "5", "score_micros": "990000", "ad_id": None}
            | SAID
            | {"verdict": "withdrawn", "decided_at": "2026-05-04T13:00:00+02:00"},
            FraudVerdict("v", PLACE, "withdrawn", "a bot", DECIDED_AT, 990_000),
            id="all-as-text",
        ),
        pytest.param(
            OF_CLICK | SAID | {"decided_at": DECIDED_AT, "score_micros": 0},
            FraudVerdict("v", CLICK, "fraud", "a bot", DECIDED_AT, 0),
            id="an-instant-with-a-type",
        ),
        pytest.param(
            OF_CLICK | SAID | {"decided_at": AT + timedelta(minutes=5)},
            FraudVerdict("v", CLICK, "fraud", "a bot", AT + timedelta(minutes=5)),
            id="clocks-may-differ",
        ),
    ],
)
def test_a_record_is_a_verdict(record: dict[str, Any], expected: FraudVerdict) -> None:
    assert parse_verdict(record, "v", AT) == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"colour": "red", "Score": 1}, "unknown field Score, colour"),
        ({"ad_id": None}, "ad_id is None, not a whole number"),
        ({"impression_id": None}, "impression_id is None"),
        ({"impression_id": "a b"}, "impression_id is 'a b', not an impression id"),
        ({"impression_id": "imp-1\n"}, "impression_id is"),
        ({"impression_id": None, "ad_id": None}, "a target is"),
        ({"log": 1}, "a target is"),
        ({"impression_id": None, "ad_id": None, "log": 1, "offset": 5}, "partition is None"),
        ({"impression_id": None, "ad_id": None} | OF_PLACE | {"log": 2**31}, "log is 2147483648"),
        ({"ad_id": 0}, "ad_id is 0"),
        ({"ad_id": True}, "ad_id is True"),
        ({"ad_id": 7.0}, "ad_id is 7.0"),
        ({"ad_id": "7.0"}, "ad_id is '7.0'"),
        ({"ad_id": "٧"}, "ad_id is '٧'"),
        ({"ad_id": 2**63}, "ad_id is 9223372036854775808"),
        ({"verdict": "Fraud"}, "verdict is 'Fraud', not fraud or withdrawn"),
        ({"verdict": None}, "verdict is None"),
        ({"verdict": ["fraud"]}, "verdict is"),
        ({"reason": " "}, "reason is ' '"),
        ({"reason": None}, "reason is None"),
        ({"reason": "x" * 1_001}, "reason is"),
        ({"reason": "\ud800"}, "reason is"),
        ({"score_micros": 0.5}, "score_micros is 0.5"),
        ({"score_micros": -1}, "score_micros is -1"),
        ({"decided_at": "2026-05-04T11:00:00"}, "decided_at is 2026-05-04T11:00:00, not an instant with its zone"),
        ({"decided_at": AT.replace(tzinfo=None)}, "decided_at is 2026-05-04 12:00:00, not"),
        ({"decided_at": "0001-01-01T00:00:00+02:00"}, "decided_at is 0001"),
        ({"decided_at": None}, "decided_at is None"),
        ({"decided_at": 5}, "decided_at is 5"),
        ({"decided_at": "2026-05-04T12:05:00.000001Z"}, "decided_at is 2026-05-04T12:05:00.000001Z, after it was"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_is_said(change: dict[str, Any], reason: str) -> None:
    found = parse_verdict(OF_CLICK | SAID | change, "v", AT)
    assert isinstance(found, str)
    assert found.startswith(reason)


def verdict(
    number: int, hours: int = 0, judgement: Any = "fraud", target: Any = CLICK, of_set: int = 1
) -> VerdictOfSet:
    return VerdictOfSet(of_set, "s", FraudVerdict(f"v{number}", target, judgement, "r", AT + timedelta(hours=hours)))


def ids(verdicts: list[VerdictOfSet], set_version: int = 9) -> dict[Any, str]:
    return {target: one.verdict.verdict_id for target, one in verdicts_in_force(verdicts, set_version).items()}


def test_the_last_decided_holds_whatever_came_in_last() -> None:
    late_news = [verdict(1, 2, of_set=1), verdict(2, 1, "withdrawn", of_set=2)]
    assert ids(late_news) == {CLICK: "v1"}
    assert ids([verdict(1, 1), verdict(2, 2, "withdrawn")]) == {}
    assert ids([verdict(1, 1), verdict(2, 2, "withdrawn"), verdict(3, 3)]) == {CLICK: "v3"}


def test_in_one_instant_the_later_set_holds_then_the_higher_id() -> None:
    assert ids([verdict(1, of_set=2), verdict(2, judgement="withdrawn", of_set=1)]) == {CLICK: "v1"}
    assert ids([verdict(1, of_set=2), verdict(2, judgement="withdrawn", of_set=2)]) == {}
    assert ids([verdict(2), verdict(1, judgement="withdrawn")]) == {CLICK: "v2"}


def test_a_set_version_knows_no_later_sets() -> None:
    verdicts = [verdict(1, 1, of_set=1), verdict(2, 2, "withdrawn", of_set=2), verdict(3, 0, target=PLACE, of_set=3)]
    assert [ids(verdicts, version) for version in range(4)] == [{}, {CLICK: "v1"}, {}, {PLACE: "v3"}]


def test_a_click_and_a_position_are_two_targets() -> None:
    assert ids([verdict(1, 1, target=PLACE), verdict(2, 2, "withdrawn")]) == {PLACE: "v1"}


@st.composite
def histories(draw: st.DrawFn) -> list[VerdictOfSet]:
    return [
        verdict(
            number,
            draw(st.integers(0, 2)),
            draw(st.sampled_from(["fraud", "withdrawn"])),
            draw(st.sampled_from([CLICK, PLACE])),
            draw(st.integers(1, 3)),
        )
        for number in range(draw(st.integers(0, 9)))
    ]


@given(histories(), st.randoms(), st.integers(0, 3))
def test_the_order_of_reading_does_not_matter(history: list[VerdictOfSet], random: Random, version: int) -> None:
    """Law 6, and the rule said anew: the greatest of those known, by the three."""
    shuffled = list(history)
    random.shuffle(shuffled)
    expected = {}
    for target in (CLICK, PLACE):
        known = [one for one in history if one.set_version <= version and one.verdict.target == target]
        known.sort(key=lambda one: (one.verdict.decided_at, one.set_version, one.verdict.verdict_id))
        if known and known[-1].verdict.verdict == "fraud":
            expected[target] = known[-1].verdict.verdict_id
    assert ids(shuffled, version) == expected
