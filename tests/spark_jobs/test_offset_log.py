"""The offsets of a batch, from a checkpoint as Spark writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import IntegrityError
from spark_jobs.offset_log import batch_end_offsets

ENTRY = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n{"clicks":{"1":7,"0":12}}'


def checkpoint(folder: Path, version: str) -> str:
    (folder / "offsets").mkdir()
    (folder / "offsets" / "3").write_text(f"{version}\n{ENTRY}", encoding="utf-8")
    return str(folder)


def test_end_offsets_per_partition(tmp_path: Path) -> None:
    assert batch_end_offsets(checkpoint(tmp_path, "v1"), 3, "clicks") == {0: 12, 1: 7}


def test_another_version_of_the_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="version v2"):
        batch_end_offsets(checkpoint(tmp_path, "v2"), 3, "clicks")
