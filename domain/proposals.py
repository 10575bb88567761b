"""Proposals: which sealed hours deserve another look, why, and what that would bill.

Belongs here: what makes one, how it is told apart from those that somebody has dismissed, and the lines of an
adjustment. A proposal is derived from raw, verdicts and ledgers each time and stored nowhere. Reading what it rests on
is ``warehouse/hour_findings.py``, counting an hour of a closed period again ``quality/proposals.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from domain.adjustments import Adjustment, AdjustmentLine
from domain.buckets import format_utc
from domain.identity import LogPosition
from domain.verdicts import ClickTarget, Target, VerdictOfSet, verdicts_in_force

Kind = Literal["revision", "adjustment"]


class ChangedVerdict(NamedTuple):
    """A click that another verdict holds for than when its hour was sealed; ``verdict_id`` is None if none does."""

    target: Target
    verdict_id: str | None


class ChangedSpan(NamedTuple):
    """From ``first_set`` on, up to but without ``end_set``, another verdict was in force than the one that is now."""

    first_set: int
    end_set: int
    changed: ChangedVerdict


class ChargeKey(NamedTuple):
    """What an adjustment's line tells apart in an hour."""

    advertiser_id: int
    campaign_id: int
    ad_id: int
    country: str
    device: str


@dataclass(frozen=True)
class Findings:
    """What a sealed hour does not know: raw clicks beyond its cut, and newer verdicts about clicks that it counted."""

    hour: datetime
    seal_number: int
    late: tuple[LogPosition, ...] = ()
    verdicts: tuple[ChangedVerdict, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex over what was found: the same findings have the same, one more makes another."""
        lines = [f"late|{one.log}|{one.partition}|{one.offset}" for one in self.late]
        lines += [f"verdict|{_words(one.target)}|{one.verdict_id or ''}" for one in self.verdicts]
        return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()

    @property
    def is_late_only(self) -> bool:
        """Whether nobody has judged anything: clicks came after the cut, and that is all."""
        return not self.verdicts

    @property
    def actor(self) -> str:
        """Who proposes. A verdict is somebody's decision, so an hour with both is not the late arrivals' own."""
        return "system:late" if self.is_late_only else "system:fraud"

    @property
    def case_id(self) -> str:
        """The same each time that the hour is proposed, such as late-2026-11-30T10."""
        return f"{self.actor.removeprefix('system:')}-{self.hour:%Y-%m-%dT%H}"

    @property
    def reason(self) -> str:
        """Why, in words that a ledger and a statement can carry."""
        counts = ((len(self.late), "late arrivals"), (len(self.verdicts), "newer fraud verdicts"))
        return " and ".join(f"{count} {what}" for count, what in counts if count)


@dataclass(frozen=True)
class Proposal:
    """A revision of an hour of an open period, or an adjustment of one of a closed period, with its lines."""

    kind: Kind
    findings: Findings
    lines: tuple[AdjustmentLine, ...] = ()

    @property
    def hour(self) -> datetime:
        """The hour that it is about."""
        return self.findings.hour


def changed_spans(verdicts: Iterable[VerdictOfSet], newest: int) -> list[ChangedSpan]:
    """Of each target the spans of sets before ``newest`` at which something else was in force than is there; by target.

    So an hour that was counted with any set is asked one question, however many sets there are.
    Over many verdicts the same is asked in SQL, ``warehouse/verdicts_in_force.py``, which tests hold equal to this.
    """
    by_target: dict[Target, list[VerdictOfSet]] = {}
    for one in verdicts:
        by_target.setdefault(one.verdict.target, []).append(one)
    spans = [span for target, own in by_target.items() for span in _spans(target, own, newest)]
    return sorted(spans, key=_by_target)


def _by_target(span: ChangedSpan) -> tuple[bool, Target, int]:
    """Places of the log first, since the two kinds have no order between them."""
    return isinstance(span.changed.target, ClickTarget), span.changed.target, span.first_set


def _spans(target: Target, own: Sequence[VerdictOfSet], newest: int) -> Iterator[ChangedSpan]:
    now = _id_in_force(target, own, newest)
    starts = sorted({0, newest + 1, *(one.set_version for one in own if one.set_version <= newest)})
    for first, end in pairwise(starts):
        if _id_in_force(target, own, first) != now:
            yield ChangedSpan(first, end, ChangedVerdict(target, now))


def _id_in_force(target: Target, own: Sequence[VerdictOfSet], set_version: int) -> str | None:
    held = verdicts_in_force(own, set_version).get(target)
    return None if held is None else held.verdict.verdict_id


def delta_lines(
    hour: datetime,
    recounted: Mapping[ChargeKey, int],
    closed: Mapping[ChargeKey, int],
    adjusted: Iterable[Adjustment],
) -> tuple[AdjustmentLine, ...]:
    """What is still to be billed of an hour: the recount less what was closed and what was adjusted since, by key."""
    due = {key: recounted.get(key, 0) - closed.get(key, 0) for key in recounted.keys() | closed.keys()}
    for one in adjusted:
        if one.charge_hour == hour:
            key = ChargeKey(*(getattr(one, name) for name in ChargeKey._fields))
            due[key] = due.get(key, 0) - one.delta_clicks
    return tuple(
        AdjustmentLine(charge_hour=hour, **key._asdict(), delta_clicks=delta)
        for key, delta in sorted(due.items())
        if delta
    )


def in_words(proposal: Proposal) -> str:
    """One proposal in a line."""
    total = sum(line.delta_clicks for line in proposal.lines)
    billed = f", {len(proposal.lines)} lines, {total:+,} clicks" if proposal.lines else ""
    return f"hour {format_utc(proposal.hour)}: {proposal.kind} for {proposal.findings.reason}{billed}"


def _words(target: Target) -> str:
    return f"{'click' if isinstance(target, ClickTarget) else 'position'}|{'|'.join(map(str, target))}"
