"""Names carry their unit: numeric columns and settings, instants, dates, booleans."""

from __future__ import annotations

from dataclasses import fields

import pytest

from domain.settings import Settings
from warehouse.table import Column
from warehouse.tables import TABLES

UNITS = (
    "_bytes",
    "_clicks",
    "_count",
    "_days",
    "_events",
    "_factor",
    "_hours",
    "_id",
    "_mib",
    "_micros",
    "_ms",
    "_number",
    "_partitions",
    "_per_mille",
    "_port",
    "_ratio",
    "_seconds",
    "_version",
    "_workers",
)
DESIGN_NUMBERS = {
    "clicks",
    "click_hour",
    "log",
    "offset",
    "partition",
    "revision",
    "server_seq",
    "verdict_set",
    "versions",
}
"""Names that the design fixes; the words are defined in docs/architecture.md."""
OUR_NUMBERS = {"dimensions"}
"""Numbers without a unit: a hash. This list may only shrink."""
UNIT_BESIDE = {"amount", "out_of"}
"""Figures of many kinds: their unit is in the column beside them."""
WINNER = "winner_"
INSTANTS = {"minute", "hour", "charge_hour", "valid_from", "final_until"}
"""Starts of buckets, and the two instants that the design names."""

COLUMNS = [
    pytest.param(column, id=f"{table.name}.{column.name}") for table in TABLES.values() for column in table.columns
]
NUMERIC_SETTINGS = [field.name for field in fields(Settings) if isinstance(field.default, int)]


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_carry_their_unit(column: Column) -> None:
    match column.type:
        case "int" | "long" | "map<string,long>":
            bare = column.name.removeprefix(WINNER)
            assert column.name.endswith(UNITS) or bare in DESIGN_NUMBERS | OUR_NUMBERS | UNIT_BESIDE
        case "timestamp":
            assert column.name.endswith("_at") or column.name in INSTANTS
        case "date":
            assert column.name.endswith("_date")
        case "boolean":
            assert column.name.startswith(("is_", "has_"))


@pytest.mark.parametrize("name", NUMERIC_SETTINGS)
def test_numeric_settings_carry_their_unit(name: str) -> None:
    assert name.endswith(UNITS)


def test_a_name_is_the_same_type_in_every_table() -> None:
    types: dict[str, set[str]] = {}
    for table in TABLES.values():
        for column in table.columns:
            types.setdefault(column.name, set()).add(column.type)
    assert {name: found for name, found in types.items() if len(found) > 1} == {}
