"""One page about all rules: what each asks and why, and what it said last. Plain HTML, nothing loaded from anywhere.

Great Expectations' own data docs take scripts and styles from the network, so that they cannot be read without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from domain.buckets import format_utc
from domain.drift_rules import DRIFT_RULES, SUITE_VERSION
from domain.quality_verdicts import Verdict, newest
from domain.settings import Settings
from quality.judging import DRIFT_SUITE
from quality.suites import SUITES
from warehouse.quality_verdicts import read_newest_hours, read_verdicts

HOURS_SHOWN = 48
STYLE = """body{font-family:sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;margin:1em 0}
th,td{border:1px solid #bbb;padding:.3em .6em;text-align:left;vertical-align:top}th{background:#eee}
.fail,.error{background:#fbd5d5}.pass{background:#dff3df}.no_reference{background:#f3f0d8}"""


def rule_page(settings: Settings) -> str:
    """The page, with the verdicts of the newest judged hours. The same for the same tables."""
    hours = read_newest_hours(settings, HOURS_SHOWN)
    verdicts = sorted(newest(read_verdicts(settings, hours)), key=lambda one: (one.hour, one.rule), reverse=True)
    bad = [one for one in verdicts if one.outcome in {"fail", "error"}]
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Quality</title>",
        f"<style>{STYLE}</style><h1>Quality</h1>",
        f"<p>{len(hours)} newest judged hours, {len(verdicts)} verdicts, {len(bad)} fail or error.</p>",
        "<h2>What is wrong</h2>",
        _verdict_table(bad),
        "<h2>Rules</h2>",
        _rule_table(),
        "<h2>All verdicts</h2>",
        _verdict_table(verdicts),
    ]
    return "\n".join([*parts, "</html>", ""])


def _rule_table() -> str:
    rows = [
        (f"{suite.name} {suite.version}", suite.table_name, rule.name, rule.severity, str(rule.check), rule.reason)
        for suite in SUITES.values()
        for rule in suite.rules
    ]
    rows += [
        (
            f"{DRIFT_SUITE} {SUITE_VERSION}",
            "raw_clicks",
            rule.name,
            "warn",
            f"{rule.kind} of {rule.metric}: {rule.bar_sigmas:g} sigmas and {rule.least_effect:g}",
            rule.reason,
        )
        for rule in DRIFT_RULES
    ]
    return _table(("suite and version", "table", "rule", "severity", "asks", "why so strict"), rows)


def _verdict_table(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (
            format_utc(one.hour),
            one.table_name,
            one.rule,
            one.group,
            one.outcome,
            one.observed,
            one.expected,
            one.tolerance,
            one.tolerance_reason,
        )
        for one in verdicts
    ]
    names = ("hour", "table", "rule", "group", "outcome", "observed", "expected", "tolerance", "why so strict")
    return _table(names, rows, [one.outcome for one in verdicts])


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], classes: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = [
        f"<tr class='{classes[number] if classes else ''}'>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for number, row in enumerate(rows)
    ]
    return "\n".join([f"<table><tr>{head}</tr>", *body, "</table>"])
