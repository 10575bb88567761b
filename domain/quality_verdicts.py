"""Quality verdicts: what a rule said about an hour of a table, which of them count, and what holds an hour back.

Belongs here: the types and the decision. Which rules there are: ``quality/suites`` and ``domain/drift_rules.py``;
the table: ``warehouse/quality_verdicts.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Outcome = Literal["pass", "fail", "error", "no_reference"]
Severity = Literal["fail", "warn"]
OverrideKind = Literal["release", "accept_level"]
HOLDING: tuple[Outcome, ...] = ("fail", "error")
"""Outcomes of a blocking rule that hold an hour back. A check that broke has not said that the data is good."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a rule says, before anybody has written down who ran it and when.

    ``group`` is the part of the hour it is about, empty for all of it. The texts say figures with their units.
    """

    rule: str
    group: str
    outcome: Outcome
    severity: Severity
    observed: str
    expected: str
    tolerance: str
    tolerance_reason: str

    @property
    def is_blocking(self) -> bool:
        """Whether the rule guards money, whatever it says of this hour."""
        return self.severity == "fail"


@dataclass(frozen=True, kw_only=True)
class Verdict(Finding):
    """A finding about one hour of one table, as one attempt measured it and one run judged it."""

    table_name: str
    hour: datetime
    suite: str
    suite_version: int
    attempt: str
    run: str
    judged_at: datetime
    code_version: str


@dataclass(frozen=True, kw_only=True)
class Override:
    """What a person decided about a rule.

    ``release`` lets an hour go although the rule holds it; it is about what was ``observed``, so that other bad data
    of the same hour holds it again. ``accept_level`` says that from ``hour`` on a new level is the right one.
    """

    kind: OverrideKind
    hour: datetime
    rule: str
    group: str
    observed: str
    actor: str
    reason: str
    recorded_at: datetime


@dataclass(frozen=True)
class Hold:
    """One reason why an hour may not be sealed."""

    verdict: Verdict

    @property
    def why(self) -> str:
        """One line for a person: rule, group, observed, expected."""
        one = self.verdict
        part = f" of {one.group}" if one.group else ""
        said = "could not be checked" if one.outcome == "error" else "is bad"
        return f"{one.table_name}: {one.rule}{part} {said}: {one.observed}, expected {one.expected}"


def newest(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that count: of each table, hour, attempt and suite the rows of its newest judging.

    All rules of a suite are asked at once, and groups that are well have one row together. So neither a rule that the
    suite has no longer nor a group that is well by now is judged by an older row.
    """
    listed = list(verdicts)
    latest: dict[tuple[str, datetime, str, str], datetime] = {}
    for one in listed:
        key = _judged(one)
        latest[key] = max(latest.get(key, one.judged_at), one.judged_at)
    kept = [one for one in listed if one.judged_at == latest[_judged(one)]]
    return sorted(kept, key=lambda one: (*_judged(one), one.rule, one.group))


def blocking(verdicts: Iterable[Verdict], overrides: Iterable[Override]) -> list[Hold]:
    """What holds the hours of these verdicts back and why; empty if nothing does.

    Verdicts of attempts that nobody wants to seal are to be left out by the caller.
    """
    released = {(one.hour, one.rule, one.group, one.observed) for one in overrides if one.kind == "release"}
    return [
        Hold(one)
        for one in newest(verdicts)
        if one.is_blocking and one.outcome in HOLDING and (one.hour, one.rule, one.group, one.observed) not in released
    ]


def _judged(one: Verdict) -> tuple[str, datetime, str, str]:
    return (one.table_name, one.hour, one.attempt, one.suite)
