"""Table ``disputes``: reading it, and appending what happened to a case.

Belongs here: rows to events and back, and what a step needs to know from other tables. What is refused is
``domain/disputes.py``; what the cases hold, ``warehouse/holds.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pyarrow.dataset as ds
from deltalake import DeltaTable

from domain.disputes import (
    Claim,
    Dispute,
    DisputeEvent,
    Resolution,
    dispute_of,
    disputes_of,
    noting,
    opening,
    resolving,
)
from domain.errors import UsageError
from domain.settings import Settings
from warehouse.adjustments import read_adjustments
from warehouse.layout import dataset_of, open_table, rows_of
from warehouse.ledger import append_after
from warehouse.seals import read_seals

NAME = "disputes"
WHERE_ADVERTISERS_ARE = ("ads", "final_clicks_day", "raw_clicks", "live_clicks_minute")
"""Small tables first."""


def open_dispute(settings: Settings, claim: Claim) -> Dispute:
    """Opens a dispute in one commit. Not repeatable: the same claim again is another case.

    ``UsageError`` for an advertiser of which neither an ad nor a click is known; ``LedgerConflictError`` if somebody
    else wrote at the same time; then nothing was written.
    """
    if not _is_known(settings, claim.advertiser_id):
        raise UsageError(
            f"advertiser {claim.advertiser_id}, which has neither an ad nor a click", "a known one", "correct it"
        )
    return _append(settings, lambda events: opening(events, claim))


def add_note(settings: Settings, case_id: str, actor: str, text: str, at: datetime) -> Dispute:
    """Adds a note to a dispute. Atomic; ``UsageError`` for an unknown one."""
    return _append(settings, lambda events: noting(events, case_id, actor, text, at))


def resolve_dispute(settings: Settings, case_id: str, resolution: Resolution) -> Dispute:
    """Ends a dispute. Atomic; a repeat is refused, see ``domain/disputes.py``."""
    adjustments, seals = read_adjustments(settings), read_seals(settings)
    return _append(
        settings, lambda events: resolving(events, case_id, resolution, adjustments=adjustments, seals=seals)
    )


def read_disputes(settings: Settings) -> dict[str, Dispute]:
    """All disputes by case, oldest first."""
    return disputes_of(_events(open_table(settings, NAME)))


def read_dispute(settings: Settings, case_id: str) -> Dispute:
    """One dispute; ``UsageError`` if there is none of that id."""
    return dispute_of(read_disputes(settings), case_id)


def open_disputes(settings: Settings, start: datetime, end: datetime) -> list[Dispute]:
    """Disputes that are open and touch the range, oldest first."""
    return [one for one in read_disputes(settings).values() if one.is_open and one.touches(start, end)]


def _append(settings: Settings, decide: Callable[[list[DisputeEvent]], DisputeEvent]) -> Dispute:
    snapshot = open_table(settings, NAME)
    events = _events(snapshot)
    event = decide(events)
    append_after(settings, NAME, snapshot, [vars(event)])
    return disputes_of([*events, event])[event.case_id]


def _events(snapshot: DeltaTable) -> list[DisputeEvent]:
    return [DisputeEvent(**record) for record in rows_of(snapshot).sort_by("event_number").to_pylist()]


def _is_known(settings: Settings, advertiser_id: int) -> bool:
    is_theirs = ds.field("advertiser_id") == advertiser_id
    return any(
        dataset_of(open_table(settings, name)).scanner(columns=["advertiser_id"], filter=is_theirs).head(1).num_rows
        for name in WHERE_ADVERTISERS_ARE
    )
