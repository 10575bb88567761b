"""Table ``seals``: reading it, and appending to its chain.

Belongs here: rows to seals and back. What a seal is and how it is hashed is ``domain/seals.py``.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from deltalake import DeltaTable

from domain.seals import SALT_BYTES, Seal, SealDraft, chain_drafts
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after, check_head, check_stored
from warehouse.periods import read_closed

NAME = "seals"


def append_seals(
    settings: Settings, drafts: Sequence[SealDraft], expected_head: int, sealed_at: datetime
) -> list[Seal]:
    """Seals the drafts in one commit behind the seal ``expected_head`` (0 for an empty ledger), and reads them back.

    Atomic; not repeatable: the same call again finds another head. ``LedgerConflictError`` if the newest seal is
    another one, however close the race, ``PeriodClosedError`` if an hour's period is closed; then none of the drafts
    is sealed. No drafts make no commit.
    """
    snapshot = open_table(settings, NAME)
    seals = _seals(snapshot)
    check_head(NAME, seals[-1].seal_number if seals else 0, expected_head)
    if not drafts:
        return []
    read_closed(settings).check_open(draft.hour for draft in drafts)
    fresh = chain_drafts(seals, drafts, sealed_at, new_salt)
    append_after(settings, NAME, snapshot, [seal.columns() for seal in fresh])
    stored = [seal for seal in read_seals(settings) if seal.seal_number > expected_head]
    check_stored(NAME, stored[: len(fresh)], fresh)
    return fresh


def new_salt() -> str:
    """Random bytes in hex, from the operating system."""
    return secrets.token_hex(SALT_BYTES)


def read_seals(settings: Settings) -> list[Seal]:
    """All seals in the order of the chain."""
    return _seals(open_table(settings, NAME))


def _seals(snapshot: DeltaTable) -> list[Seal]:
    return [_seal(record) for record in rows_of(snapshot).sort_by("seal_number").to_pylist()]


def _seal(record: dict[str, Any]) -> Seal:
    maps = {name: json.loads(record[name]) for name in ("cut", "excluded_clicks")}
    return Seal(**record | maps)
