"""Makes attempts the truth of their hours: the seals of a date in one commit, behind the chain's head.

Belongs here: which verdicts are pinned, and the bounded retry that reads the guard again each time. What a seal hashes
is ``domain/seals.py``; the compare-and-set is ``warehouse/seals.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from domain.errors import IntegrityError, LedgerConflictError
from domain.seals import Seal, SealDraft, check_chain, current_seals, next_revision
from domain.settings import Settings
from warehouse.seals import append_seals, read_seals
from warehouse.verdicts import current_set

ATTEMPTS = 5
"""One process at a time reconciles, so a conflict is rare; five in a row are something else."""


def read_sound_seals(settings: Settings) -> list[Seal]:
    """All seals. ``IntegrityError`` if their chain is broken: nothing may be built on it."""
    seals = read_seals(settings)
    findings = check_chain(seals)
    if findings:
        raise IntegrityError(
            f"the chain of seals is broken: {'; '.join(findings)}",
            "seals as they were written",
            "run `tallystick verify`; restore table seals from a copy before anything is sealed again",
        )
    return seals


def verdict_set_to_pin(settings: Settings) -> int:
    """The newest set of verdicts. ``IntegrityError`` if a seal has seen a newer one: the table was lost since then."""
    newest = current_set(settings)
    sealed = max((seal.verdict_set for seal in read_seals(settings)), default=0)
    if newest < sealed:
        raise IntegrityError(
            f"table fraud_verdicts ends at set {newest}",
            f"set {sealed}, which hours were sealed with",
            "restore the table from a copy before anything is sealed again",
        )
    return newest


def seal_attempts(settings: Settings, drafts: Sequence[SealDraft], clock: Callable[[], datetime]) -> list[Seal]:
    """Seals the drafts in one commit. An hour that somebody else has sealed meanwhile is left as it is, and out.

    A draft is due while it is the next revision of its hour.

    ``LedgerConflictError`` if the ledger moved under us each time.
    """
    for attempt in range(1, ATTEMPTS + 1):
        seals = read_sound_seals(settings)
        due = [draft for draft in drafts if draft.revision == next_revision(current_seals(seals).get(draft.hour))]
        try:
            return append_seals(settings, due, len(seals), clock())
        except LedgerConflictError:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError
