"""What a click server's spool holds and what has left it, for whoever asks beside the running service.

Belongs here: reading its files, changing nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from domain.buckets import from_unix_micros, parse_utc
from services.click.shipper import LEDGER_FILE
from services.click.spool import SUFFIX, read_position
from services.click.spool_format import decode


@dataclass(frozen=True)
class SpoolReport:
    """``shipped_by_hour``: clicks that went through the spool, by hour of ``clicked_at``, copies included.

    ``damaged_bytes`` could not be read as clicks and are kept beside.
    """

    waiting_count: int
    waiting_bytes: int
    oldest_waiting: datetime | None
    damaged_bytes: int
    shipped_by_hour: dict[datetime, int]


def report_spool(folder: Path) -> SpoolReport:
    """The spool in this folder; of one that was never written to, nothing."""
    number, offset = read_position(folder)
    waiting_bytes, stamps = 0, list[int]()
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            data = path.read_bytes()[offset if int(path.stem) == number else 0 :]
        except FileNotFoundError:  # it has been shipped meanwhile
            continue
        stamps += [click.clicked_us for _, click in decode(data)]
        waiting_bytes += len(data)
    return SpoolReport(
        waiting_count=len(stamps),
        waiting_bytes=waiting_bytes,
        oldest_waiting=from_unix_micros(min(stamps)) if stamps else None,
        damaged_bytes=sum(path.stat().st_size for path in folder.glob("*.damaged")),
        shipped_by_hour=dict(sorted(_shipped(folder).items())),
    )


def _shipped(folder: Path) -> Counter[datetime]:
    """By the ledger; lines that a full disk or a kill has left half are passed over."""
    shipped: Counter[datetime] = Counter()
    path = folder / LEDGER_FILE
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            shipped.update({parse_utc(hour): count for hour, count in orjson.loads(line)["clicks_by_hour"].items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return shipped
