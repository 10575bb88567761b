"""Deletes files that no reader needs any more: replaced long ago, or left behind by a writer that died.

Belongs here: which versions readers open, and the refusal to delete a file of one of them. The caller holds the table's
writer lock: a file that is being written is in no version yet.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
from deltalake import DeltaTable

from domain.errors import IntegrityError
from domain.publications import Publication
from domain.settings import Settings
from warehouse.counts import open_version
from warehouse.layout import open_table
from warehouse.publications import latest_publication
from warehouse.ranges import FINAL_TABLE

DECLARED = "delta.deletedFileRetentionDuration"


def published_versions(publication: Publication | None) -> dict[str, int]:
    """By final table the version that readers open; empty before the first publication."""
    if publication is None:
        return {}
    return {
        FINAL_TABLE["minute"]: publication.minute_version,
        FINAL_TABLE["hour"]: publication.hour_version,
        FINAL_TABLE["day"]: publication.day_version,
    }


def vacuum(settings: Settings, name: str, *, is_dry_run: bool = False) -> int:
    """How many files were deleted, or would be. Repeatable.

    A file goes that no version of the newest publication has and that was replaced before the time that the table
    declares or, where it declares none, that setting ``vacuum_after_hours`` says. ``IntegrityError`` if a file that is
    in use would go; then none is deleted.
    """
    snapshot = open_table(settings, name)
    pinned = [version for of, version in published_versions(latest_publication(settings)).items() if of == name]
    after_hours = None if DECLARED in snapshot.metadata().configuration else settings.vacuum_after_hours
    doomed = snapshot.vacuum(after_hours, dry_run=True, full=True, keep_versions=pinned or None)
    _check_unused(settings, snapshot, name, doomed, pinned)
    if doomed and not is_dry_run:
        snapshot.vacuum(after_hours, dry_run=False, full=True, keep_versions=pinned or None)
    return len(doomed)


def _check_unused(
    settings: Settings, snapshot: DeltaTable, name: str, doomed: Collection[str], pinned: Collection[int]
) -> None:
    needed = _paths(snapshot).union(*(_paths(open_version(settings, name, version)) for version in pinned))
    in_use = sorted(needed.intersection(doomed))
    if in_use:
        raise IntegrityError(
            f"a vacuum of {name} would delete {len(in_use)} files that readers open, such as {in_use[0]}",
            "files that no version in use has",
            "delete nothing, and report it",
        )


def _paths(snapshot: DeltaTable) -> set[str]:
    return {str(path) for path in pa.table(snapshot.get_add_actions(flatten=True)).column("path").to_pylist()}
