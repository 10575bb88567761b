"""Table ``ads``: the history of the catalogue, a row per change.

Belongs here: the catalogue file, the snapshot that appends what changed, the ads in force. What an ad may look like is
``domain/ads.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable

from domain.ads import Ad, AdError
from domain.errors import UsageError
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.ledger import append_after

NAME = "ads"
_FIELDS = tuple(field.name for field in fields(Ad))
_REQUIRED = frozenset(_FIELDS) - {"price_micros", "currency"}


class _Row(NamedTuple):
    ad: Ad
    valid_from: datetime


@dataclass(frozen=True)
class AdsReceipt:
    """What a snapshot did. ``version`` is the table's version after it."""

    version: int
    added_count: int
    changed_count: int
    unchanged_count: int


def snapshot_ads(settings: Settings, ads: Iterable[Ad], at: datetime) -> AdsReceipt:
    """Appends the ads that are new or changed, in force from ``at`` on, in one commit; none of them, no commit.

    Repeatable. An ad that is no longer given keeps its last row: its clicks still belong to somebody. ``UsageError``
    if an ad is given twice or its newest row is not older than ``at``; ``LedgerConflictError`` if another snapshot was
    taken at the same time.
    """
    given = _by_id(ads)
    snapshot = open_table(settings, NAME)
    current = _current(snapshot)
    added = [ad for ad in given.values() if ad.ad_id not in current]
    changed = [ad for ad in given.values() if ad.ad_id in current and ad != current[ad.ad_id].ad]
    for ad in changed:
        _check_newer(current[ad.ad_id], at)
    if added or changed:
        rows = ({**vars(ad), "valid_from": at} for ad in added + changed)
        append_after(settings, NAME, snapshot, rows)
    return AdsReceipt(ads_version(settings), len(added), len(changed), len(given) - len(added) - len(changed))


def read_ads(settings: Settings) -> dict[int, Ad]:
    """The newest row of each ad."""
    return {ad_id: row.ad for ad_id, row in _current(open_table(settings, NAME)).items()}


def ads_version(settings: Settings) -> int:
    """The version of the table that a seal pins."""
    return open_table(settings, NAME).version()


def read_ads_file(path: Path) -> list[Ad]:
    """The ads of a catalogue file: UTF-8, a JSON object a line, empty lines skipped.

    ``UsageError`` names the first wrong line by its number.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", "a catalogue of ads, JSON lines", "correct setting ads_file"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", "UTF-8 text", "write it as UTF-8") from error
    ads: dict[int, Ad] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        ad = _parse_line(path, number, line)
        if ad.ad_id in ads:
            raise _line_error(path, number, f"ad {ad.ad_id} a second time", "each ad once")
        ads[ad.ad_id] = ad
    return list(ads.values())


def _parse_line(path: Path, number: int, line: str) -> Ad:
    try:
        document: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _line_error(path, number, f"no JSON: {error}", "a JSON object") from error
    if not isinstance(document, dict):
        raise _line_error(path, number, f"{document!r:.40}", "a JSON object")
    missing, unknown = sorted(_REQUIRED - document.keys()), sorted(document.keys() - set(_FIELDS))
    if missing or unknown:
        found = f"no {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)}"
        raise _line_error(path, number, found, f"fields {', '.join(_FIELDS)}")
    try:
        return Ad(**document)
    except AdError as error:
        raise _line_error(path, number, error.found, error.expected) from error


def _line_error(path: Path, number: int, found: str, expected: str) -> UsageError:
    return UsageError(f"{path} line {number}: {found}", expected, "correct that line")


def _by_id(ads: Iterable[Ad]) -> dict[int, Ad]:
    given: dict[int, Ad] = {}
    for ad in ads:
        if ad.ad_id in given:
            raise UsageError(f"ad {ad.ad_id} is given twice", "each ad once", "correct the catalogue")
        given[ad.ad_id] = ad
    return given


def _check_newer(row: _Row, at: datetime) -> None:
    if row.valid_from >= at:
        raise UsageError(
            f"a change of ad {row.ad.ad_id} from {at} on",
            f"an instant after {row.valid_from}, from when its newest row holds",
            "check the clock of this machine",
        )


def _current(snapshot: DeltaTable) -> dict[int, _Row]:
    rows = rows_of(snapshot).sort_by("valid_from")
    ads = zip(*(rows[name].to_pylist() for name in _FIELDS), strict=True)
    starts: list[Any] = rows["valid_from"].to_pylist()
    return {values[0]: _Row(Ad(*values), valid_from) for values, valid_from in zip(ads, starts, strict=True)}
