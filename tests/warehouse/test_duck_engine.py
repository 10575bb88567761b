"""Engines: each has a folder of its own, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from domain.settings import Settings
from warehouse.duck_engine import opened_engine

SPILL_SQL = "SELECT current_setting('temp_directory'), current_setting('TimeZone')"


def test_engines_share_no_folder_and_leave_none(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with opened_engine(settings) as one, opened_engine(settings) as other:
        folders = [Path(engine.execute(SPILL_SQL).fetchall()[0][0]) for engine in (one, other)]
        assert {folder.parent for folder in folders} == {tmp_path / "scratch"}
        assert folders[0] != folders[1]
        assert one.execute(SPILL_SQL).fetchall()[0][1] == "UTC"
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_memory_cannot_hold_is_spilled_and_read_back(tmp_path: Path) -> None:
    with opened_engine(Settings(home=tmp_path), memory_limit="20MB") as engine:
        engine.execute("CREATE TABLE wide AS SELECT range AS n, repeat('x', 200) || range AS text FROM range(200_000)")
        assert any((tmp_path / "scratch").rglob("duckdb_temp*"))
        assert engine.execute("SELECT count(*), min(length(text)) FROM wide").fetchall() == [(200_000, 201)]


def test_a_home_that_cannot_be_made_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with opened_engine(Settings(home=tmp_path / "file" / "home")) as engine:
        assert engine.execute("SELECT 1").fetchall() == [(1,)]
