"""Types of columns in Delta's and Arrow's notation, and rows that do not fit."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any, get_args

import pyarrow as pa
import pytest

from warehouse.schema import arrow_rows, arrow_schema, delta_schema
from warehouse.table import Column, ColumnType, Table

TYPES: dict[ColumnType, tuple[Any, str]] = {
    "string": ("string", "string"),
    "int": ("integer", "int32"),
    "long": ("long", "int64"),
    "boolean": ("boolean", "bool"),
    "binary": ("binary", "binary"),
    "timestamp": ("timestamp", "timestamp[us, tz=UTC]"),
    "date": ("date", "date32[day]"),
    "map<string,long>": ({"keyType": "string", "valueType": "long"}, "map<string, int64>"),
    "map<string,string>": ({"keyType": "string", "valueType": "string"}, "map<string, string>"),
}
AT = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)


def _table(*columns: Column) -> Table:
    return Table("t", "a table", "owner", "test", "delta-rs", ("k",), (Column("k", "long", "the key"), *columns))


@pytest.mark.parametrize("column_type", get_args(ColumnType))
def test_every_type_has_both_notations(column_type: ColumnType) -> None:
    table = _table(Column("c", column_type, "a column", is_nullable=True))
    field = json.loads(delta_schema(table).to_json())["fields"][1]
    delta, arrow = TYPES[column_type]
    expected = delta if isinstance(delta, str) else {"type": "map", "valueContainsNull": True, **delta}
    assert field == {"name": "c", "type": expected, "nullable": True, "metadata": {"comment": "a column"}}
    assert str(arrow_schema(table).field("c").type) == arrow


def test_columns_are_not_null_unless_said() -> None:
    table = _table(Column("c", "date", "a day"))
    assert [field["nullable"] for field in json.loads(delta_schema(table).to_json())["fields"]] == [False, False]
    assert [field.nullable for field in arrow_schema(table)] == [False, False]


def test_rows_keep_their_values() -> None:
    table = _table(Column("at", "timestamp", "when"), Column("m", "map<string,long>", "counts"))
    rows = arrow_rows(table, [{"k": 2**63 - 1, "at": AT, "m": {"1:5": 7}}])
    assert rows.to_pylist() == [{"k": 2**63 - 1, "at": AT, "m": [("1:5", 7)]}]


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"k": 1, "d": date(2026, 5, 4), "x": 1}, ValueError),
        ({"k": 1}, ValueError),
        ({"k": 1.5, "d": date(2026, 5, 4)}, ValueError),
        ({"k": 2**63, "d": date(2026, 5, 4)}, OverflowError),
        ({"k": "1", "d": date(2026, 5, 4)}, pa.ArrowInvalid),
    ],
    ids=["unknown column", "missing column", "fraction", "beyond 64 bits", "text"],
)
def test_a_row_that_does_not_fit_is_refused(row: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        arrow_rows(_table(Column("d", "date", "a day")), [row])


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        arrow_rows(_table(Column("at", "timestamp", "when")), [{"k": 1, "at": AT.replace(tzinfo=None)}])
