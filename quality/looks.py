"""What each kind of check looks at: a small frame of figures, and what Great Expectations is asked about it.

Belongs here: from a check and the metrics of an hour to a look, or to why there is nothing to look at. Asking is
``quality/expectations.py``. A look never has a hole in it, since an expectation passes over what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.errors import IntegrityError
from domain.quality_metrics import Metric
from quality.suites.rules import (
    Check,
    HasGroups,
    InRange,
    InSet,
    Matches,
    Near,
    NotMoreThan,
    PartsOfWhole,
    Schema,
    ShareInRange,
    SumsEqual,
)

PER_MILLE = 1_000


class UnmeasuredError(IntegrityError):
    """A check has no figures to look at: the metric was not measured, or a figure is none."""


@dataclass(frozen=True)
class Look:
    """``columns`` of equal lengths, the name of an expectation and its arguments; in words what is expected.

    ``is_defined`` is False where there is nothing that could be right or wrong, such as a share of nothing.
    """

    columns: Mapping[str, Sequence[Any]]
    expectation: str
    arguments: Mapping[str, Any]
    expected: str
    tolerance: str = "none"
    is_defined: bool = True


def look(check: Check, metrics: Sequence[Metric]) -> Look:
    """What this check looks at; ``UnmeasuredError`` if it cannot."""
    make = _LOOKS.get(type(check))
    if make is None:
        raise UnmeasuredError(f"a check of kind {type(check).__name__}", "a kind that is known", "correct the suite")
    return make(check, metrics)


def _schema(check: Schema, metrics: Sequence[Metric]) -> Look:
    names = sorted({one.name for one in metrics})
    if not names:
        raise _unmeasured("any metric")
    expected = f"metrics {', '.join(check.metrics)}"
    return _set_look("ExpectColumnDistinctValuesToContainSet", names, check.metrics, expected)


def _has_groups(check: HasGroups, metrics: Sequence[Metric]) -> Look:
    groups = [one.group for one in _named(check.metric, metrics)]
    expected = f"groups {', '.join(check.groups)} of {check.metric}"
    return _set_look("ExpectColumnDistinctValuesToContainSet", groups, check.groups, expected)


def _in_set(check: InSet, metrics: Sequence[Metric]) -> Look:
    groups = [one.group for one in _named(check.metric, metrics) if one.amount]
    expected = f"{check.metric} of {', '.join(check.allowed)}"
    return _set_look("ExpectColumnValuesToBeInSet", groups, check.allowed, expected)


def _set_look(expectation: str, values: list[str], allowed: Sequence[str], expected: str) -> Look:
    arguments = {"column": "group", "value_set": list(allowed)}
    return Look({"group": values}, expectation, arguments, expected, is_defined=bool(values))


def _matches(check: Matches, metrics: Sequence[Metric]) -> Look:
    groups = [one.group for one in _named(check.metric, metrics) if one.amount]
    arguments = {"column": "group", "regex": check.pattern}
    return Look(
        {"group": groups},
        "ExpectColumnValuesToMatchRegex",
        arguments,
        f"{check.metric} like {check.pattern}",
        is_defined=bool(groups),
    )


def _in_range(check: InRange, metrics: Sequence[Metric]) -> Look:
    chosen = _groups(check.metric, check.groups, metrics)
    amounts = _figures(check.metric, [one.amount for one in chosen])
    return _range_look(check, amounts)


def _share_in_range(check: ShareInRange, metrics: Sequence[Metric]) -> Look:
    chosen = _groups(check.metric, check.groups, metrics)
    shares = [one.share for one in chosen if one.share is not None]
    return _range_look(check, _figures(check.metric, shares), is_defined=bool(shares))


def _range_look(check: InRange | ShareInRange, figures: list[float], is_defined: bool = True) -> Look:
    if check.highest is None:
        text = f"{check.metric} of at least {check.lowest:,}"
    elif check.lowest == check.highest:
        text = f"{check.metric} of {check.lowest:,}"
    else:
        text = f"{check.metric} from {check.lowest} to {check.highest}"
    arguments = {"column": "figure", "min_value": check.lowest, "max_value": check.highest}
    return Look({"figure": figures}, "ExpectColumnValuesToBeBetween", arguments, text, is_defined=is_defined)


def _parts_of_whole(check: PartsOfWhole, metrics: Sequence[Metric]) -> Look:
    chosen = _named(check.metric, metrics)
    wholes = {one.out_of for one in chosen}
    if None in wholes:
        raise UnmeasuredError(f"metric {check.metric} without out_of", "what it is a part of", "look at its measuring")
    total = sum(_figures(check.metric, [one.amount for one in chosen]))
    found = [float(whole) for whole in sorted(one for one in wholes if one is not None)]
    return _pair_look([total] * len(found), found, f"groups of {check.metric} that come to their whole")


def _not_more_than(check: NotMoreThan, metrics: Sequence[Metric]) -> Look:
    amounts = _figures(check.metric, [one.amount for one in _named(check.metric, metrics)])
    whole = _sum(check.whole, metrics)
    arguments = {"column_A": "bound", "column_B": "found", "or_equal": True}
    columns = {"bound": [whole] * len(amounts), "found": amounts}
    expected = f"{check.metric} of at most {check.whole}, {whole:,.0f}"
    return Look(columns, "ExpectColumnPairValuesAToBeGreaterThanB", arguments, expected)


def _sums_equal(check: SumsEqual, metrics: Sequence[Metric]) -> Look:
    has_remainder = any(one.name == check.remainder for one in metrics)
    found = _sum(check.part, metrics) + (_sum(check.remainder, metrics) if has_remainder else 0)
    whole = _sum(check.whole, metrics)
    return _pair_look([found], [whole], f"{check.part} + {check.remainder} = {check.whole}, {whole:,.0f}")


def _pair_look(found: list[float], bound: list[float], expected: str) -> Look:
    arguments = {"column_A": "found", "column_B": "bound"}
    return Look({"found": found, "bound": bound}, "ExpectColumnPairValuesToBeEqual", arguments, expected)


def _near(check: Near, metrics: Sequence[Metric]) -> Look:
    first, second = ({one.group: one.amount for one in _named(name, metrics)} for name in (check.metric, check.other))
    groups = sorted(first.keys() | second.keys())
    away = _figures(check.metric, [abs(first.get(one, 0) - second.get(one, 0)) for one in groups])
    bounds = [max(check.floor_clicks, second.get(one, 0) * check.per_mille / PER_MILLE) for one in groups]
    return Look(
        {"bound": bounds, "found": away, "group": groups},
        "ExpectColumnPairValuesAToBeGreaterThanB",
        {"column_A": "bound", "column_B": "found", "or_equal": True},
        f"{check.metric} near {check.other}",
        f"{check.per_mille} per mille, at least {check.floor_clicks} clicks",
    )


def _named(name: str, metrics: Sequence[Metric]) -> list[Metric]:
    found = sorted((one for one in metrics if one.name == name), key=lambda one: str(one.group))
    if not found:
        raise _unmeasured(f"metric {name}")
    for one in found:
        if not isinstance(one.group, str):
            raise UnmeasuredError(f"metric {name} of {one.group!r}", "the name of a group", "look at its measuring")
    return found


def _groups(name: str, groups: Sequence[str], metrics: Sequence[Metric]) -> list[Metric]:
    found = [one for one in _named(name, metrics) if not groups or one.group in groups]
    missing = sorted(set(groups) - {one.group for one in found})
    if missing:
        raise _unmeasured(f"metric {name} of {', '.join(missing)}")
    return found


def _sum(name: str, metrics: Sequence[Metric]) -> float:
    return sum(_figures(name, [one.amount for one in _named(name, metrics)]))


def _figures(name: str, values: Iterable[float]) -> list[float]:
    found = list(values)
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UnmeasuredError(f"metric {name} has {value!r}", "a finite number", "look at its measuring")
    return found


def _unmeasured(what: str) -> UnmeasuredError:
    return UnmeasuredError(f"no {what} of this hour", "a measured hour", "measure it by reconciling the hour again")


_LOOKS: dict[type, Callable[[Any, Sequence[Metric]], Look]] = {
    Schema: _schema,
    HasGroups: _has_groups,
    InSet: _in_set,
    Matches: _matches,
    InRange: _in_range,
    ShareInRange: _share_in_range,
    PartsOfWhole: _parts_of_whole,
    NotMoreThan: _not_more_than,
    SumsEqual: _sums_equal,
    Near: _near,
}
