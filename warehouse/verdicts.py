"""Tables ``fraud_verdicts`` and ``rejected_verdicts``: sets of verdicts, appended whole, read as of a set version.

Belongs here: the append of a set, what is in force at a set version, which targets raw does not hold. What a verdict
may look like and which one holds is ``domain/verdicts.py``; files are read by ``warehouse/verdict_files.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, QueryBuilder

from domain.errors import IntegrityError, UsageError
from domain.identity import LogPosition, click_identity
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict, Target, VerdictOfSet, verdicts_in_force
from warehouse.layout import dataset_of, open_table
from warehouse.ledger import append_after
from warehouse.tables import TABLES

NAME = "fraud_verdicts"
REJECTED = "rejected_verdicts"
TARGETS_AT_A_TIME = 10_000
SETS_SQL = "SELECT file_digest, max(set_version) AS set_version FROM snapshot GROUP BY file_digest"
"""A row for each set, however many verdicts it has."""


class KnownFileError(UsageError):
    """A file of verdicts was taken in before; what it says is in force already."""


class RejectedLine(NamedTuple):
    """A line of a file that is no verdict."""

    line_number: int
    reason: str
    text: str


@dataclass(frozen=True)
class VerdictSet:
    """A file of verdicts as it is taken in. ``rejected`` are the lines that are left out."""

    file_digest: str
    source: str
    actor: str
    verdicts: Sequence[FraudVerdict]
    rejected: Sequence[RejectedLine] = ()


def refuse_known_file(settings: Settings, file_digest: str) -> None:
    """``KnownFileError`` if a file with this digest was taken in before."""
    _refuse_known_file(_sets(open_table(settings, NAME)), file_digest)


def append_set(settings: Settings, given: VerdictSet, at: datetime) -> int:
    """Appends the verdicts in one commit, as the next set; its version.

    Not repeatable: ``KnownFileError`` for the same file again; ``UsageError`` for one without a verdict.
    ``LedgerConflictError`` if another set was appended at the same time; then nothing was, and the same call may be
    made again. What was left out is written before, once for each file, so that no death in between loses it.
    """
    snapshot = open_table(settings, NAME)
    sets = _sets(snapshot)
    _refuse_known_file(sets, given.file_digest)
    if not given.verdicts:
        raise UsageError("the file holds no verdict", "at least one", "nothing was taken in; correct the file")
    _append_rejected(settings, given, at)
    set_version = _newest(sets) + 1
    append_after(settings, NAME, snapshot, (_row(given, verdict, set_version, at) for verdict in given.verdicts))
    return set_version


def current_set(settings: Settings) -> int:
    """The version of the newest set; 0 where there is none. What a seal pins."""
    return _newest(_sets(open_table(settings, NAME)))


def read_in_force(settings: Settings, set_version: int) -> dict[Target, VerdictOfSet]:
    """By target the verdict of fraud in force at a set version; nothing at 0. All of them in memory.

    ``IntegrityError`` if there is no such set: sets are never taken out of the table.
    """
    columns = [name for name in TABLES[NAME].column_names if name not in ("received_at", "actor", "file_digest")]
    batches = scan_verdicts(settings, set_version, columns)
    return verdicts_in_force((_verdict(row) for batch in batches for row in batch.to_pylist()), set_version)


def scan_verdicts(settings: Settings, set_version: int, columns: list[str]) -> pa.RecordBatchReader:
    """The verdicts of a set and of all before it, by batch; none at 0. ``IntegrityError`` as ``read_in_force``."""
    snapshot = open_table(settings, NAME)
    newest = _newest(_sets(snapshot))
    if not 0 <= set_version <= newest:
        raise IntegrityError(
            f"table {NAME} ends at set {newest}",
            f"set {set_version}",
            "restore the table from a copy; a set that was once taken in stays",
        )
    is_known = ds.field("set_version") <= set_version
    return dataset_of(snapshot).scanner(columns=columns, filter=is_known).to_reader()


def unknown_targets(settings: Settings, targets: Iterable[Target]) -> set[Target]:
    """Those that no click in the archive is. Reads two columns of the identities, and the rows of the positions."""
    unknown = set(targets)
    clicks = {click_identity(*target): target for target in unknown if isinstance(target, ClickTarget)}
    identity = ds.field("identity")
    for some in _pieces(list(clicks)):
        rows = _scan(settings, "click_identities", ["identity"], identity.isin(pa.array(some, pa.binary())))
        unknown -= {clicks[row["identity"]] for row in rows.to_pylist()}
    offset = ds.field("offset")
    for some_positions in _pieces([target for target in unknown if isinstance(target, LogPosition)]):
        offsets = pa.array(sorted({position.offset for position in some_positions}), pa.int64())
        rows = _scan(settings, "raw_clicks", list(LogPosition._fields), offset.isin(offsets))
        unknown -= {LogPosition(**row) for row in rows.to_pylist()}
    return unknown


def _scan(settings: Settings, name: str, columns: list[str], condition: ds.Expression) -> pa.Table:
    return dataset_of(open_table(settings, name)).to_table(columns=columns, filter=condition)


def _pieces(values: list[Any]) -> Iterable[list[Any]]:
    return (values[first : first + TARGETS_AT_A_TIME] for first in range(0, len(values), TARGETS_AT_A_TIME))


def _sets(snapshot: DeltaTable) -> dict[str, int]:
    """By the digest of its file the version of each set. Added up by the reader of the table: no row gets here."""
    found = pa.table(QueryBuilder().register("snapshot", snapshot).execute(SETS_SQL))
    return dict(zip(*(found.column(name).to_pylist() for name in ("file_digest", "set_version")), strict=True))


def _refuse_known_file(sets: Mapping[str, int], file_digest: str) -> None:
    if file_digest in sets:
        raise KnownFileError(
            f"this file was taken in as set {sets[file_digest]}",
            "a file that is new",
            "nothing was changed; what it says is in force already",
        )


def _newest(sets: Mapping[str, int]) -> int:
    return max(sets.values(), default=0)


def _append_rejected(settings: Settings, given: VerdictSet, at: datetime) -> None:
    snapshot = open_table(settings, REJECTED)
    if not given.rejected or _holds_file(snapshot, given.file_digest):
        return
    said = {"file_digest": given.file_digest, "source": given.source, "actor": given.actor, "received_at": at}
    append_after(settings, REJECTED, snapshot, ({**line._asdict(), **said} for line in given.rejected))


def _holds_file(snapshot: DeltaTable, file_digest: str) -> bool:
    return (
        dataset_of(snapshot).head(1, columns=["file_digest"], filter=ds.field("file_digest") == file_digest).num_rows
        > 0
    )


def _row(given: VerdictSet, verdict: FraudVerdict, set_version: int, at: datetime) -> dict[str, Any]:
    target = verdict.target
    no_target = dict.fromkeys((*ClickTarget._fields, *LogPosition._fields))
    return {
        "verdict_id": verdict.verdict_id,
        "set_version": set_version,
        "target_kind": "click" if isinstance(target, ClickTarget) else "position",
        **no_target,
        **target._asdict(),
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "score_micros": verdict.score_micros,
        "source": given.source,
        "decided_at": verdict.decided_at,
        "received_at": at,
        "actor": given.actor,
        "file_digest": given.file_digest,
        "verdict_date": at.astimezone(UTC).date(),
    }


def _verdict(row: Mapping[str, Any]) -> VerdictOfSet:
    kind: type[ClickTarget] | type[LogPosition] = ClickTarget if row["target_kind"] == "click" else LogPosition
    said = ("verdict_id", "verdict", "reason", "decided_at", "score_micros")
    verdict = FraudVerdict(target=kind(*(row[name] for name in kind._fields)), **{name: row[name] for name in said})
    return VerdictOfSet(row["set_version"], row["source"], verdict)
