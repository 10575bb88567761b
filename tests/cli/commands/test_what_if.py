"""``tallystick what-if``: figures as sealed and as supposed, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world
from warehouse.verdicts import current_set

RANGE = ("2026-11-30T09:00Z", "2026-11-30T11:00Z")
VERDICT = {"impression_id": "imp-0-0", "ad_id": 1, "verdict": "fraud", "reason": "a bot"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SealedWorld:
    world = sealed_world(tmp_path_factory.mktemp("home"))
    world.archive([logged(0, HOUR), logged(1, HOUR, impression_id="imp-0-0"), logged(2, HOUR, kind="head")])
    world.seal(HOUR)
    return world


@pytest.fixture(autouse=True)
def _home(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(world.settings.home))


def _what_if(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["what-if", *arguments])


def test_a_file_of_verdicts_that_was_not_taken_in(world: SealedWorld, tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(json.dumps(VERDICT | {"decided_at": "2026-01-01T00:00Z"}))
    result = _what_if(*RANGE, "--verdicts", str(path), "--without-reason", "head", "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    figures = {
        "billable_clicks": {"now": 1, "then": 1, "difference": 0},
        "excluded_clicks": {
            "duplicate": {"now": 1, "then": 1, "difference": 0},
            "fraud": {"now": 0, "then": 1, "difference": 1},
            "head": {"now": 1, "then": 0, "difference": -1},
        },
        "amounts_micros": {},
    }
    assert document == {
        "from": "2026-11-30T09:00:00Z",
        "to": "2026-11-30T11:00:00Z",
        "sealed_hours": 1,
        "unsealed_hours": 1,
        "supposed": {"horizon_days": None, "verdict_set": None, "verdicts": 1, "without_reasons": ["head"]},
        "advertisers": [{"advertiser_id": 10, **figures}],
        "total": figures,
    }
    assert "1 of 2 hours not sealed and left out" in result.stderr
    assert current_set(world.settings) == 0


def test_a_table_for_people() -> None:
    result = _what_if(*RANGE, "--without-reason", "duplicate")
    assert result.exit_code == 0, result.stderr
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    assert cells == [
        ["10", "1", "2", "1", "duplicate 1 -> 0, head 1 -> 1", ""],
        ["all", "1", "2", "1", "duplicate 1 -> 0, head 1 -> 1", ""],
    ]
    assert "1 hour sealed, +1 billable clicks, other figures for 1 of 1 advertisers; nothing was" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (RANGE, "nothing is supposed"),
        ((*RANGE, "--no-verdicts", "--verdict-set", "0"), "several of --verdict-set, --verdicts and --no-verdicts"),
        ((*RANGE, "--without-reason", "late"), "reason late"),
        (("2026-11-29T09:00Z", "--no-verdicts"), "no hour of the range is sealed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_asked(arguments: tuple[str, ...], found: str) -> None:
    result = _what_if(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith(f"error: {found}")
