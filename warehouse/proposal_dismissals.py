"""Table ``proposal_dismissals``: which findings about an hour are not to be proposed again.

Belongs here: appending and reading. What a proposal is: ``domain/proposals.py``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from deltalake import DeltaTable

from domain.cases import check_reason
from domain.errors import UsageError
from domain.proposals import Findings
from domain.settings import Settings
from domain.texts import check_actor
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after

NAME = "proposal_dismissals"


@dataclass(frozen=True, kw_only=True)
class Dismissal:
    """Findings about an hour that somebody looked at and refused to act on."""

    hour: datetime
    findings_digest: str
    seal_number: int
    late_clicks: int
    verdict_count: int
    reason: str
    actor: str
    dismissed_at: datetime


def dismiss(settings: Settings, findings: Findings, *, reason: str, actor: str, at: datetime) -> Dismissal:
    """Appends the dismissal in one commit. ``UsageError`` without a reason or an actor, or where it was done before.

    ``LedgerConflictError`` if somebody else dismissed something at the same time; then nothing was written.
    """
    check_reason(reason)
    check_actor(actor)
    snapshot = open_table(settings, NAME)
    if (findings.hour, findings.digest) in _keys(_dismissals(snapshot)):
        raise UsageError("these findings were dismissed before", "new ones", "nothing is left to do")
    fresh = Dismissal(
        hour=findings.hour,
        findings_digest=findings.digest,
        seal_number=findings.seal_number,
        late_clicks=len(findings.late),
        verdict_count=len(findings.verdicts),
        reason=reason,
        actor=actor,
        dismissed_at=at,
    )
    append_after(settings, NAME, snapshot, [asdict(fresh)])
    return fresh


def read_dismissals(settings: Settings) -> list[Dismissal]:
    """All of them, by time."""
    return _dismissals(open_table(settings, NAME))


def dismissed_keys(settings: Settings) -> set[tuple[datetime, str]]:
    """By hour and digest which findings were dismissed."""
    return _keys(read_dismissals(settings))


def _keys(dismissals: list[Dismissal]) -> set[tuple[datetime, str]]:
    return {(one.hour, one.findings_digest) for one in dismissals}


def _dismissals(snapshot: DeltaTable) -> list[Dismissal]:
    ordered = rows_of(snapshot).sort_by([("dismissed_at", "ascending"), ("hour", "ascending")])
    return [Dismissal(**record) for record in ordered.to_pylist()]
