"""Table ``period_closes``: reading it, and appending a close.

Belongs here: rows to closes and back. What a close says and requires is ``domain/periods.py``; gathering what it rests
on is ``warehouse/closing.py``.
"""

from __future__ import annotations

from typing import Any

from deltalake import DeltaTable

from domain.periods import ClosedPeriods, PeriodClose, closed_periods, parse_period
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after, check_head, check_stored

NAME = "period_closes"


def append_close(settings: Settings, close: PeriodClose, expected_count: int) -> PeriodClose:
    """Closes a period behind so many closes, and reads it back. Atomic; not repeatable.

    ``LedgerConflictError`` if there is another number of closes, however close the race; then nothing was closed.
    """
    snapshot = open_table(settings, NAME)
    check_head(NAME, len(_closes(snapshot)), expected_count)
    append_after(settings, NAME, snapshot, [vars(close) | {"period": str(close.period)}])
    check_stored(NAME, [stored for stored in read_closes(settings) if stored.period == close.period], [close])
    return close


def read_closes(settings: Settings) -> list[PeriodClose]:
    """All closes, by period."""
    return _closes(open_table(settings, NAME))


def read_closed(settings: Settings) -> ClosedPeriods:
    """Which periods are closed."""
    return closed_periods(read_closes(settings))


def _closes(snapshot: DeltaTable) -> list[PeriodClose]:
    return [_close(record) for record in rows_of(snapshot).sort_by("period").to_pylist()]


def _close(record: dict[str, Any]) -> PeriodClose:
    return PeriodClose(**record | {"period": parse_period(record["period"])})
