"""Descriptions of tables: an incomplete one is refused, and the properties keep to what every reader opens."""

from __future__ import annotations

from typing import Any

import pytest

from warehouse.table import Column, Table
from warehouse.tables import TABLES

WHOLE: dict[str, Any] = {
    "name": "t",
    "description": "a table",
    "owner": "somebody",
    "written_by": "a job",
    "writer": "spark",
    "key": ("k",),
    "columns": (Column("k", "long", "the key"), Column("d", "date", "a day")),
}
CLOSED_TO_OTHERS = (
    "delta.enableDeletionVectors",
    "delta.columnMapping.mode",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
    "delta.enableInCommitTimestamps",
    "delta.checkpointPolicy",
    "delta.feature",
)


def test_a_whole_description_is_accepted() -> None:
    assert Table(**WHOLE, partition_by=("d",)).column_names == ("k", "d")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": (Column("k", "long", "a"), Column("k", "int", "b"))}, "a repeated column"),
        ({"key": ("x",)}, "a key or partition that is no column"),
        ({"partition_by": ("x",)}, "a key or partition that is no column"),
        ({"key": ()}, "no key"),
        ({"owner": ""}, "no owner"),
        ({"written_by": ""}, "no owner, writer"),
        ({"description": ""}, "no owner, writer or description"),
        ({"columns": (Column("k", "long", ""),)}, "a column without a description"),
    ],
    ids=["repeated", "key", "partition", "no key", "owner", "writer", "description", "column description"],
)
def test_an_incomplete_one_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"table t has {message}"):
        Table(**WHOLE | change)


def test_properties_of_a_table_win_over_the_common_ones() -> None:
    table = Table(**WHOLE, is_append_only=True, properties={"delta.checkpointInterval": "5"})
    assert table.delta_properties == {"delta.checkpointInterval": "5", "delta.appendOnly": "true"}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_no_table_uses_what_other_readers_cannot_open(table: Table) -> None:
    assert [name for name in table.delta_properties if name.startswith(CLOSED_TO_OTHERS)] == []


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_skipping_statistics_name_columns_that_exist(table: Table) -> None:
    """The engine ignores a misspelt one in silence, and every look-back reads the whole table."""
    listed = table.delta_properties.get("delta.dataSkippingStatsColumns", "")
    assert {*listed.split(",")} - {""} <= set(table.column_names)
