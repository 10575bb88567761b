"""Rows in a file instead of in memory: the same rows, no name left behind, nothing kept of a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from domain.settings import Settings
from tests.support.peaks import peak_bytes
from warehouse.duck_engine import scratch_folder
from warehouse.mapped_rows import mapped_rows

SCHEMA = pa.schema({"number": pa.int64(), "word": pa.string()})
ROWS = 1_000


def _batches(count: int) -> Iterator[pa.RecordBatch]:
    for index in range(count):
        numbers = list(range(index * ROWS, (index + 1) * ROWS))
        yield pa.record_batch({"number": numbers, "word": [f"word {n}" for n in numbers]}, schema=SCHEMA)


def test_the_rows_in_their_order_and_no_file_left(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    found = mapped_rows(settings, SCHEMA, _batches(3))
    assert found.column("number").to_pylist() == list(range(3 * ROWS))
    assert found.column("word")[-1].as_py() == "word 2999"
    folder = scratch_folder(settings)
    assert folder is not None
    assert list(folder.iterdir()) == []
    assert mapped_rows(settings, SCHEMA, []) == SCHEMA.empty_table()


def test_a_failure_comes_through(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from _batches(1)
        raise ValueError("of a test")

    with pytest.raises(ValueError, match="of a test"):
        mapped_rows(Settings(home=tmp_path), SCHEMA, failing())
    assert list((tmp_path / "scratch").iterdir()) == []


def test_twice_the_rows_take_no_more_memory(tmp_path: Path) -> None:
    peaks = [
        peak_bytes(lambda count=count: mapped_rows(Settings(home=tmp_path), SCHEMA, _batches(count)))
        for count in (20, 40)
    ]  # type: ignore[misc]
    assert peaks[1] < 1.2 * peaks[0]
