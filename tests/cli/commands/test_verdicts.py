"""``tallystick verdicts``: a file is taken in as a set or not at all, and what is in force is listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.settings import Settings
from tests.support.archive_world import ArchiveWorld, Click
from warehouse.layout import open_table, rows_of

SAID = {"verdict": "fraud", "reason": "a bot", "decided_at": "2026-05-04T11:00:00Z"}
KNOWN = {"impression_id": "a", "ad_id": 1, "score_micros": 5, **SAID}
STRANGER = {"log": 1, "partition": 0, "offset": 99, **SAID, "decided_at": "2026-05-04T11:00:01Z"}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    world = ArchiveWorld(tmp_path)
    world.archive([Click("a")])
    return world.settings


def _verdicts(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verdicts", *arguments])


def _add(path: Path, *lines: dict[str, Any] | str, more: tuple[str, ...] = ()) -> Result:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return _verdicts("add", str(path), "--source", "lab", "--actor", "ann", *more)


def _printed(result: Result) -> dict[str, str]:
    cells = [line.split("│") for line in result.stdout.splitlines() if "│" in line]
    return {row[1].strip(): row[2].strip() for row in cells}


def _listed(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _verdicts("list", "--json", *arguments).stdout.splitlines()]


def test_a_file_is_a_set_and_strangers_are_told(tmp_path: Path) -> None:
    result = _add(tmp_path / "a.jsonl", KNOWN, STRANGER)
    counts = {"taken": "2", "of them about clicks that are not there": "1", "bad lines left out": "0"}
    assert (result.exit_code, _printed(result)) == (0, counts)
    assert "verdicts are at set 1" in result.stderr
    one, two = _listed()
    assert one.pop("verdict_id") < two.pop("verdict_id")
    said = {"set_version": 1, "source": "lab", "reason": "a bot"}
    assert one == {"impression_id": "a", "ad_id": 1, **said, "score_micros": 5, "decided_at": SAID["decided_at"]}
    place = {"log": 1, "partition": 0, "offset": 99}
    assert two == {**place, **said, "score_micros": None, "decided_at": STRANGER["decided_at"]}


def test_the_list_of_an_older_set(tmp_path: Path) -> None:
    _add(tmp_path / "a.jsonl", KNOWN)
    _add(tmp_path / "b.jsonl", KNOWN | {"verdict": "withdrawn", "decided_at": "2026-05-04T12:00:00Z"}, STRANGER)
    assert [len(_listed("--set", version)) for version in "012"] == [0, 1, 1]
    table = _verdicts("list", "--set", "1")
    assert "impression a, ad 1" in table.stdout
    assert "1 verdicts of fraud in force at set 1" in table.stderr
    assert "position 1:0:99" in _verdicts("list").stdout
    unknown = _verdicts("list", "--set", "3")
    assert unknown.exit_code == 2
    assert "set 3; expected a set up to 2" in unknown.stderr


def test_one_bad_line_and_nothing_is_taken(tmp_path: Path, settings: Settings) -> None:
    result = _add(tmp_path / "a.jsonl", KNOWN, "{")
    assert result.exit_code == 2
    assert "has 1 bad lines: line 2: no JSON" in result.stderr
    assert _listed() == []
    skipped = _add(tmp_path / "a.jsonl", KNOWN, "{", more=("--skip-bad",))
    assert _printed(skipped)["bad lines left out"] == "1"
    assert "line 2: no JSON" in skipped.stderr
    assert len(_listed()) == 1
    (row,) = rows_of(open_table(settings, "rejected_verdicts")).to_pylist()
    assert (row["line_number"], row["text"], row["actor"]) == (2, "{", "ann")


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    _add(tmp_path / "a.jsonl", KNOWN)
    result = _add(tmp_path / "again.jsonl", KNOWN)
    assert result.exit_code == 2
    assert "this file was taken in as set 1" in result.stderr
    assert len(_listed()) == 1
