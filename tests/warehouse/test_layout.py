"""Addresses of tables, the roots that are refused, and reading without a JVM."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import SettingError
from domain.settings import Settings
from warehouse.create import create_missing_tables
from warehouse.layout import TableMissingError, code_version, dataset_of, open_table, rows_of, table_uri
from warehouse.logs import register_log

ROOT = Path(__file__).resolve().parents[2]
AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
READ_AND_END = """
import sys
from pathlib import Path
from domain.settings import Settings
from warehouse.layout import open_table, rows_of
print(rows_of(open_table(Settings(home=Path(sys.argv[1])), "logs")).num_rows)
"""
ENDINGS = 3
"""A process that reads by way of Python's file system dies at its end in most runs, not in all."""


@pytest.mark.parametrize(
    ("tables", "expected"),
    [("", "/srv/tally/tables/seals"), ("big", "/srv/tally/big/seals"), ("/mnt/disk", "/mnt/disk/seals")],
    ids=["below home", "relative to home", "absolute"],
)
def test_a_table_lies_below_the_root(tables: str, expected: str) -> None:
    assert table_uri(Settings(home=Path("/srv/tally"), tables=tables), "seals") == expected


@pytest.mark.parametrize("tables", ["s3://bucket/x", "s3a://bucket", "gs://b", "abfss://c@a/x", "file:/mnt", "S3://B"])
def test_an_object_store_is_refused(tables: str) -> None:
    """D9: two drivers on an object store without conditional puts overwrite each other's commits."""
    with pytest.raises(SettingError, match="setting tables is") as raised:
        create_missing_tables(Settings(home=Path("/srv/tally"), tables=tables))
    assert tables in raised.value.found


def test_a_percent_sign_in_the_path_is_refused() -> None:
    with pytest.raises(SettingError, match="without %"):
        table_uri(Settings(home=Path("/srv/a%20b")), "seals")


def test_a_table_that_was_never_created_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableMissingError, match=r"no table seals at .*tables/seals.*start the stream once"):
        open_table(Settings(home=tmp_path), "seals")


@pytest.mark.parametrize("folder", ["plain", "with space", "ümlaut", "hash#and?"])
def test_tables_are_read_whatever_the_folder_is_called(tmp_path: Path, folder: str) -> None:
    settings = Settings(home=tmp_path / folder)
    create_missing_tables(settings)
    register_log(settings, "clicks", "id-1", {0: 0}, AT)
    assert rows_of(open_table(settings, "logs"))["topic_id"].to_pylist() == ["id-1"]
    assert dataset_of(open_table(settings, "logs")).count_rows() == 1


def test_a_process_that_read_a_table_ends_with_zero(settings: Settings) -> None:
    register_log(settings, "clicks", "id-1", {0: 0}, AT)
    for _ in range(ENDINGS):
        done = subprocess.run(
            [sys.executable, "-c", READ_AND_END, str(settings.home)], cwd=ROOT, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert code_version() == project["version"]
