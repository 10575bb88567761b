"""Where the tables lie, how one is opened and read, and which version of the code writes them.

Belongs here: addresses, the refusal of roots that are not safe, snapshots without a JVM. What a table is:
``warehouse/tables``; how it comes to be: ``warehouse/create.py``. Nobody else builds a path to a table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from domain.errors import SettingError, TallystickError
from domain.settings import Settings
from warehouse.tables import TABLES

PACKAGE = "tallystick"
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")


class TableMissingError(TallystickError):
    """A table that should be read or written has not been created."""


def table_uri(settings: Settings, name: str) -> str:
    """The absolute folder of a table. ``SettingError`` if the root of the tables is not a safe place."""
    return str(tables_path(settings) / TABLES[name].name)


def tables_path(settings: Settings) -> Path:
    """The folder of all tables; a relative setting lies below home, so that every process means the same one.

    An object store is refused: the log store that Spark has for it lets a second writer overwrite the first one's
    commit, and no store with conditional puts is configured.
    """
    if _SCHEME.match(settings.tables):
        raise SettingError(
            f"setting tables is {settings.tables!r}, an object store or other URI",
            "a folder on a local disk, where no commit can overwrite another",
            "set it to a folder, or leave it empty for home/tables",
        )
    path = settings.home / (settings.tables or "tables")
    if "%" in str(path):
        raise SettingError(
            f"the folder of the tables is {path}",
            "a path without %, which readers of Delta take for an escape",
            "rename the folder or set tables or TALLYSTICK_HOME to another",
        )
    return path


def open_table(settings: Settings, name: str) -> DeltaTable:
    """The newest snapshot of a table, without a JVM. ``TableMissingError`` if it was never created."""
    uri = table_uri(settings, name)
    try:
        return DeltaTable(uri)
    except TableNotFoundError as error:
        raise TableMissingError(
            f"no table {name} at {uri}", "the tables of this installation", "start the stream once, it creates them"
        ) from error


def dataset_of(snapshot: DeltaTable) -> ds.Dataset:
    """A snapshot as an Arrow dataset, for scans with filters and for DuckDB.

    Read through Arrow's own file system: with the default one, which is written in Python, Arrow's threads call into
    an interpreter that is ending, and the process dies of SIGABRT after it has done its work.
    """
    folder = url2pathname(urlsplit(snapshot.table_uri).path)
    return snapshot.to_pyarrow_dataset(filesystem=SubTreeFileSystem(folder, LocalFileSystem()))


def of_attempts(attempts: Mapping[datetime, str]) -> ds.Expression:
    """Rows of these attempts, given by hour; files of other dates are not opened."""
    dates = pa.array(sorted({hour.date() for hour in attempts}), pa.date32())
    return ds.field("click_date").isin(dates) & ds.field("attempt").isin(pa.array(list(attempts.values()), pa.string()))


def rows_of(snapshot: DeltaTable, condition: str = "TRUE") -> pa.Table:
    """The rows of a small table, all or those of an SQL condition, in the table's own types; order is undefined.

    For a table of many small files this is a seventh of the work of a dataset.
    """
    question = f"SELECT * FROM snapshot WHERE {condition}"  # noqa: S608 # no input
    found = pa.table(QueryBuilder().register("snapshot", snapshot).execute(question))
    schema = pa.schema(snapshot.schema().to_arrow())  # type: ignore[arg-type] # the stubs lack Arrow's C interface
    return found.select(schema.names).cast(schema)


@cache
def code_version() -> str:
    """The version of the product: of the installed package, or of the checkout that runs without being installed."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        project = Path(__file__).resolve().parent.parent / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
