"""``tallystick export statement``: one file, or one line that says why there is none."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.counts_tables import Clicks, counts_tables
from tests.support.disk import room_for
from tests.support.periods import NOVEMBER, close_month, settle_month


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    tables = counts_tables(tmp_path / "home")
    settle_month(tables, NOVEMBER, [Clicks("2026-11-01T18:30Z", 1_234)])
    close_month(tables.settings)
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def _export(out: Path, *more: str) -> Result:
    asked = ["--advertiser", "10", "--period", "2026-11", "--time-zone", "Asia/Kolkata", "--out", str(out)]
    return CliRunner().invoke(app, ["export", "statement", *asked, *more])


def test_a_statement_is_written_again_as_it_was(folder: Path) -> None:
    out = folder / "statement.csv"
    result = _export(out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{out}: 1,234 clicks of advertiser 10 in 2026-11, days of Asia/Kolkata\n"
    first = out.read_bytes()
    assert b"clicks,2026-11,10,Asia/Kolkata,2026-11-02,100,1,1234,,,,,,,,,,\n" in first
    assert _export(out).exit_code == 0
    assert out.read_bytes() == first


@pytest.mark.parametrize(("file_format", "magic"), [("parquet", b"PAR1"), ("xlsx", b"PK")])
def test_other_formats(folder: Path, file_format: str, magic: bytes) -> None:
    assert _export(folder / "statement", "--format", file_format).exit_code == 0
    assert (folder / "statement").read_bytes().startswith(magic)


def test_a_workbook_needs_room_in_home_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "absent"))
    assert _export(folder / "statement", "--format", "xlsx").exit_code == 0
    assert list((folder.parent / "home" / "scratch").iterdir()) == []


def test_a_full_disk_leaves_no_half_file(folder: Path) -> None:
    with room_for(10):
        result = _export(folder / "statement.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {folder}/statement.csv: File too large; expected room for the whole file")
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_not_there(folder: Path) -> None:
    result = _export(folder / "absent" / "statement.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: no folder {folder}/absent")


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (["--period", "2026-12"], "a statement of period 2026-12, which is open"),
        (["--period", "november"], "period 'november'"),
        (["--time-zone", "Mars"], "time zone 'Mars'"),
        (["--format", "pdf"], "format 'pdf'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(folder: Path, more: list[str], found: str) -> None:
    result = _export(folder / "statement.csv", *more)
    assert (result.exit_code, list(folder.iterdir())) == (2, [])
    assert result.stderr.startswith(f"error: {found}; expected ")
