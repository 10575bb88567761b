"""Proposals: who proposes, what tells findings apart, and the lines that are still to be billed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from domain.adjustments import Adjustment, AdjustmentLine
from domain.buckets import MINUTE
from domain.cases import check_case
from domain.identity import LogPosition
from domain.periods import parse_period
from domain.proposals import ChangedVerdict, ChargeKey, Findings, Proposal, changed_spans, delta_lines, in_words
from domain.verdicts import ClickTarget, FraudVerdict, Target, VerdictOfSet, verdicts_in_force

HOUR = datetime(2026, 11, 30, 10, tzinfo=UTC)
LATE = Findings(HOUR, 4, late=(LogPosition(1, 0, 7), LogPosition(1, 2, 3)))
FRAUD = Findings(HOUR, 4, verdicts=(ChangedVerdict(ClickTarget("a", 1), "v1"),))
BOTH = replace(LATE, verdicts=FRAUD.verdicts)
KEY = ChargeKey(10, 100, 1, "DE", "mobile")
KEYS = st.builds(ChargeKey, st.just(10), st.just(100), st.integers(1, 3), st.sampled_from(["DE", "FR"]), st.just("tv"))
COUNTS = st.dictionaries(KEYS, st.integers(0, 5))


def adjusted(line: AdjustmentLine) -> Adjustment:
    return Adjustment(
        **vars(line),
        case_id="C-1",
        line_number=1,
        billing_period=parse_period("2026-12"),
        reason="late",
        corrects_seal_number=4,
        requested_by="ada",
        approved_by="grace",
        adjusted_at=HOUR,
    )


def test_who_proposes_under_which_case() -> None:
    """An hour with verdicts is never the late arrivals' own: somebody has to decide."""
    assert [(one.actor, one.case_id, one.is_late_only) for one in (LATE, FRAUD, BOTH)] == [
        ("system:late", "late-2026-11-30T10", True),
        ("system:fraud", "fraud-2026-11-30T10", False),
        ("system:fraud", "fraud-2026-11-30T10", False),
    ]
    assert BOTH.reason == "2 late arrivals and 1 newer fraud verdicts"
    for one in (LATE, FRAUD, BOTH):
        check_case(one.case_id, one.reason)


def test_the_digest_tells_findings_apart() -> None:
    others = [
        replace(LATE, late=LATE.late[:1]),
        replace(LATE, late=(*LATE.late, LogPosition(1, 2, 4))),
        FRAUD,
        BOTH,
        replace(FRAUD, verdicts=(ChangedVerdict(ClickTarget("a", 1), None),)),
        replace(FRAUD, verdicts=(ChangedVerdict(LogPosition(1, 0, 7), "v1"),)),
    ]
    assert len({one.digest for one in (LATE, *others)}) == 1 + len(others)
    assert replace(LATE, late=LATE.late[::-1], seal_number=9).digest == LATE.digest


VERDICTS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([ClickTarget("a", 1), LogPosition(1, 0, 7)]), st.booleans()),
    max_size=6,
)


@given(VERDICTS)
def test_an_hour_counted_with_any_set_is_told_what_holds_otherwise_now(
    given_verdicts: list[tuple[int, Target, bool]],
) -> None:
    verdicts = [
        VerdictOfSet(
            number,
            "lab",
            FraudVerdict(f"v{place}", target, "fraud" if is_fraud else "withdrawn", "a bot", HOUR + place * MINUTE),
        )
        for place, (number, target, is_fraud) in enumerate(given_verdicts)
    ]
    spans, now = changed_spans(verdicts, 4), _ids(verdicts, 4)
    for set_version in range(5):
        then = _ids(verdicts, set_version)
        told = [one.changed for one in spans if one.first_set <= set_version < one.end_set]
        assert {one.target: one.verdict_id for one in told} == {
            target: now.get(target) for target in then.keys() | now.keys() if then.get(target) != now.get(target)
        }
        assert len(told) == len({one.target for one in told})


def _ids(verdicts: list[VerdictOfSet], set_version: int) -> dict[Target, str]:
    return {target: one.verdict.verdict_id for target, one in verdicts_in_force(verdicts, set_version).items()}


@given(COUNTS, COUNTS)
def test_lines_make_up_the_difference_and_are_due_once(
    recounted: dict[ChargeKey, int], closed: dict[ChargeKey, int]
) -> None:
    lines = delta_lines(HOUR, recounted, closed, [])
    assert all(line.delta_clicks for line in lines)
    due = {ChargeKey(*(getattr(line, name) for name in ChargeKey._fields)): line.delta_clicks for line in lines}
    for key in recounted.keys() | closed.keys():
        assert closed.get(key, 0) + due.get(key, 0) == recounted.get(key, 0)
    assert delta_lines(HOUR, recounted, closed, [adjusted(line) for line in lines]) == ()


def test_adjustments_of_other_hours_change_nothing() -> None:
    (line,) = delta_lines(HOUR, {KEY: 3}, {KEY: 2}, [])
    other = adjusted(replace(line, charge_hour=HOUR.replace(hour=11)))
    assert delta_lines(HOUR, {KEY: 3}, {KEY: 2}, [other]) == (line,)
    assert in_words(Proposal("adjustment", LATE, (line,))) == (
        "hour 2026-11-30T10:00:00Z: adjustment for 2 late arrivals, 1 lines, +1 clicks"
    )
