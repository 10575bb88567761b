"""SQL for people: a DuckDB with a view per table, and ``clicks_minute``, in which each row says whether it is final.

Belongs here: the views, a session that can read them and nothing else, and a file that other programs open. Which
versions they show is ``sql_pins.py``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from domain.errors import UsageError
from domain.settings import Settings
from warehouse.layout import dataset_of
from warehouse.schema import INSTANT, arrow_schema
from warehouse.sql_pins import Pins, pin
from warehouse.tables import TABLES
from warehouse.whole_files import written_beside

MEMORY_LIMIT = "2GB"
SESSION_CONFIG: dict[str, Any] = {
    "memory_limit": MEMORY_LIMIT,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""A session sees the rows that it is handed: no other file can be read, and none written."""
READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
FILE_MODE = 0o600
"""A file for BI tools says where the tables lie; whoever may open it is the owner's to decide."""

FINALITY = "finality"
PUBLISHED_SEALS = "published_seals"
CLICKS_MINUTE = """
CREATE VIEW clicks_minute AS
WITH rows AS (
    SELECT advertiser_id, campaign_id, ad_id, minute, country, device, clicks, 'batch' AS source
    FROM final_clicks_minute, finality
    WHERE minute >= final_start AND minute < final_until
      AND epoch_us(minute) // 3_600_000_000 IN (
          SELECT epoch_us(hour) // 3_600_000_000 FROM published_seals WHERE is_minute_kept
      )
    UNION ALL
    SELECT advertiser_id, campaign_id, ad_id, minute, country, device, clicks, 'batch'
    FROM reconciled_clicks_minute JOIN published_seals USING (attempt), finality
    WHERE NOT is_minute_kept AND minute >= final_start AND minute < final_until
    UNION ALL
    SELECT advertiser_id, campaign_id, ad_id, minute, country, device, clicks, 'stream'
    FROM live_clicks_minute, finality
    WHERE NOT coalesce(minute >= final_start AND minute < final_until, false)
)
SELECT rows.*, source = 'batch' AS final, final_until, closed_until FROM rows, finality
"""
"""Sealed and published figures up to ``final_until``, the stream's estimate elsewhere. Minutes whose retention is over
come from the sealed attempts, which hold the same figures. Hours are told by arithmetic: whoever opens a file of these
views may have any time zone, and DuckDB cuts hours in that."""

_GLOB = re.compile(r"[*?\[\]]")


@contextmanager
def sql_session(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """A session over one moment of all tables, for the length of a block. It reads, and cannot be made to write.

    ``TableMissingError`` before the tables were created.
    """
    pins = pin(settings)
    with duckdb.connect(":memory:", config=SESSION_CONFIG) as session:
        session.execute("SET TimeZone = 'UTC'")
        for name, snapshot in pins.tables.items():
            rows = arrow_schema(TABLES[name]).empty_table() if snapshot is None else dataset_of(snapshot)
            session.register(name, rows)
        for name, rows in _small_tables(pins).items():
            session.register(name, rows)
        session.execute(CLICKS_MINUTE)
        session.execute("SET lock_configuration = true")
        yield session


def run_sql(session: duckdb.DuckDBPyConnection, statement: str) -> duckdb.DuckDBPyConnection:
    """The rows of one statement that reads. ``UsageError`` for any other one, and for one that DuckDB cannot run."""
    try:
        statements = session.extract_statements(statement)
    except duckdb.Error as error:
        raise _refusal(error) from None
    if len(statements) != 1 or statements[0].type not in READING:
        raise UsageError(
            f"{len(statements)} statements: {', '.join(one.type.name for one in statements) or 'none'}",
            "one statement that reads, such as SELECT, DESCRIBE, SHOW or EXPLAIN",
            "leave the tables to the product; keep what you make of them elsewhere",
        )
    try:
        return session.execute(statements[0])
    except duckdb.Error as error:
        raise _refusal(error) from None


def rows_of_answer(found: duckdb.DuckDBPyConnection, count: int) -> list[tuple[Any, ...]]:
    """The next rows of an answer, at most so many. ``UsageError`` where DuckDB meets an error only now."""
    try:
        return found.fetchmany(count)
    except duckdb.Error as error:
        raise _refusal(error) from None


def write_sql_file(settings: Settings, path: Path) -> Pins:
    """Writes a DuckDB database with the same views over the tables' own files; replaces a former one, whole or not.

    It shows the moment at which it was written, as long as these files are kept: a day, or more. ``OSError`` if the
    disk refuses.
    """
    pins = pin(settings)
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        fresh = Path(folder, "views")
        with duckdb.connect(str(fresh)) as database:
            _write_views(database, pins)
        with fresh.open("rb") as views, written_beside(path, FILE_MODE) as file:
            shutil.copyfileobj(views, file)
    return pins


def _write_views(database: duckdb.DuckDBPyConnection, pins: Pins) -> None:
    for name, snapshot in pins.tables.items():
        database.execute(_view_of_files(name, snapshot))
    for name, rows in _small_tables(pins).items():
        database.register("given", rows)
        database.execute(f"CREATE TABLE {name} AS FROM given")
        database.unregister("given")
    database.execute(CLICKS_MINUTE)


def _refusal(error: duckdb.Error) -> UsageError:
    return UsageError(str(error).strip(), "SQL that DuckDB can run", "correct it; SHOW TABLES lists what there is")


def _small_tables(pins: Pins) -> dict[str, pa.Table]:
    """What ``clicks_minute`` needs to know of the ledgers."""
    return {FINALITY: _finality_rows(pins), PUBLISHED_SEALS: _seal_rows(pins)}


def _finality_rows(pins: Pins) -> pa.Table:
    columns: dict[str, tuple[pa.DataType, int | datetime | None]] = {
        "publication_number": (pa.int64(), pins.publication_number),
        "final_start": (INSTANT, pins.final_start),
        "final_until": (INSTANT, pins.final_until),
        "closed_until": (INSTANT, pins.closed_until),
    }
    return pa.table({name: pa.array([value], kind) for name, (kind, value) in columns.items()})


def _seal_rows(pins: Pins) -> pa.Table:
    return pa.table(
        {
            "hour": pa.array([one.seal.hour for one in pins.hours], INSTANT),
            "seal_number": pa.array([one.seal.seal_number for one in pins.hours], pa.int64()),
            "revision": pa.array([one.seal.revision for one in pins.hours], pa.int64()),
            "attempt": pa.array([one.seal.attempt for one in pins.hours], pa.string()),
            "is_minute_kept": pa.array([one.is_minute_kept for one in pins.hours], pa.bool_()),
        }
    )


def _view_of_files(name: str, snapshot: DeltaTable | None) -> str:
    """A view over the files of one version, in the table's own columns and types, or over nothing."""
    columns = ", ".join(f'"{column.name}"' for column in TABLES[name].columns)
    files = [] if snapshot is None else snapshot.file_uris()
    if not files:
        empty = ", ".join(f'NULL::{_sql_type(field.type)} AS "{field.name}"' for field in arrow_schema(TABLES[name]))
        return f'CREATE VIEW "{name}" AS SELECT {empty} WHERE false'  # names of ours
    types = {field.name: _sql_type(field.type) for field in arrow_schema(TABLES[name])}
    parts = ", ".join(f"{column}: {types[column]}" for column in TABLES[name].partition_by)
    hive = f", hive_partitioning = true, hive_types = {{{parts}}}" if parts else ", hive_partitioning = false"
    paths = ", ".join(_quoted(file) for file in files)
    return (
        f'CREATE VIEW "{name}" AS SELECT {columns} '  # noqa: S608 # names of ours, paths quoted
        f"FROM read_parquet([{paths}], union_by_name = true{hive})"
    )


def _quoted(path: str) -> str:
    """A path as SQL text that names this one file, whatever signs its folders have."""
    escaped = _GLOB.sub(lambda sign: f"[{sign[0]}]", path)
    return "'" + escaped.replace("'", "''") + "'"


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"MAP({_sql_type(kind.key_type)}, {_sql_type(kind.item_type)})"
    return {
        pa.string(): "VARCHAR",
        pa.int32(): "INTEGER",
        pa.int64(): "BIGINT",
        pa.bool_(): "BOOLEAN",
        pa.binary(): "BLOB",
        pa.date32(): "DATE",
        INSTANT: "TIMESTAMPTZ",
    }[kind]
