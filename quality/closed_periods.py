"""Whether a closed period is still what its close says: its seals, added up and hashed anew.

Belongs here: the comparison of one close with the ledger of seals. Whether the seals are what raw says is
``recount.py``; docs/periods.md tells a stranger how to do this without us.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from domain.buckets import format_utc
from domain.periods import PeriodClose, seals_of
from domain.seals import Seal


def close_differences(close: PeriodClose, seals: Sequence[Seal]) -> list[str]:
    """Where the close and the seals (ascending) of its period differ, in words; empty if they agree."""
    held = seals_of(close.period, seals)
    sums = (
        ("hours", close.hour_count, len(held)),
        ("billable clicks", close.billable_clicks, sum(seal.billable_clicks for seal in held)),
        ("as the last seal", close.last_seal_number, max((seal.number for seal in held), default=0)),
        ("as root digest", close.root_digest, _root_digest(held)),
    )
    late = [seal for seal in held if seal.number > close.last_seal_number]
    return [
        *(f"seal {seal.number} of hour {format_utc(seal.hour)} came after the close" for seal in late),
        *(f"{closed} {what} closed, {found} found" for what, closed, found in sums if closed != found),
    ]


def _root_digest(held: Sequence[Seal]) -> str:
    """By the words of docs/periods.md, not by the code that closed."""
    root = hashlib.sha256()
    for seal in held:
        excluded = json.dumps(seal.excluded_clicks, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        counts = f"{seal.raw_clicks}|{seal.billable_clicks}|{excluded}"
        root.update(f"{seal.hour:%Y-%m-%dT%H:%M:%SZ}|{seal.number}|{seal.digest}|{counts}\n".encode())
    return root.hexdigest()
