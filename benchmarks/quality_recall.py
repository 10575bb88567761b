"""How well quality sees faults, and how rarely it cries wolf: 25 kinds of fault at three strengths, and clean weeks.

Weeks of metric rows are generated with a daily and a weekly rhythm, growth, a launch and a holiday (both in the
calendar). The product's own code judges them: suites by Great Expectations, drift by its statistics. Beside it, on the
same rows, mean and three sigma as tutorials write it, and Evidently's data drift preset with its defaults. Prints what
it does, and on its last line one JSON object.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from parts.quality_effects import HonestRhythm, effect_sigmas, honest_rhythm
from parts.quality_faults import FAULTS, Fault, copy_of
from parts.quality_world import HOLIDAY_WEEKS, LAUNCH_WEEKS, WEEK_HOURS, World, build_world, metrics_at
from peers.evidently_home import drifted, ensure_packages, is_ready
from peers.three_sigma import WINDOW_HOURS, alarms, flat_series

from cli.console import note, print_error, print_table
from domain.buckets import HOUR
from domain.drift_findings import findings_of
from domain.drift_rules import DriftOptions
from domain.errors import TallystickError
from domain.metric_history import Family, History
from domain.quality_verdicts import Finding
from quality.expectations import run_suite
from quality.suites import SUITES

REFERENCE_WEEKS = 21
SEED = 11
EPISODE_HOURS = 24
BAD = ("fail", "error")
EFFECT_BAR = 4.0
DAY = 24


@dataclass(frozen=True)
class Size:
    """``starts`` moments for each fault and strength; each ``asked_every`` clean hours the suites are asked."""

    clean_weeks: int
    starts: int
    strengths: slice
    asked_every: int
    evidently_weeks: int


FULL, QUICK = Size(60, 3, slice(None), 72, 6), Size(8, 1, slice(1, 2), 168, 1)


@dataclass(frozen=True)
class Case:
    """A fault at a strength from a row of the world on, and what saw it when (hours from its start; None for never)."""

    fault: Fault
    strength: float
    row: int
    sigmas: float
    seen_after: int | None
    named_after: int | None
    peer_after: int | None


def main(is_quick: Annotated[bool, typer.Option("--quick", help="Little data, under a minute.")] = False) -> None:
    """Run it and print the figures."""
    size = QUICK if is_quick else FULL
    world = build_world(REFERENCE_WEEKS + size.clean_weeks, SEED)
    masked = _masked(world)
    rhythm = honest_rhythm(masked, REFERENCE_WEEKS * WEEK_HOURS)
    note(f"{size.clean_weeks} clean weeks after {REFERENCE_WEEKS} to learn from")
    figures = _clean(masked, size)
    cases = _faulty(masked, rhythm, size)
    _print_cases(cases)
    figures |= _recalls(cases) | rhythm.percents()
    if is_ready() or not is_quick:
        figures |= _evidently(masked, size)
    else:
        note("Evidently is not installed yet and takes long to: the whole benchmark does it")
    figures |= _ratios(figures)
    print(json.dumps(figures))


def _masked(world: World) -> History:
    """Hours that the calendar explains are no reference; what is said about them is silenced."""
    families = {
        name: Family(one.groups, np.where(world.is_explained[:, None], np.nan, one.amount), one.out_of)
        for name, one in world.history.families.items()
    }
    return replace(world.history, is_measured=~world.is_explained, families=families)


def _clean(history: History, size: Size) -> dict[str, Any]:
    since = REFERENCE_WEEKS * WEEK_HOURS
    rows = [row for row in range(since, history.hour_count) if history.is_measured[row]]
    hours = [history.start + row * HOUR for row in rows]
    alarmed: dict[tuple[str, str], list[int]] = defaultdict(list)
    for hour, one in findings_of(history, hours, DriftOptions()):
        if one.outcome in BAD:
            alarmed[one.rule, one.group].append(history.row(hour))
    asked = rows[:: size.asked_every]
    for row in asked:
        for one in _suites(history, row):
            if one.outcome in BAD:
                alarmed[one.rule, one.group].append(row)
    _, series = flat_series(history)
    peer = alarms(series, since)
    peer[~history.is_measured[since:]] = False
    peer_episodes = sum(_episodes(np.flatnonzero(peer[:, column]).tolist()) for column in range(peer.shape[1]))
    episodes = {key: _episodes(found) for key, found in sorted(alarmed.items())}
    for key, count in episodes.items():
        note(f"false alarm: {' '.join(key)}, {count} times")
    note(f"clean: {len(hours):,} hours, the suites asked about {len(asked):,} of them")
    return {
        "false_alarms_per_week": round(sum(episodes.values()) / size.clean_weeks, 3),
        "three_sigma_false_alarms_per_week": round(peer_episodes / size.clean_weeks, 3),
        "clean_hours": len(hours),
    }


def _episodes(rows: Sequence[int]) -> int:
    """Alarms of one kind with less than a day between them are one."""
    ordered = sorted(rows)
    return sum(1 for n, row in enumerate(ordered) if n == 0 or row - ordered[n - 1] >= EPISODE_HOURS)


def _suites(history: History, row: int) -> Iterable[Finding]:
    metrics = metrics_at(history, row)
    for name, suite in SUITES.items():
        if name != "seals":
            yield from run_suite(suite, metrics)


def _faulty(history: History, rhythm: HonestRhythm, size: Size) -> list[Case]:
    cases = []
    for fault in FAULTS:
        for strength in fault.strengths[size.strengths]:
            cases += [_case(history, rhythm, fault, strength, row) for row in _starts(history, fault, size)]
        note(f"{fault.name}: {sum(1 for one in cases if one.fault is fault)} times")
    return cases


def _starts(history: History, fault: Fault, size: Size) -> list[int]:
    """Spread over the weeks and the hours of a week, away from launch and holiday and what follows them."""
    last = history.hour_count - fault.hours
    chance = np.random.default_rng(SEED)
    first = REFERENCE_WEEKS * WEEK_HOURS
    known = {week + after for week in (LAUNCH_WEEKS, HOLIDAY_WEEKS) for after in range(-4, 2)}
    rows: list[int] = []
    while len(rows) < size.starts:
        row = int(chance.integers(first, max(last, first + 1)))
        if row // WEEK_HOURS not in known:
            rows.append(row)
    return rows


def _case(history: History, rhythm: HonestRhythm, fault: Fault, strength: float, row: int) -> Case:
    first, end = row - REFERENCE_WEEKS * WEEK_HOURS, row + fault.hours
    clean = copy_of(history, first, end)
    faulty = copy_of(history, first, end)
    start = row - first
    fault.apply(faulty, start, strength)
    said = [(start, one) for one in _suites(faulty, start)]
    hours = [faulty.start + number * HOUR for number in range(start, end - first)]
    said += [(faulty.row(hour), one) for hour, one in findings_of(faulty, hours, DriftOptions())]
    alarmed = [(at - start, one) for at, one in said if one.outcome in BAD]
    named = [after for after, one in alarmed if _is_about(one, fault)]
    _, series = flat_series(faulty)
    peer = np.flatnonzero(alarms(series[-(WINDOW_HOURS + fault.hours) :], min(WINDOW_HOURS, start)).any(axis=1))
    return Case(
        fault,
        strength,
        row,
        effect_sigmas(rhythm, fault.series, clean, faulty, start) if fault.series else float("inf"),
        min((after for after, _ in alarmed), default=None),
        min(named, default=None),
        int(peer[0]) if len(peer) else None,
    )


def _is_about(one: Finding, fault: Fault) -> bool:
    """Whether the group that is named is the one that the fault shows in; a fault of the whole has no group."""
    return fault.series is None or one.group in {fault.series[1], ""}


def _recalls(cases: Sequence[Case]) -> dict[str, Any]:
    invariant = [one for one in cases if one.fault.series is None]
    strong = [one for one in cases if one.fault.series is not None and one.sigmas > EFFECT_BAR]
    return {
        "recall_invariant": _share(one.seen_after == 0 for one in invariant),
        "recall_over_4_sigma": _share(one.seen_after is not None for one in strong),
        "recall_over_4_sigma_first_hour": _share(one.seen_after == 0 for one in strong if one.fault.hours <= DAY),
        "recall_all": _share(one.seen_after is not None for one in cases),
        "recall_all_first_hour": _share(one.seen_after == 0 for one in cases),
        "three_sigma_recall_invariant": _share(one.peer_after == 0 for one in invariant),
        "three_sigma_recall_over_4_sigma": _share(one.peer_after is not None for one in strong),
        "three_sigma_recall_all": _share(one.peer_after is not None for one in cases),
        "three_sigma_recall_all_first_hour": _share(one.peer_after == 0 for one in cases),
        "cases": len(cases),
    }


def _share(found: Iterable[bool]) -> float | None:
    listed = list(found)
    return round(sum(listed) / len(listed), 3) if listed else None


def _print_cases(cases: Sequence[Case]) -> None:
    rows = []
    for fault in FAULTS:
        for strength in fault.strengths:
            ours = [one for one in cases if one.fault is fault and one.strength == strength]
            if not ours:
                continue
            seen = [one.seen_after for one in ours if one.seen_after is not None]
            sigmas = float(np.median([one.sigmas for one in ours]))
            rows.append(
                (
                    fault.name,
                    f"{strength:g}",
                    "invariant" if np.isinf(sigmas) else f"{sigmas:.1f}",
                    f"{len(seen) / len(ours):.2f}",
                    f"{sum(1 for one in seen if one == 0) / len(ours):.2f}",
                    f"{np.median(seen):.0f}" if seen else "-",
                    f"{sum(1 for one in ours if one.named_after is not None) / len(ours):.2f}",
                    f"{sum(1 for one in ours if one.peer_after is not None) / len(ours):.2f}",
                )
            )
    names = ("fault", "strength", "sigmas", "recall", "first hour", "median hours", "named", "three sigma")
    print_table(names, rows)


def _evidently(history: History, size: Size) -> dict[str, Any]:
    """Windows of a day against the four weeks before: clean ones, and the first day of each fault at each strength."""
    python = ensure_packages()
    first = REFERENCE_WEEKS * WEEK_HOURS
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        clean = [f"clean-{week}" for week in range(size.evidently_weeks)]
        step = (history.hour_count - first) // size.evidently_weeks
        for number, name in enumerate(clean):
            _write_window(folder, name, history, first + number * step + DAY)
        faulty = []
        for fault in FAULTS if size is FULL else FAULTS[::12]:
            (row,) = _starts(history, fault, replace(size, starts=1))
            for strength in fault.strengths[size.strengths]:
                name = f"fault-{len(faulty)}"
                changed = copy_of(history, row - first, row + min(DAY, history.hour_count - row))
                fault.apply(changed, first, strength)
                _write_window(folder, name, changed, changed.hour_count)
                faulty.append(name)
        found = drifted(python, folder, [*clean, *faulty])
    per_week = WEEK_HOURS / DAY
    return {
        "evidently_false_alarms_per_week": round(
            per_week * sum(found[one]["is_drift"] for one in clean) / len(clean), 2
        ),
        "evidently_column_false_alarms_per_week": round(
            per_week * sum(found[one]["columns"] > 0 for one in clean) / len(clean), 2
        ),
        "evidently_recall_all": _share(found[one]["is_drift"] for one in faulty),
        "evidently_column_recall_all": _share(found[one]["columns"] > 0 for one in faulty),
        "evidently_windows": len(found),
    }


def _write_window(folder: Path, name: str, history: History, end: int) -> None:
    names, series = flat_series(history)
    start = end - DAY
    pd.DataFrame(series[start - WINDOW_HOURS : start], columns=names).dropna().to_csv(
        folder / f"{name}.reference.csv", index=False
    )
    pd.DataFrame(series[start:end], columns=names).to_csv(folder / f"{name}.current.csv", index=False)


def _ratios(figures: dict[str, Any]) -> dict[str, Any]:
    """Over 1 is better than the peer; false alarms are taken to be at least one in all the clean weeks."""
    ours = max(figures["false_alarms_per_week"], 1 / (figures["clean_hours"] / WEEK_HOURS))
    return {
        "three_sigma_recall_ratio": round(figures["recall_all"] / max(figures["three_sigma_recall_all"], 0.001), 2),
        "three_sigma_false_alarm_ratio": round(figures["three_sigma_false_alarms_per_week"] / ours, 1),
    }


if __name__ == "__main__":
    try:
        typer.run(main)
    except TallystickError as error:
        print_error(error)
        raise SystemExit(error.exit_code) from error
