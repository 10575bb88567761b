"""The columns of a table in the two notations that are written with: Delta's schema and Arrow's.

Belongs here: the translation of the types in ``warehouse/table.py``, and of rows into Arrow. Spark's notation lives in
``warehouse/spark``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake.schema import Field, MapType, PrimitiveType, Schema

from warehouse.table import Column, ColumnType, Table

_DELTA: dict[ColumnType, PrimitiveType | MapType] = {
    "string": PrimitiveType("string"),
    "int": PrimitiveType("integer"),
    "long": PrimitiveType("long"),
    "boolean": PrimitiveType("boolean"),
    "binary": PrimitiveType("binary"),
    "timestamp": PrimitiveType("timestamp"),
    "date": PrimitiveType("date"),
    # Map values stay nullable: Delta cannot enforce a constraint inside a map, and Spark refuses to write to one.
    "map<string,long>": MapType(PrimitiveType("string"), PrimitiveType("long")),
    "map<string,string>": MapType(PrimitiveType("string"), PrimitiveType("string")),
}

INSTANT = pa.timestamp("us", tz="UTC")
"""Of every instant that a table holds."""
STATISTICS_GRAIN = timedelta(milliseconds=1)
"""Writers cut instants in file statistics to this: a file may reach that much beyond what it says."""
_ARROW: dict[ColumnType, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": INSTANT,
    "date": pa.date32(),
    "map<string,long>": pa.map_(pa.string(), pa.int64()),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}


def delta_schema(table: Table) -> Schema:
    """The Delta schema, each column with its description as comment."""
    return Schema([_delta_field(column) for column in table.columns])


def _delta_field(column: Column) -> Field:
    metadata = {"comment": column.description}
    return Field(column.name, _DELTA[column.type], nullable=column.is_nullable, metadata=metadata)


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema; timestamps are microseconds, UTC."""
    return pa.schema([pa.field(column.name, _ARROW[column.type], column.is_nullable) for column in table.columns])


def table_of(rows: Sequence[tuple[Any, ...]], types: Mapping[str, pa.DataType]) -> pa.Table:
    """Tuples as an Arrow table to query; of no rows one that is empty and has its columns."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, types.values(), strict=True)], list(types))


def arrow_rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows (column name to value) as Arrow. ``ValueError`` for what Arrow would take in silence and change.

    That is: a column that the table does not have, a fraction for a whole number, an instant without a zone.
    """
    given = list(rows)
    for row in given:
        if row.keys() != set(table.column_names):
            raise ValueError(f"table {table.name} has columns {table.column_names}, not {tuple(row)}")
        if any(isinstance(value, float) for value in row.values()):
            raise ValueError(f"a floating number in a row of {table.name}: {row}")
        if any(isinstance(value, datetime) and value.tzinfo is None for value in row.values()):
            raise ValueError(f"an instant without a zone in a row of {table.name}: {row}")
    return pa.Table.from_pylist(given, schema=arrow_schema(table))
