"""Fraud verdicts: what one says, of which click, and which one is in force.

Belongs here: the fields and their bounds, and the rule by which a later verdict takes the place of an earlier one.
Files of verdicts are read by ``warehouse/verdict_files.py``, sets of them kept by ``warehouse/verdicts.py``; what a
verdict does to a click is ``domain/counting.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

from domain.buckets import format_utc, parse_utc
from domain.events import FIELDS, FUTURE_BOUND, MAX_INT64
from domain.identity import LogPosition

Judgement = Literal["fraud", "withdrawn"]
MAX_REASON_LENGTH = 1_000
MAX_INT32 = 2**31 - 1
FIELD_NAMES = (
    *("impression_id", "ad_id", "log", "partition", "offset"),
    *("verdict", "reason", "score_micros", "decided_at"),
)
"""What a record of a file may hold; any other name is a mistake of whoever wrote it."""
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")
_REASON = re.compile(rf"(?!\s*\Z)[^\x00-\x1f\x7f\ud800-\udfff]{{1,{MAX_REASON_LENGTH}}}\Z")
_IMPRESSION_ID = re.compile(next(field.pattern or "" for field in FIELDS if field.name == "impression_id"))


class ClickTarget(NamedTuple):
    """All copies of a click, wherever they stand in the log; of them one at most is billable within the horizon."""

    impression_id: str
    ad_id: int


Target = ClickTarget | LogPosition


@dataclass(frozen=True)
class FraudVerdict:
    """What somebody decided about a click. ``withdrawn`` lifts what was decided before about the same target.

    ``score_micros`` is millionths of the source's own scale; it is kept and decides nothing.
    """

    verdict_id: str
    target: Target
    verdict: Judgement
    reason: str
    decided_at: datetime
    score_micros: int | None = None


class VerdictOfSet(NamedTuple):
    """A verdict with the set that it came in, and from whom."""

    set_version: int
    source: str
    verdict: FraudVerdict


def parse_verdict(record: Mapping[str, Any], verdict_id: str, received_at: datetime) -> FraudVerdict | str:
    """The verdict of a record, or in words what is wrong with it. None stands for a field that is not given.

    Numbers and instants may be text, as a file without types has them.
    """
    given = {name: value for name, value in record.items() if value is not None}
    try:
        _refuse_unknown(given)
        return FraudVerdict(
            verdict_id=verdict_id,
            target=_target(given),
            verdict=_judgement(given),
            reason=_text(given, "reason", _REASON, f"a text of up to {MAX_REASON_LENGTH} printable characters"),
            decided_at=_decided_at(given, received_at),
            score_micros=_number(given, "score_micros", 0, MAX_INT64) if "score_micros" in given else None,
        )
    except ValueError as error:
        return str(error)


def verdicts_in_force(verdicts: Iterable[VerdictOfSet], set_version: int) -> dict[Target, VerdictOfSet]:
    """By target the verdict of fraud that holds in a set version: the last decided of this set and those before it.

    Of verdicts decided in one instant the one of the later set holds, in one set that with the higher id. A target
    whose last verdict is withdrawn has none. A click and its log position are two targets: neither lifts the other.
    """
    last: dict[Target, VerdictOfSet] = {}
    for one in verdicts:
        if one.set_version <= set_version:
            held = last.get(one.verdict.target)
            if held is None or _order(one) > _order(held):
                last[one.verdict.target] = one
    return {target: one for target, one in last.items() if one.verdict.verdict == "fraud"}


def _order(one: VerdictOfSet) -> tuple[datetime, int, str]:
    return one.verdict.decided_at, one.set_version, one.verdict.verdict_id


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    unknown = sorted(given.keys() - set(FIELD_NAMES))
    if unknown:
        raise ValueError(f"unknown field {', '.join(unknown)}")


def _target(given: Mapping[str, Any]) -> Target:
    of_click = [name for name in ClickTarget._fields if name in given]
    of_position = [name for name in LogPosition._fields if name in given]
    if of_click and not of_position:
        impression_id = _text(given, "impression_id", _IMPRESSION_ID, "an impression id")
        return ClickTarget(impression_id, _number(given, "ad_id", 1, MAX_INT64))
    if of_position and not of_click:
        bounds = {"log": (1, MAX_INT32), "partition": (0, MAX_INT32), "offset": (0, MAX_INT64)}
        return LogPosition(*(_number(given, name, *bounds[name]) for name in LogPosition._fields))
    raise ValueError("a target is impression_id and ad_id, or log, partition and offset, and not both")


def _judgement(given: Mapping[str, Any]) -> Judgement:
    for judgement in get_args(Judgement):
        if given.get("verdict") == judgement:
            return judgement  # type: ignore[no-any-return] # get_args knows no types
    raise ValueError(f"verdict is {given.get('verdict')!r:.40}, not {' or '.join(get_args(Judgement))}")


def _text(given: Mapping[str, Any], name: str, pattern: re.Pattern[str], expected: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{name} is {value!r:.40}, not {expected}")
    return value


def _number(given: Mapping[str, Any], name: str, minimum: int, maximum: int) -> int:
    value = given.get(name)
    if isinstance(value, str) and _WHOLE_NUMBER.match(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ValueError(f"{name} is {value!r:.40}, not a whole number from {minimum} to {maximum}")
    return value


def _decided_at(given: Mapping[str, Any], received_at: datetime) -> datetime:
    value = given.get("decided_at")
    try:
        at = parse_utc(value) if isinstance(value, str) else value
    except ValueError:
        at = None
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise ValueError(f"decided_at is {value!s:.40}, not an instant with its zone")
    if at > received_at + FUTURE_BOUND:
        raise ValueError(f"decided_at is {format_utc(at)}, after it was received: it would hold for too long")
    return at.astimezone(UTC)
