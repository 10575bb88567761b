"""What a suite can ask of the metrics of one hour, as data. Asking is ``quality/expectations.py``.

Belongs here: the kinds of checks. Which are asked of which table: the other files of this folder.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.quality_verdicts import Severity


@dataclass(frozen=True)
class Schema:
    """The hour has these metrics."""

    metrics: tuple[str, ...]


@dataclass(frozen=True)
class HasGroups:
    """The metric has a row for each of these groups."""

    metric: str
    groups: tuple[str, ...]


@dataclass(frozen=True)
class InSet:
    """The groups of the metric are of this set."""

    metric: str
    allowed: tuple[str, ...]


@dataclass(frozen=True)
class Matches:
    """The groups of the metric match this regular expression."""

    metric: str
    pattern: str


@dataclass(frozen=True)
class InRange:
    """The amounts of the metric, or of the groups of it that are named, lie between both bounds, included."""

    metric: str
    lowest: int | None
    highest: int | None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShareInRange:
    """The shares of the metric lie between both bounds, included; a part of nothing has no share."""

    metric: str
    lowest: float
    highest: float
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartsOfWhole:
    """The amounts of the metric's groups come to what they say they are parts of, exactly."""

    metric: str


@dataclass(frozen=True)
class NotMoreThan:
    """No group of the metric is more than the whole."""

    metric: str
    whole: str


@dataclass(frozen=True)
class SumsEqual:
    """The amounts of these metrics together are those of the whole, exactly. The remainder may have no rows."""

    part: str
    remainder: str
    whole: str


@dataclass(frozen=True)
class Near:
    """By group two metrics differ by no more than a share of the second, or a floor, whichever is more."""

    metric: str
    other: str
    per_mille: int
    floor_clicks: int


Check = Schema | HasGroups | InSet | Matches | InRange | ShareInRange | PartsOfWhole | NotMoreThan | SumsEqual | Near


@dataclass(frozen=True)
class Rule:
    """A check with its name, whether it guards money (``fail``), and why it is as strict as it is."""

    name: str
    severity: Severity
    check: Check
    reason: str


@dataclass(frozen=True)
class Suite:
    """The rules of one table, by the metrics of the tables ``metrics_of``. A change is another version."""

    name: str
    table_name: str
    metrics_of: tuple[str, ...]
    version: int
    rules: tuple[Rule, ...]
