"""Table ``adjustments``: reading it, and appending the lines of a case under the lock of those who seal and close.

Belongs here: rows to adjustments and back, and the file that lines come in. What is refused: ``domain/adjustments.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from domain.adjustments import Adjustment, AdjustmentCase, AdjustmentLine, adjustments_of, chain_adjustments
from domain.buckets import parse_utc
from domain.errors import LedgerConflictError, UsageError
from domain.events import FIELDS, MAX_INT64
from domain.periods import parse_period
from domain.seals import current_seals
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after
from warehouse.locks import SEAL_LOCK, writer_lock
from warehouse.periods import read_closed
from warehouse.seals import read_seals

NAME = "adjustments"
TEXTS = ("country", "device")
IDS = ("advertiser_id", "campaign_id", "ad_id")
KEYS = {"charge_hour", *IDS, *TEXTS, "delta_clicks"}
_PATTERNS = {field.name: re.compile(field.pattern or "") for field in FIELDS if field.name in TEXTS}


def adjust(
    settings: Settings, case: AdjustmentCase, lines: Sequence[AdjustmentLine], expected_count: int | None = None
) -> list[Adjustment]:
    """Writes all lines of a case in one commit, or none. Not repeatable: a case is adjusted once.

    ``expected_count``: how many adjustments there were when the lines were made out of them. ``AdjustmentRefusedError``
    names everything that stands against it, ``LedgerConflictError`` a race.
    """
    with writer_lock(settings, SEAL_LOCK):
        snapshot = open_table(settings, NAME)
        known = _adjustments(snapshot)
        if expected_count is not None:
            _check_count(len(known), expected_count)
        lines_of_case = adjustments_of(
            case,
            lines,
            closed=read_closed(settings),
            held=current_seals(read_seals(settings)),
            known_cases=frozenset(one.case_id for one in known),
        )
        fresh = chain_adjustments(known, lines_of_case)
        append_after(settings, NAME, snapshot, [one.columns() for one in fresh])
    return fresh


def _check_count(found: int, expected: int) -> None:
    """``LedgerConflictError`` if lines were made out of other adjustments than there are now."""
    if found != expected:
        raise LedgerConflictError(
            f"{found} adjustments", f"{expected}, which these lines were made out of", "ask for the proposal again"
        )


def read_adjustments(settings: Settings) -> list[Adjustment]:
    """All adjustments, by case and line."""
    return _adjustments(open_table(settings, NAME))


def read_lines(path: Path) -> list[AdjustmentLine]:
    """The lines of a file of JSON objects, one a line; ``UsageError`` names the line that is wrong."""
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", "a file of JSON objects, one a line", "see to it"
        ) from error
    return [_line(f"{path} line {number}", text) for number, text in enumerate(texts, start=1) if text.strip()]


def _line(where: str, text: str) -> AdjustmentLine:
    try:
        said = json.loads(text)
        is_object = isinstance(said, dict) and said.keys() == KEYS
        if is_object and _are_counts(said) and all(_PATTERNS[name].fullmatch(said[name]) for name in TEXTS):
            return AdjustmentLine(**said | {"charge_hour": parse_utc(said["charge_hour"])})
    except (ValueError, TypeError):
        pass
    raise UsageError(
        f"{where}: {text!r}", f"a JSON object of {', '.join(sorted(KEYS))}", "correct the file; nothing was written"
    )


def _are_counts(said: dict[str, Any]) -> bool:
    numbers = [said[name] for name in (*IDS, "delta_clicks")]
    are_whole = all(type(number) is int and abs(number) <= MAX_INT64 for number in numbers)
    return are_whole and all(said[name] >= 1 for name in IDS)


def _adjustments(snapshot: DeltaTable) -> list[Adjustment]:
    records = rows_of(snapshot).sort_by([("case_id", "ascending"), ("line_number", "ascending")]).to_pylist()
    return [Adjustment(**record | {"billing_period": parse_period(record["billing_period"])}) for record in records]
