"""What the rules of drift say about one hour, in words: findings, silenced where a person or the calendar explains.

Belongs here: from scores to findings. How they are computed: ``domain/drift_rules.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from domain.drift_rules import DRIFT_RULES, DriftOptions, DriftRule, Scores, scores
from domain.metric_history import History
from domain.quality_calendar import Event
from domain.quality_verdicts import Finding, Outcome, Override

MOST_GROUPS = 20
"""So many groups of one rule are named, those that are furthest off; a fault of everything is one fault."""
LEVEL_KINDS = ("level", "trend")
ACCEPTED_FOR = timedelta(days=28)
"""So long an accepted level silences what compares with levels before it; by then it is the usual one."""


def findings_of(
    history: History,
    hours: Sequence[datetime],
    options: DriftOptions,
    events: Sequence[Event] = (),
    accepted: Sequence[Override] = (),
) -> Iterator[tuple[datetime, Finding]]:
    """What each rule says about these hours of the history, in the order of rules and hours; at least one row each."""
    since = min(history.row(hour) for hour in hours)
    for rule in DRIFT_RULES:
        found = scores(history, rule, options, since)
        for hour in hours:
            row = history.row(hour)
            if not history.is_measured[row]:
                said: Iterable[Finding] = [_said(rule, "", "error", "no metrics of this hour")]
            elif found is None:
                said = [_said(rule, "", "no_reference", f"metric {rule.metric} was never measured")]
            else:
                said = _of_hour(found, row - since)
            yield from ((hour, _explained(one, rule, hour, events, accepted)) for one in said)


def _of_hour(found: Scores, row: int) -> list[Finding]:
    sigmas, rule = found.sigmas[row], found.rule
    alarms = np.flatnonzero(found.is_alarm[row])
    if len(alarms):
        worst = alarms[np.argsort(-np.abs(sigmas[alarms]), kind="stable")][:MOST_GROUPS]
        return [_failed(found, row, int(column)) for column in worst]
    is_known = ~np.isnan(sigmas)
    if not is_known.any():
        return [_said(rule, "", "no_reference", "too few hours before it to tell what is usual")]
    without = int(np.sum(~is_known))
    note = f", {without} without reference" if without else ""
    furthest = float(np.max(np.abs(sigmas[is_known])))
    return [_said(rule, "", "pass", f"{int(np.sum(is_known))} judged, at most {furthest:.1f} sigmas away{note}")]


def _failed(found: Scores, row: int, column: int) -> Finding:
    observed, usual, sigma = (float(part[row, column]) for part in (found.observed, found.usual, found.sigmas))
    match found.rule.kind:
        case "mix":
            texts = (f"a distance of {observed:.3f} from the usual mix", "the usual mix")
        case "level" | "trend":
            texts = (f"a day's level of {observed:.3f}", f"about {usual:.3f}")
        case "quantile":
            texts = (f"{observed:,.0f}", f"about {usual:,.0f}")
        case _:
            texts = (f"{observed:,.0f}", f"about {usual:,.1f}")
    said = _said(found.rule, found.groups[column], "fail", f"{texts[0]}, {sigma:+.1f} sigmas")
    return replace(said, expected=texts[1])


def _said(rule: DriftRule, group: str, outcome: Outcome, observed: str) -> Finding:
    return Finding(
        rule=rule.name,
        group=group,
        outcome=outcome,
        severity="warn",
        observed=observed,
        expected="what is usual for this hour",
        tolerance=f"{rule.bar_sigmas:g} sigmas, and a difference of at least {rule.least_effect:g}",
        tolerance_reason=rule.reason,
    )


def _explained(
    one: Finding, rule: DriftRule, hour: datetime, events: Sequence[Event], accepted: Sequence[Override]
) -> Finding:
    if one.outcome != "fail":
        return one
    for event in events:
        if event.explains(hour, one.rule, one.group):
            return _silenced(one, f"the calendar explains it: {event.name}, {event.reason}")
    for level in accepted:
        is_meant = level.kind == "accept_level" and (level.rule, level.group) == (one.rule, one.group)
        if rule.kind in LEVEL_KINDS and is_meant and level.hour <= hour < level.hour + ACCEPTED_FOR:
            return _silenced(one, f"{level.actor} accepted this level: {level.reason}")
    return one


def _silenced(one: Finding, note: str) -> Finding:
    return replace(one, outcome="pass", tolerance_reason=note)
