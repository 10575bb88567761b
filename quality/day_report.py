"""One page about a UTC day: what was judged, what drifted, what was held back, who let it go. Opens without a network.

Belongs here: the page and its charts. The rules themselves are on ``quality/rule_page.py``.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from html import escape

import matplotlib as mpl
from matplotlib.figure import Figure

from domain.buckets import format_utc, hours_between
from domain.quality_verdicts import HOLDING, Outcome, Verdict, blocking, newest
from domain.seals import Seal, current_seals
from domain.settings import Settings
from quality.judging import DRIFT_SUITE, measured_attempts
from quality.rule_page import STYLE
from warehouse.alerts import read_alert_log
from warehouse.quality_verdicts import read_overrides, read_verdicts
from warehouse.seals import read_seals

COLOURS: Mapping[Outcome, str] = {"pass": "#9fd49f", "no_reference": "#e3dca0", "fail": "#e08080", "error": "#a04040"}
SALT = "tallystick"
"""Names of parts of a chart come from it, so that the same day is the same page."""
SIZE = (9.0, 2.6)


def day_report(settings: Settings, day: date) -> str:
    """The page about this day as the tables have it. The same for the same tables."""
    start = datetime.combine(day, time(), UTC)
    hours = list(hours_between(start, start + timedelta(days=1)))
    seals = {hour: seal for hour, seal in current_seals(read_seals(settings)).items() if hour in hours}
    attempts = measured_attempts(settings, hours, seals)
    verdicts = [one for one in newest(read_verdicts(settings, hours)) if attempts.get(one.hour) == one.attempt]
    overrides = read_overrides(settings)
    bad = [one for one in verdicts if one.outcome in HOLDING]
    held = [one for one in blocking(verdicts, overrides) if one.verdict.hour not in seals]
    steps = [one for one in read_alert_log(settings).steps if start <= one.recorded_at < start + timedelta(days=1)]
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Quality of {day}</title>",
        f"<style>{STYLE}</style><h1>Quality of {day}</h1>",
        f"<p>{_summary(hours, seals, verdicts, len(held))}</p>",
        "<h2>What was judged</h2>",
        _outcome_chart(hours, verdicts),
        _table(("hour", "sealed", *COLOURS), _hour_rows(hours, seals, verdicts)),
        "<h2>What was sealed</h2>",
        _seal_chart(hours, seals),
        "<h2>What was held back</h2>",
        _table(("hour", "why"), [(format_utc(one.verdict.hour), one.why) for one in held]),
        "<h2>What broke a rule</h2>",
        _table(_VERDICT_COLUMNS, _verdict_rows(one for one in bad if one.suite != DRIFT_SUITE)),
        "<h2>What drifted</h2>",
        _table(_VERDICT_COLUMNS, _verdict_rows(one for one in bad if one.suite == DRIFT_SUITE)),
        "<h2>What people decided</h2>",
        _table(
            ("hour", "kind", "rule", "group", "observed", "actor", "reason", "when"),
            [
                (format_utc(o.hour), o.kind, o.rule, o.group, o.observed, o.actor, o.reason, format_utc(o.recorded_at))
                for o in overrides
                if o.hour in hours
            ],
        ),
        "<h2>Alerts of the day</h2>",
        _table(
            ("when", "step", "severity", "about", "rule", "observed", "expected", "see"),
            [
                (format_utc(s.recorded_at), s.step, s.severity, s.about, s.rule, s.observed, s.expected, s.see)
                for s in steps
            ],
        ),
    ]
    return "\n".join([*parts, "</html>", ""])


_VERDICT_COLUMNS = ("hour", "table", "rule", "group", "outcome", "observed", "expected", "why so strict")


def _summary(
    hours: Sequence[datetime], seals: Mapping[datetime, Seal], verdicts: Sequence[Verdict], held_count: int
) -> str:
    judged = len({one.hour for one in verdicts})
    counts = Counter(one.outcome for one in verdicts)
    said = ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in COLOURS)
    return (
        f"{judged} of {len(hours)} hours judged, {len(seals)} sealed; {said}; {held_count:,} reasons hold hours back."
    )


def _hour_rows(
    hours: Sequence[datetime], seals: Mapping[datetime, Seal], verdicts: Sequence[Verdict]
) -> list[tuple[str, ...]]:
    counts = Counter((one.hour, one.outcome) for one in verdicts)
    return [
        (format_utc(hour), "yes" if hour in seals else "no", *(f"{counts[hour, outcome]:,}" for outcome in COLOURS))
        for hour in hours
    ]


def _verdict_rows(verdicts: Iterable[Verdict]) -> list[tuple[str, ...]]:
    return [
        (
            format_utc(one.hour),
            one.table_name,
            one.rule,
            one.group,
            one.outcome,
            one.observed,
            one.expected,
            one.tolerance_reason,
        )
        for one in verdicts
    ]


def _outcome_chart(hours: Sequence[datetime], verdicts: Sequence[Verdict]) -> str:
    counts = Counter((one.hour, one.outcome) for one in verdicts)
    bars = {outcome: [counts[hour, outcome] for hour in hours] for outcome in COLOURS}
    return _chart("verdicts by hour", bars, {str(outcome): colour for outcome, colour in COLOURS.items()})


def _seal_chart(hours: Sequence[datetime], seals: Mapping[datetime, Seal]) -> str:
    billable = [seals[hour].billable_clicks if hour in seals else 0 for hour in hours]
    raw = [seals[hour].raw_clicks if hour in seals else 0 for hour in hours]
    excluded = [whole - part for whole, part in zip(raw, billable, strict=True)]
    return _chart(
        "sealed clicks by hour",
        {"billable": billable, "excluded": excluded},
        {"billable": "#7fa8d9", "excluded": "#bbb"},
    )


def _chart(title: str, bars: Mapping[str, Sequence[int]], colours: Mapping[str, str]) -> str:
    """Stacked bars, a UTC hour each, as inline SVG."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    bottom = [0] * max(map(len, bars.values()))
    for name, values in bars.items():
        axes.bar(range(len(values)), values, bottom=bottom, label=name, color=colours[name])
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    axes.set_title(title)
    axes.set_xlabel("UTC hour")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    drawn = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>nothing</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([f"<table><tr>{head}</tr>", *body, "</table>"])
