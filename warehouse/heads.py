"""Heads of the ledgers, and exporting one to a place outside of them.

Belongs here: gathering the ledgers, and the refusal to keep a head that an older kept one contradicts. What a head
says is ``domain/heads.py``, the places are ``warehouse/head_places.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import TypeVar

import pyarrow as pa
from deltalake.exceptions import DeltaError

from domain.chain import broken_links
from domain.errors import IntegrityError, UsageError
from domain.heads import Head, Ledgers, head_of, missing_of, parse_head
from domain.seals import check_chain
from domain.settings import Settings
from warehouse.adjustments import read_adjustments
from warehouse.head_places import head_place
from warehouse.layout import code_version
from warehouse.periods import read_closes
from warehouse.publications import read_publications
from warehouse.seals import read_seals

Row = TypeVar("Row")


@dataclass(frozen=True)
class HeadReceipt:
    """Where a head is kept; ``is_new`` is False if it was kept there before."""

    head: Head
    address: str
    is_new: bool


def read_ledgers(settings: Settings) -> Ledgers:
    """The append-only ledgers. ``IntegrityError`` if one cannot be read."""
    # Each before those that it speaks of: whatever is appended meanwhile, nothing seems to rest on what is not there.
    adjustments = _read(settings, "adjustments", read_adjustments)
    closes = _read(settings, "period_closes", read_closes)
    publications = _read(settings, "publications", read_publications)
    return Ledgers(_read(settings, "seals", read_seals), publications, adjustments, closes)


def _read(settings: Settings, name: str, read: Callable[[Settings], list[Row]]) -> list[Row]:
    """A ledger, or an error that a person understands: whoever tampers with a file may leave it unreadable."""
    try:
        return read(settings)
    except (pa.ArrowException, DeltaError, OSError, ValueError) as error:
        raise IntegrityError(
            f"table {name} cannot be read: {error}", "the ledger as it was written", "restore its files from a copy"
        ) from error


def export_head(settings: Settings, target: str, at: datetime, retain_until: datetime | None = None) -> HeadReceipt:
    """Keeps the present head in ``target``, a folder or ``s3://bucket/prefix``, as a file of its own.

    Atomic and repeatable: nothing that is kept is ever changed. ``IntegrityError`` if a chain is broken, or if the
    newest head that is kept there says what the ledgers no longer do: then nothing is written. ``UsageError`` before
    the first seal.
    """
    if retain_until is None and settings.head_retention_days:
        retain_until = at + timedelta(days=settings.head_retention_days)
    place = head_place(target, retain_until)
    newest = place.newest_name()
    kept = parse_head(newest, place.read(newest)) if newest is not None else None
    ledgers = read_ledgers(settings)  # after what is kept: whoever keeps a newer one meanwhile is no contradiction
    _check(ledgers)
    head = head_of(ledgers, at, code_version())
    if newest is not None and kept is not None:
        missing = missing_of(kept, ledgers)
        if missing or newest > head.name:
            raise IntegrityError(
                f"{place.address(newest)}: {'; '.join(missing) or 'it is newer than the ledgers'}",
                "ledgers that have only grown since it was kept",
                "see `tallystick verify --head`; keep that file",
            )
    is_new = newest != head.name and place.create(head.name, head.document())
    return HeadReceipt(head, place.address(head.name), is_new)


def _check(ledgers: Ledgers) -> None:
    if not ledgers.seals:
        raise UsageError("nothing is sealed", "a seal, whose hash is the head", "reconcile an hour first")
    others = (broken_links(name, rows) for name, rows in ledgers.chains() if name != "seal")
    broken = [*check_chain(ledgers.seals), *chain.from_iterable(others)]
    if broken:
        raise IntegrityError(broken[0], "ledgers whose chains hold", "run `tallystick verify` and look for the cause")
