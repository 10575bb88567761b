"""``tallystick maintain``: delete what is over, compact what is crowded, vacuum what is unused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, out, print_json, print_table, warn
from cli.files import check_writable, write_whole
from domain.errors import UsageError, WriterBusyError
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.settings import Settings
    from warehouse.maintenance import MaintenanceReceipt, TablePlan

DEFAULT_ACTOR = "tallystick maintain"


def maintain(
    is_plan: Annotated[bool, typer.Option("--plan", help="Show what would be done and what stays, and why.")] = False,
    actor: Annotated[str, typer.Option(help="Who asks; it goes into each row of retention_steps.")] = DEFAULT_ACTOR,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write what was done to this file, as JSON.")] = None,
) -> None:
    """Delete partitions whose retention is over, compact sealed ones, delete files that nobody needs. No JVM.

    Ends with 3 if a table's writer is at work; the other tables are done all the same.
    """
    from warehouse.maintenance import maintain as maintain_tables

    settings = load_settings()
    if is_plan:
        if receipt is not None:
            raise UsageError("--plan with --receipt", "one of the two: a plan does nothing", "leave one out")
        _plan(settings, is_json)
        return
    if receipt is not None:
        check_writable(receipt)
    done = maintain_tables(settings, actor, now, progress=note)
    if receipt is not None:
        write_whole(receipt, f"{json.dumps(done.document())}\n".encode())
    if is_json:
        print_json(done.document())
    else:
        _show(done)
    if done.busy:
        raise typer.Exit(WriterBusyError.exit_code)


def _plan(settings: Settings, is_json: bool) -> None:
    from warehouse.maintenance import plan

    plans = plan(settings, now())
    if is_json:
        print_json([_document(one) for one in plans])
        return
    columns = ("table", "kept for", "partitions", "would delete", "would compact", "unused files")
    print_table(columns, [_row(one) for one in plans])
    for one in plans:
        _note_all(one.table.name, one.notes)


def _row(one: TablePlan) -> tuple[object, ...]:
    due = (len(one.deletable), len(one.compactable), one.vacuum_count)
    return (one.table.name, str(one.policy), len(one.files), *due)


def _document(one: TablePlan) -> dict[str, object]:
    return {
        "table": one.table.name,
        "kept_for": str(one.policy),
        "delete": [str(partition) for partition in one.deletable],
        "compact": [str(partition) for partition in one.compactable],
        "unused_file_count": one.vacuum_count,
        "notes": one.notes,
    }


def _show(done: MaintenanceReceipt) -> None:
    columns = ("table", "deleted", "rows", "bytes", "compacted", "files fewer", "unused files deleted")
    rows = [
        (
            one.table,
            one.deleted_partitions,
            one.deleted_row_count,
            one.deleted_bytes,
            one.compacted_partitions,
            one.fewer_file_count,
            one.vacuumed_file_count,
        )
        for one in done.tables
    ]
    print_table(columns, rows)
    if done.publication_number is not None:
        out.print(f"publication {done.publication_number} names the final tables' files of now", markup=False)
    for one in done.tables:
        _note_all(one.table, one.notes)


def _note_all(table: str, notes: tuple[str, ...]) -> None:
    for one in notes:
        warn(f"{table}: {one}")
