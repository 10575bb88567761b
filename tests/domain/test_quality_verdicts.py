"""What holds an hour back: failing and broken money rules, as judged last, unless a person let it go."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.quality_verdicts import Outcome, Override, Severity, Verdict, blocking, newest

HOUR = datetime(2026, 2, 3, 9, tzinfo=UTC)
JUDGED_AT = datetime(2026, 2, 3, 10, 20, tzinfo=UTC)
LATER = timedelta(minutes=5)
VERDICT = Verdict(
    rule="conservation",
    group="",
    outcome="fail",
    severity="fail",
    observed="9 clicks",
    expected="10 clicks",
    tolerance="0 clicks",
    tolerance_reason="law 3 is exact",
    table_name="raw_clicks",
    hour=HOUR,
    suite="exclusions",
    suite_version=1,
    attempt="a1",
    run="r1",
    judged_at=JUDGED_AT,
    code_version="0.1.0",
)
RELEASE = Override(
    kind="release",
    hour=HOUR,
    rule="conservation",
    group="",
    observed="9 clicks",
    actor="ann",
    reason="a known hole",
    recorded_at=JUDGED_AT + LATER,
)


@pytest.mark.parametrize(
    ("outcome", "severity", "is_held"),
    [
        ("fail", "fail", True),
        ("error", "fail", True),
        ("pass", "fail", False),
        ("no_reference", "fail", False),
        ("fail", "warn", False),
        ("error", "warn", False),
    ],
)
def test_only_money_rules_that_fail_or_broke_hold_an_hour(outcome: Outcome, severity: Severity, is_held: bool) -> None:
    """Q3: an error of a money rule blocks, and stays an error."""
    one = replace(VERDICT, outcome=outcome, severity=severity)
    assert [hold.verdict for hold in blocking([one], [])] == ([one] if is_held else [])


def test_why_tells_bad_data_from_a_broken_check() -> None:
    """Q3."""
    (bad,) = blocking([replace(VERDICT, group="7")], [])
    (broken,) = blocking([replace(VERDICT, outcome="error", observed="KeyError: 'rows'")], [])
    assert bad.why == "raw_clicks: conservation of 7 is bad: 9 clicks, expected 10 clicks"
    assert broken.why == "raw_clicks: conservation could not be checked: KeyError: 'rows', expected 10 clicks"


def test_the_newest_judging_of_a_rule_counts_with_all_its_groups() -> None:
    """The groups that are well have one row together: the failing group's older row must not stay in force."""
    failed = replace(VERDICT, group="7")
    well = replace(VERDICT, outcome="pass", judged_at=JUDGED_AT + LATER, run="r2")
    assert newest([well, failed]) == [well]
    assert blocking([well, failed], []) == []
    again = replace(failed, judged_at=JUDGED_AT + 2 * LATER, run="r3")
    assert [hold.verdict for hold in blocking([failed, again, well], [])] == [again]


def test_a_rule_that_its_suite_has_no_longer_holds_nothing() -> None:
    judged_again = replace(VERDICT, rule="another", outcome="pass", judged_at=JUDGED_AT + LATER, suite_version=2)
    assert blocking([VERDICT, judged_again], []) == []


def test_a_verdict_about_another_attempt_or_table_hides_nothing() -> None:
    others = [
        replace(VERDICT, outcome="pass", judged_at=JUDGED_AT + LATER, attempt="a2"),
        replace(VERDICT, outcome="pass", judged_at=JUDGED_AT + LATER, table_name="drift"),
        replace(VERDICT, outcome="pass", judged_at=JUDGED_AT + LATER, suite="other"),
    ]
    assert [hold.verdict for hold in blocking([VERDICT, *others], [])] == [VERDICT]


@pytest.mark.parametrize(
    "other",
    [
        {"hour": HOUR + timedelta(hours=1)},
        {"rule": "other"},
        {"group": "7"},
        {"observed": "8 clicks"},
        {"kind": "accept_level"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_release_lets_go_what_it_is_about_and_nothing_else(other: dict[str, object]) -> None:
    assert blocking([VERDICT], [RELEASE]) == []
    assert len(blocking([VERDICT], [replace(RELEASE, **other)])) == 1  # type: ignore[arg-type]


def test_a_release_outlives_the_attempt_it_was_given_for() -> None:
    """Sealing after a release counts the hour again: the same observation is known, another one is not."""
    again = replace(VERDICT, attempt="a2", run="r2", judged_at=JUDGED_AT + 2 * LATER)
    assert blocking([again], [RELEASE]) == []
    assert len(blocking([replace(again, observed="5 clicks")], [RELEASE])) == 1
