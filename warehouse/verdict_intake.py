"""Taking in what was read of a file of verdicts: the one way into the table, from the command line and over HTTP.

Belongs here: the order of the steps, and trying again when another set came between. Reading: ``verdict_files.py``;
the table: ``verdicts.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from domain.errors import LedgerConflictError
from domain.settings import Settings
from domain.texts import check_actor, check_line
from warehouse.verdict_files import VerdictFile
from warehouse.verdicts import VerdictSet, append_set, refuse_known_file, unknown_targets

MAX_ATTEMPTS = 8
"""Each lost attempt means that somebody else's set was taken in meanwhile."""


@dataclass(frozen=True)
class IntakeReceipt:
    """What was taken in. ``unknown_count``: verdicts about clicks that are not in the archive."""

    set_version: int
    file_digest: str
    verdict_count: int
    unknown_count: int


def take_in(settings: Settings, given: VerdictFile, source: str, actor: str, at: datetime) -> IntakeReceipt:
    """Appends the verdicts as the next set, all or none.

    Not repeatable: ``KnownFileError`` for the same content again; ``UsageError`` without a source or an actor.
    ``LedgerConflictError`` if others came between in each attempt; then nothing was taken in, and the same call may be
    made again.
    """
    check_actor(actor)
    check_line("source", source)
    refuse_known_file(settings, given.file_digest)
    unknown = unknown_targets(settings, {verdict.target for verdict in given.verdicts})
    taken = VerdictSet(given.file_digest, source, actor, given.verdicts, given.rejected)
    return IntakeReceipt(
        set_version=_append(settings, taken, at),
        file_digest=given.file_digest,
        verdict_count=len(given.verdicts),
        unknown_count=sum(verdict.target in unknown for verdict in given.verdicts),
    )


def _append(settings: Settings, taken: VerdictSet, at: datetime) -> int:
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return append_set(settings, taken, at)
        except LedgerConflictError:
            continue  # its own look at the table says whether what came between was this same file
    return append_set(settings, taken, at)
