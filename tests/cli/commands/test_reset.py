"""``tallystick reset`` deletes a folder of state, and nothing that somebody else could want."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.settings import Settings
from warehouse.create import create_missing_tables
from warehouse.locks import writer_lock


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "state"
    monkeypatch.setenv("TALLYSTICK_HOME", str(home))
    create_missing_tables(Settings(home=home))
    (home / "logs").mkdir()
    (home / "logs" / "broker.log").touch()
    return home


def _reset(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(app, ["reset", *arguments], input=answer)


def test_state_is_deleted_and_nothing_beside_it(home: Path) -> None:
    (home.parent / "beside").touch()
    assert _reset("--yes").exit_code == 0
    assert [path.name for path in home.parent.iterdir()] == ["beside"]


def test_no_state_is_nothing_to_delete(home: Path) -> None:
    assert [_reset("--yes").exit_code, _reset("--yes").exit_code] == [0, 0]


def test_it_asks_and_takes_no_for_an_answer(home: Path) -> None:
    assert _reset(answer="n\n").exit_code == 1
    assert (home / "tables").exists()
    assert _reset(answer="y\n").exit_code == 0
    assert not home.exists()


def test_without_an_answer_nothing_is_deleted(home: Path) -> None:
    assert _reset().exit_code == 1
    assert (home / "tables").exists()


@pytest.mark.parametrize("foreign", ["thesis.tex", ".git", "Table"])
def test_a_folder_with_foreign_things_is_refused(home: Path, foreign: str) -> None:
    (home / foreign).mkdir()
    result = _reset("--yes")
    assert result.exit_code == 2
    assert f"holds {foreign};" in result.stderr
    assert (home / "tables").exists()


def test_a_file_or_link_in_the_place_of_home_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home.parent / "notes.txt"
    file.touch()
    monkeypatch.setenv("TALLYSTICK_HOME", str(file))
    assert _reset("--yes").exit_code == 2
    assert file.exists()


@pytest.mark.parametrize("lock", ["stream", "reconcile", "click-edge-1"])
def test_a_held_writer_lock_is_refused(home: Path, lock: str) -> None:
    with writer_lock(Settings(home=home), lock):
        result = _reset("--yes")
    assert result.exit_code == 3
    assert f"the lock {lock} is held" in result.stderr
    assert (home / "tables").exists()


def test_tables_below_home_under_another_name_go_with_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_TABLES", "delta")
    (home / "tables").rename(home / "delta")
    assert _reset("--yes").exit_code == 0
    assert not home.exists()


def test_tables_elsewhere_stay_and_are_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = home.parent / "elsewhere"
    (home / "tables").rename(elsewhere)
    monkeypatch.setenv("TALLYSTICK_TABLES", str(elsewhere))
    assert f"stay: {elsewhere}" in _reset("--yes").stderr
    assert elsewhere.exists()
