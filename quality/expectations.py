"""Asks Great Expectations: a suite of declared rules over the metrics of one hour becomes findings.

Belongs here: the one place that uses Great Expectations, without project folder, network or analytics. It is loaded
when the first rule is asked (``gx.py``). What is asked: ``quality/suites``; about which figures: ``quality/looks.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from domain.quality_metrics import Metric
from domain.quality_verdicts import Finding, Outcome
from quality.gx import great_expectations
from quality.looks import Look, UnmeasuredError, look
from quality.suites.rules import HasGroups, Rule, Schema, Suite

MOST_SHOWN = 5
"""So many values are named in what was observed."""
MOST_CHARACTERS = 300
EMPTY = "an hour without a click"


def run_suite(suite: Suite, metrics: Sequence[Metric]) -> list[Finding]:
    """What each rule of the suite says, in its order. A rule that cannot be asked is ``error``, never fail or pass."""
    is_empty = any(one.name == "rows" and one.amount == 0 for one in metrics)
    return [_ask(rule, [one for one in metrics if one.table in suite.metrics_of], is_empty) for rule in suite.rules]


def _ask(rule: Rule, metrics: Sequence[Metric], is_empty: bool) -> Finding:
    """Of an hour that was measured and has no click, nothing is asked that needs one."""
    if is_empty and isinstance(rule.check, Schema | HasGroups):
        return _finding(rule, "no_reference", EMPTY, "an hour with clicks", "none")
    try:
        asked = look(rule.check, metrics)
    except UnmeasuredError as error:
        if is_empty:
            return _finding(rule, "no_reference", EMPTY, "an hour with clicks", "none")
        return _finding(rule, "error", error.found, error.expected, "none")
    if not asked.is_defined:
        return _finding(rule, "no_reference", "nothing to look at", asked.expected, asked.tolerance)
    outcome, observed = _validated(asked)
    return _finding(rule, outcome, observed, asked.expected, asked.tolerance)


def _finding(rule: Rule, outcome: Outcome, observed: str, expected: str, tolerance: str) -> Finding:
    return Finding(
        rule=rule.name,
        group="",
        outcome=outcome,
        severity=rule.severity,
        observed=observed,
        expected=expected,
        tolerance=tolerance,
        tolerance_reason=rule.reason,
    )


def _validated(asked: Look) -> tuple[Outcome, str]:
    """Great Expectations catches what its own code raises and calls that a failure: told apart by the exception."""
    import pandas as pd  # noqa: PLC0415  takes half a second

    frame = pd.DataFrame({name: list(values) for name, values in asked.columns.items()})
    try:
        expectation = getattr(great_expectations().expectations, asked.expectation)(**asked.arguments)
        batch = _batch_definition().get_batch(batch_parameters={"dataframe": frame})
        result = batch.validate(expectation, result_format="BASIC")
    except Exception as error:  # noqa: BLE001  a check that breaks, in whatever way, is an error and stays visible
        return "error", _short(f"{type(error).__name__}: {error}")
    raised = result.exception_info or {}
    if raised.get("raised_exception", bool(raised)) or not result.result:
        return "error", _short(_message(raised))
    if result.success:
        return "pass", _observed(asked, result.result)
    return "fail", f"{_observed(asked, result.result)} ({_digest(asked)})"


def _digest(asked: Look) -> str:
    """Of all that was looked at. What is observed names the worst of it; a release is about this data and no other."""
    looked_at = json.dumps({name: [str(one) for one in values] for name, values in sorted(asked.columns.items())})
    return hashlib.sha256(looked_at.encode()).hexdigest()[:12]


def _message(raised: dict[str, Any]) -> str:
    """Of an exception that is told plainly, or by each metric that met it."""
    told = [raised, *(one for one in raised.values() if isinstance(one, dict))]
    texts = [str(one["exception_message"]) for one in told if one.get("exception_message")]
    return texts[0] if texts else "the check ended without a result"


def _observed(asked: Look, result: dict[str, Any]) -> str:
    if "found" in asked.columns:
        names = asked.columns.get("group", [""] * len(asked.columns["found"]))
        rows = sorted(
            zip(asked.columns["found"], asked.columns["bound"], names, strict=True),
            key=lambda row: -abs(row[0] - row[1]) if asked.tolerance == "none" else row[1] - row[0],
        )
        return ", ".join(f"{name} {found:,.0f}".strip() for found, _, name in rows[:MOST_SHOWN])
    odd = result.get("partial_unexpected_list") or result.get("partial_missing_list")
    if odd:
        prefix = "without " if "partial_missing_list" in result else ""
        return prefix + ", ".join(str(one) for one in sorted(set(odd), key=str)[:MOST_SHOWN])
    (values,) = asked.columns.values()
    shown = ", ".join(str(one) for one in list(values)[:MOST_SHOWN])
    return f"{shown}, ..." if len(values) > MOST_SHOWN else shown


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 3]}..."


@cache
def _batch_definition() -> Any:
    """One for the process: making a context takes longer than asking."""
    context = great_expectations().get_context(mode="ephemeral")
    context.enable_analytics(enable=False)
    context.variables.progress_bars = {"globally": False}
    return (
        context.data_sources.add_pandas("metrics")
        .add_dataframe_asset("hour")
        .add_batch_definition_whole_dataframe("whole")
    )
