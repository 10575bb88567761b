"""Parameters, plan and receipt of the reconcile job; loads no Spark, so that whoever launches it can import them.

Belongs here: what goes in and what comes out, with JSON in both directions. How a plan is made: ``planning.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal

from domain.buckets import format_utc, hour_of, hours_between, parse_utc
from domain.cases import check_case
from domain.errors import UsageError
from domain.texts import check_actor

Action = Literal["seal", "verify", "revise", "publish", "blocked"]
DEFAULT_ACTOR = "cli"
"""Who asks where nobody says so: enough to seal an hour, not to touch one that is sealed."""
ARCHIVE_WAIT_SECONDS = 120
"""A running stream is a batch or two behind the log; one that needs longer is behind for another reason."""


@dataclass(frozen=True)
class ReconcileParams:
    """Hours ``[first_hour, end)``, UTC; who asks; how long a running archive may take to reach the end of the log.

    With a reason and a case, sealed hours are counted again as they would be today, and sealed anew if that differs.
    ``is_recounting_held``: hours that quality held back are counted and judged again, as after a repair of the data.
    """

    first_hour: datetime
    end: datetime
    actor: str
    archive_wait_seconds: int = ARCHIVE_WAIT_SECONDS
    reason: str = ""
    case_id: str = ""
    is_recounting_held: bool = False

    def __post_init__(self) -> None:
        for name, at in (("first hour", self.first_hour), ("end", self.end)):
            if at != hour_of(at.astimezone(UTC)):  # an instant without a zone equals no aware one
                raise UsageError(f"{name} {at.isoformat()}", "a whole hour with a zone, UTC", "round it to the hour")
        if self.end <= self.first_hour:
            raise UsageError(
                f"range from {format_utc(self.first_hour)} to {format_utc(self.end)}",
                "an end after the first hour; the end itself is not included",
                "swap them, or leave the end out for one hour",
            )
        check_actor(self.actor)
        if self.reason or self.case_id:
            self._check_case()

    @property
    def is_revising(self) -> bool:
        """Whether sealed hours may get another seal."""
        return bool(self.case_id)

    def _check_case(self) -> None:
        given = {"reason": self.reason, "case": self.case_id, "actor": self.actor}
        missing = [name for name, value in given.items() if not value.strip() or value == DEFAULT_ACTOR]
        if missing:
            raise UsageError(
                f"a revision without {' and '.join(missing)}",
                "a reason, a case and the name of who asks, all three",
                "give --reason, --case and --actor; or none of the first two, and sealed hours are verified",
            )
        check_case(self.case_id, self.reason)

    @property
    def hours(self) -> list[datetime]:
        """The hours that are asked for, ascending."""
        return list(hours_between(self.first_hour, self.end))

    def to_json(self) -> str:
        """One line of JSON."""
        return _to_json(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ReconcileParams:
        """What ``to_json`` wrote; ``UsageError`` if it is anything else."""
        return cls(**_fields_of(cls, text, {"first_hour": parse_utc, "end": parse_utc}))


@dataclass(frozen=True)
class HourPlan:
    """What will be done with one hour, and why.

    ``cut``: per "log:partition" the end offset up to which raw is read; a sealed hour has its seal's. ``reasons``: why
    a blocked hour cannot be sealed, ``expected_at``: when it may be, if that can be told. ``late_arrival_count``: raw
    rows of a sealed hour that came after its cut.
    """

    hour: datetime
    action: Action
    cut: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    seal_number: int | None = None
    late_arrival_count: int = 0
    expected_at: datetime | None = None


@dataclass(frozen=True)
class HourReceipt:
    """What was done with one hour. Counts are clicks; ``excluded_clicks`` is by reason, ``digest`` of the billable set.

    ``unexplained_clicks``: live and final differ by these for no known cause. ``alert_count``: advertisers over the
    bar. ``late_arrival_count``: clicks beyond the cut that the hour had; a revision has taken them in.
    """

    hour: datetime
    action: Action
    reasons: tuple[str, ...] = ()
    seal_number: int | None = None
    attempt: str | None = None
    raw_clicks: int = 0
    billable_clicks: int = 0
    excluded_clicks: Mapping[str, int] = field(default_factory=dict)
    digest: str | None = None
    live_clicks: int | None = None
    unexplained_clicks: int = 0
    alert_count: int = 0
    late_arrival_count: int = 0


def receipt_of_plan(plan: HourPlan) -> HourReceipt:
    """Of an hour with which no more than the plan says was done."""
    return HourReceipt(
        plan.hour,
        plan.action,
        reasons=plan.reasons,
        seal_number=plan.seal_number,
        late_arrival_count=plan.late_arrival_count,
    )


@dataclass(frozen=True)
class ReconcileReceipt:
    """What a run did. ``publication_number`` and ``final_until`` are the newest after it, whoever made them."""

    hours: tuple[HourReceipt, ...]
    publication_number: int | None
    final_until: datetime | None
    duration_seconds: float

    @property
    def is_all_blocked(self) -> bool:
        """Whether nothing of what was asked for could be done."""
        return all(hour.action == "blocked" for hour in self.hours)

    def of(self, action: Action) -> list[HourReceipt]:
        """The hours with which this was done."""
        return [hour for hour in self.hours if hour.action == action]

    def to_json(self) -> str:
        """One line of JSON."""
        return _to_json(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ReconcileReceipt:
        """What ``to_json`` wrote; ``UsageError`` if it is anything else."""
        return cls(**_fields_of(cls, text, {"hours": _hours, "final_until": _instant_or_none}))


def _to_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, default=format_utc)


def _fields_of(kind: type, text: str, readers: Mapping[str, Any]) -> dict[str, Any]:
    refusal = UsageError(f"{text[:200]!r}", f"the JSON of a {kind.__name__}", "pass on what to_json wrote")
    try:
        document = json.loads(text)
    except ValueError:
        raise refusal from None
    if not isinstance(document, dict) or document.keys() != {f.name for f in fields(kind)}:
        raise refusal
    return {name: readers[name](value) if name in readers else value for name, value in document.items()}


def _instant_or_none(text: str | None) -> datetime | None:
    return None if text is None else parse_utc(text)


def _hours(documents: list[dict[str, Any]]) -> tuple[HourReceipt, ...]:
    return tuple(
        HourReceipt(**document | {"hour": parse_utc(document["hour"]), "reasons": tuple(document["reasons"])})
        for document in documents
    )
