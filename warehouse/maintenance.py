"""Maintenance of the big tables without a JVM: what is over is deleted, what is crowded compacted, what is unused
vacuumed.

Belongs here: the order of steps and the locks. Whoever writes a table holds the lock that is taken here for it, so a
table whose writer runs is left for the next time, and said so. The final tables are named by a publication: after a
change of their files it is written anew, with the same seals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from domain.errors import IntegrityError, WriterBusyError
from domain.publications import PublicationDraft
from domain.retention import Books, Partition, Policy, decide
from domain.settings import Settings
from domain.texts import check_actor
from warehouse.compaction import DATES_A_RUN, compact, crowded, still_written
from warehouse.create import WRITTEN_BY_STREAMS
from warehouse.layout import open_table
from warehouse.locks import SEAL_LOCK, STREAM_LOCK, writer_lock
from warehouse.partitions import PartitionFiles, by_date, partitions_of
from warehouse.publications import append_publication, latest_publication
from warehouse.ranges import FINAL_TABLE
from warehouse.retention import AfterStep, delete_partitions, policy_of, read_books, settle_steps
from warehouse.retention_steps import RetentionStep
from warehouse.table import Table
from warehouse.tables import TABLES
from warehouse.vacuum import published_versions, vacuum

LOCK = "maintain"
"""Held by the one process that maintains."""
BIG_TABLES = tuple(table for table in TABLES.values() if table.writer == "spark" and table.owner != "crawl")
"""The crawl's tables have no seals to ask: ``warehouse/crawl_retention.py``."""
FINAL_TABLES = frozenset(FINAL_TABLE.values())
REWRITES = frozenset({"DELETE", "OPTIMIZE"})
"""What changes the files of a table."""
OWN_OPERATIONS = REWRITES | {"VACUUM START", "VACUUM END", "SET TBLPROPERTIES"}
"""What may stand in the log of a final table after the version that is published: no figure of it is new."""


def _silent(_text: str) -> None:
    """Where nobody watches."""


@dataclass(frozen=True)
class TablePlan:
    """What is due of one table. ``notes``: what is not done, with the reasons: kept, not compacted, left for later."""

    table: Table
    policy: Policy
    files: Mapping[Partition, PartitionFiles] = field(default_factory=dict)
    deletable: tuple[Partition, ...] = ()
    compactable: tuple[Partition, ...] = ()
    notes: tuple[str, ...] = ()
    vacuum_count: int = 0


@dataclass(frozen=True)
class TableReceipt:
    """What was done to one table. ``notes``: what was not, with the reasons."""

    table: str
    deleted_partitions: int = 0
    deleted_row_count: int | None = 0
    deleted_bytes: int = 0
    compacted_partitions: int = 0
    fewer_file_count: int = 0
    vacuumed_file_count: int = 0
    notes: tuple[str, ...] = ()
    is_busy: bool = False


@dataclass(frozen=True)
class MaintenanceReceipt:
    """A whole run. ``publication_number`` is of the publication that names the final tables' files anew, if any."""

    tables: tuple[TableReceipt, ...]
    publication_number: int | None = None

    @property
    def busy(self) -> list[str]:
        """The tables whose writer was at work."""
        return [one.table for one in self.tables if one.is_busy]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Run:
    """What every step of one run shares."""

    settings: Settings
    actor: str
    clock: Callable[[], datetime]
    progress: Callable[[str], None]
    after_step: AfterStep


def plan(settings: Settings, now: datetime) -> list[TablePlan]:
    """What a run would do to each table now. Reads only, takes no lock."""
    books = read_books(settings, now)
    plans = [_plan_table(settings, table, books, now) for table in BIG_TABLES]
    return [replace(one, vacuum_count=vacuum(settings, one.table.name, is_dry_run=True)) for one in plans]


def maintain(
    settings: Settings,
    actor: str,
    clock: Callable[[], datetime],
    *,
    progress: Callable[[str], None] = _silent,
    after_step: AfterStep = _silent,
) -> MaintenanceReceipt:
    """Deletes, compacts and vacuums what is due. Repeatable at any time; a run that died is finished by the next one.

    ``WriterBusyError`` if another process maintains; tables whose writer is at work are in the receipt as busy.
    ``IntegrityError`` if a table contradicts its ledgers; what was done before it stands.
    """
    check_actor(actor)
    run = _Run(settings, actor, clock, progress, after_step)
    receipts: dict[str, TableReceipt] = {}
    number = None
    with writer_lock(settings, LOCK):
        for lock in (SEAL_LOCK, STREAM_LOCK):
            tables = [table for table in BIG_TABLES if lock_of(table) == lock]
            try:
                with writer_lock(settings, lock):
                    changed = [_change(run, table) for table in tables]
                    number = _publish_anew(run) if lock == SEAL_LOCK else number
                    receipts |= {one.table: _clean(run, one) for one in changed}
            except WriterBusyError as busy:
                receipts |= {one.name: TableReceipt(one.name, notes=(busy.found,), is_busy=True) for one in tables}
    return MaintenanceReceipt(tuple(receipts[table.name] for table in BIG_TABLES), number)


def lock_of(table: Table) -> str:
    """The writer lock of a big table."""
    return STREAM_LOCK if table.name in WRITTEN_BY_STREAMS else SEAL_LOCK


def _plan_table(settings: Settings, table: Table, books: Books, now: datetime) -> TablePlan:
    files = partitions_of(open_table(settings, table.name), table)
    policy = policy_of(settings, table)
    if table.name in FINAL_TABLES and not books.is_all_published:
        waits = f"seal {books.seals[-1].seal_number} is not published yet: `tallystick reconcile` does it"
        return TablePlan(table, policy, files, notes=(waits,))
    due = decide(files, policy, books, now)
    small = [partition for partition in crowded(files) if partition not in due.deletable]
    written = still_written(small, books)
    ready = by_date(partition for partition in small if partition not in written)
    now_ready = [one for day in list(ready)[:DATES_A_RUN] for one in ready[day]]
    later_count = sum(map(len, ready.values())) - len(now_ready)
    later = (f"{later_count} more partitions are to be compacted: by the next runs",) if later_count else ()
    notes = (*_in_words("kept", due.refused), *_in_words("not compacted", written), *later)
    return TablePlan(table, policy, files, due.deletable, tuple(now_ready), notes)


def _in_words(what: str, reasons: Mapping[Partition, tuple[str, ...]]) -> Iterator[str]:
    """A line for each combination of reasons: a month of partitions is refused for the same ones."""
    counts = Counter(reasons.values())
    firsts: dict[tuple[str, ...], Partition] = {}
    for partition, why in reasons.items():
        firsts.setdefault(why, partition)
    for why, first in firsts.items():
        more = f" and {counts[why] - 1} more" if counts[why] > 1 else ""
        yield f"{what}: {first}{more}: {'; '.join(why)}"


def _change(run: _Run, table: Table) -> TableReceipt:
    """Deletes and compacts. The ledgers are read for each table: a dispute may be opened while others are compacted."""
    settled = settle_steps(run.settings, table, run.clock())
    due = _plan_table(run.settings, table, read_books(run.settings, run.clock()), run.clock())
    files = {partition: due.files[partition] for partition in due.deletable}
    if files:
        run.progress(f"{table.name}: deleting {len(files)} partitions that were kept for {due.policy}")
    steps = delete_partitions(
        run.settings, table, files, due.policy, actor=run.actor, clock=run.clock, after_step=run.after_step
    )
    if due.compactable:
        run.progress(f"{table.name}: compacting {len(due.compactable)} partitions")
    fewer_count = compact(run.settings, table, due.compactable, run.after_step)
    done = [step for step in (*settled, *steps) if step.state == "done"]
    return TableReceipt(
        table.name,
        deleted_partitions=sum(len(step.partitions) for step in done),
        deleted_row_count=_row_count(done),
        deleted_bytes=sum(step.file_bytes for step in done),
        compacted_partitions=len(due.compactable),
        fewer_file_count=fewer_count,
        notes=due.notes,
    )


def _row_count(steps: Iterable[RetentionStep]) -> int | None:
    counts = [step.row_count for step in steps]
    return None if None in counts else sum(count or 0 for count in counts)


def _publish_anew(run: _Run) -> int | None:
    """Names the final tables' present versions, whose figures are the same; the publication's number, if any.

    So readers never depend on a version that grows old, and what was deleted is gone for them, too.
    """
    latest = latest_publication(run.settings)
    if latest is None or not read_books(run.settings, run.clock()).is_all_published:
        return None
    since = published_versions(latest)
    operations = [_operations_since(run.settings, name, version) for name, version in since.items()]
    if not any(REWRITES & one for one in operations):
        return None
    versions = {name: open_table(run.settings, name).version() for name in since}
    draft = PublicationDraft(
        seal_number=latest.seal_number,
        minute_version=versions[FINAL_TABLE["minute"]],
        hour_version=versions[FINAL_TABLE["hour"]],
        day_version=versions[FINAL_TABLE["day"]],
        final_until=latest.final_until,
    )
    publication = append_publication(run.settings, draft, latest.publication_number, run.clock())
    run.after_step("published")
    return publication.publication_number


def _operations_since(settings: Settings, name: str, version: int) -> set[str]:
    """What was done to a table since a published version. ``IntegrityError`` for what nobody vouches for."""
    snapshot = open_table(settings, name)
    newer_count = snapshot.version() - version
    commits = snapshot.history(newer_count) if newer_count else []
    operations = {str(commit.get("operation")) for commit in commits}
    foreign = sorted(operations - OWN_OPERATIONS)
    if foreign:
        raise IntegrityError(
            f"{name} was changed by {', '.join(foreign)} since version {version}, which is published",
            "no commits but those of maintenance, as all seals are published",
            "find out who wrote them; `tallystick verify` recounts what is published",
        )
    return operations


def _clean(run: _Run, receipt: TableReceipt) -> TableReceipt:
    """Vacuums; and a checkpoint of the log, where it has grown."""
    vacuumed_count = vacuum(run.settings, receipt.table)
    if vacuumed_count:
        run.progress(f"{receipt.table}: {vacuumed_count} unused files deleted")
        run.after_step("vacuumed")
    if vacuumed_count or receipt.deleted_partitions or receipt.compacted_partitions:
        open_table(run.settings, receipt.table).create_checkpoint()
    return replace(receipt, vacuumed_file_count=vacuumed_count)
