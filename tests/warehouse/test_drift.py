"""Appending drift: one commit, whatever the number of batches."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from warehouse.drift import append_drift
from warehouse.layout import table_uri
from warehouse.tables.drift import DRIFT

HOUR = datetime(2026, 5, 4, 10, tzinfo=UTC)


def row(advertiser_id: int) -> dict[str, object]:
    numbers = {column.name: 0 for column in DRIFT.columns if column.type == "long"}
    said = {"attempt": "a", "hour": HOUR, "is_alert": False, "click_date": HOUR.date()}
    return numbers | said | {"advertiser_id": advertiser_id}


def test_all_batches_are_one_commit(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    append_drift(settings, iter([[row(1), row(2)], [], [row(3)]]))
    append_drift(settings, iter([]))
    table = DeltaTable(table_uri(settings, DRIFT.name))
    assert sorted(found["advertiser_id"] for found in table.to_pyarrow_table().to_pylist()) == [1, 2, 3]
    assert table.version() == 2
