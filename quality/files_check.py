"""The check that no partition is left in many small files: maintenance has not been where it should have.

Belongs here: the judgement. What crowded means and its remedy is ``warehouse/compaction.py``.
"""

from __future__ import annotations

from datetime import timedelta

from domain.settings import Settings
from quality.checks import Check, Hours, Judgement
from warehouse.compaction import SMALL_FILES, crowded
from warehouse.layout import open_table
from warehouse.maintenance import BIG_TABLES
from warehouse.partitions import partitions_of

COMPACTED_WITHIN = timedelta(days=2)
"""Hours are sealed within one day, as a rule, and maintained in the next night."""


def judge_files(settings: Settings, hours: Hours) -> Judgement:
    """Every partition of the big tables that ended two days before these hours has few small files. Reads logs only."""
    until = min(hours) - COMPACTED_WITHIN
    violations, partition_count, file_count = [], 0, 0
    for table in BIG_TABLES:
        found = partitions_of(open_table(settings, table.name), table)
        old = {partition: files for partition, files in found.items() if partition.end <= until}
        partition_count += len(old)
        file_count += sum(files.file_count for files in old.values())
        violations += [f"{table.name} {one}: {old[one].small_count} small files" for one in crowded(old)]
    return Judgement(
        f"{len(violations)} of {partition_count} partitions with {SMALL_FILES} small files or more",
        f"fewer than {SMALL_FILES} small files in each: `tallystick maintain` sees to it, "
        "to the stream's tables while it is stopped",
        violations,
        {"partition_count": partition_count, "file_count": file_count},
    )


FILES = Check("files", "no old partition in many small files", "warn", judge_files)
