"""Creates the tables, from their descriptions in ``warehouse/tables``.

Belongs here: creation, and the refusal of a table that has other columns than this version of the code knows.
Columns are changed by a migration of this engine only, never by a writer on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from domain.errors import IntegrityError
from domain.settings import Settings
from warehouse.layout import open_table, table_uri
from warehouse.schema import delta_schema
from warehouse.table import Table
from warehouse.tables import (
    CLICK_IDENTITIES,
    LATE_CLICKS,
    LIVE_CLICKS_MINUTE,
    QUARANTINED_CLICKS,
    RAW_CLICKS,
    STREAM_MARKS,
    TABLES,
)

WRITTEN_BY_STREAMS = tuple(
    table.name for table in (RAW_CLICKS, CLICK_IDENTITIES, QUARANTINED_CLICKS, LIVE_CLICKS_MINUTE, LATE_CLICKS)
)


def create_missing_tables(settings: Settings, tables: Iterable[Table] = TABLES.values()) -> list[str]:
    """Creates what is missing and checks the columns of what is there; the names of those this call created.

    Each table is one atomic commit. Repeatable, and safe when several processes start at once: one of them creates a
    given table, the others find it. ``IntegrityError`` if a table has other columns or partitions.
    """
    return [table.name for table in tables if _ensure_table(settings, table)]


def refuse_lost_tables(settings: Settings) -> None:
    """``IntegrityError`` if a stream's table is gone although a stream has written: it is not made anew in silence."""
    if not DeltaTable.is_deltatable(table_uri(settings, STREAM_MARKS.name)):
        return
    if open_table(settings, STREAM_MARKS.name).version() == 0:
        return
    lost = [name for name in WRITTEN_BY_STREAMS if not DeltaTable.is_deltatable(table_uri(settings, name))]
    if lost:
        raise IntegrityError(
            f"no table {', '.join(lost)} in {settings.tables_root}, though the streams have written there",
            "the tables that the marks speak of",
            "restore their folders from a copy; docs/runbook.md says how to rebuild them from the log instead",
        )


def _ensure_table(settings: Settings, table: Table) -> bool:
    uri = table_uri(settings, table.name)
    is_created = not DeltaTable.is_deltatable(uri) and _create(uri, table)
    if not is_created:
        _check_columns(open_table(settings, table.name), table)
    return is_created


def _create(uri: str, table: Table) -> bool:
    """True if this call's commit made the table, False if another process was faster."""
    try:
        DeltaTable.create(
            uri,
            delta_schema(table),
            mode="error",
            partition_by=list(table.partition_by),
            name=table.name,
            description=table.description,
            configuration=table.delta_properties,
            # A retried creation would be committed over another's, as version 1, and give the table a new id.
            commit_properties=CommitProperties(max_commit_retries=0),
        )
    except (DeltaError, CommitFailedError):
        if not DeltaTable.is_deltatable(uri):
            raise
        return False
    return True


def _check_columns(found: DeltaTable, table: Table) -> None:
    columns = _columns_of(found.schema().to_json())
    expected = _columns_of(delta_schema(table).to_json())
    partitions = found.metadata().partition_columns
    if columns == expected and partitions == list(table.partition_by):
        return
    unlike = ", ".join(sorted({name for name, _, _ in set(columns) ^ set(expected)}))
    raise IntegrityError(
        f"table {table.name} at {found.table_uri} differs in {unlike or 'order or partitions'}",
        "the columns, types, nullability and partitions that this version of the code writes",
        "run the version that created it, or start with another home",
    )


def _columns_of(schema_json: str) -> list[tuple[str, str, bool]]:
    """Name, type and nullability; the comments may be reworded."""
    fields = json.loads(schema_json)["fields"]
    return [(field["name"], json.dumps(field["type"], sort_keys=True), field["nullable"]) for field in fields]
