"""Table ``verifications``: recomputations of sealed hours that gave identical rows.

Belongs here: appending and reading them. A recomputation that differs is a revision, and never lands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from deltalake import write_deltalake

from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import keep_few_files
from warehouse.schema import arrow_rows
from warehouse.tables.verifications import VERIFICATIONS


@dataclass(frozen=True)
class Verification:
    """One sealed hour that was counted again and confirmed, with the verdicts up to ``verdict_set``.

    ``reason`` and ``case_id`` are given where a revision was asked for and nothing had changed.
    """

    hour: datetime
    seal_number: int
    digest: str
    actor: str
    verified_at: datetime
    verdict_set: int
    reason: str = ""
    case_id: str = ""


def append_verifications(settings: Settings, verifications: Sequence[Verification]) -> None:
    """Appends in one commit. Rows do not depend on each other, so writers that race all get theirs in."""
    if verifications:
        rows = arrow_rows(VERIFICATIONS, (asdict(verification) for verification in verifications))
        snapshot = open_table(settings, VERIFICATIONS.name)
        write_deltalake(snapshot, rows, mode="append")
        keep_few_files(snapshot)


def read_verifications(settings: Settings) -> list[Verification]:
    """All of them, by time and hour."""
    records = rows_of(open_table(settings, VERIFICATIONS.name))
    ordered = records.sort_by([("verified_at", "ascending"), ("hour", "ascending")])
    return [Verification(**record) for record in ordered.to_pylist()]
