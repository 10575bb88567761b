"""Law 10: every command that changes figures tries to change a closed month, with reasons to; none can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.buckets import HOUR, format_utc
from domain.identity import LogPosition
from domain.verdicts import FraudVerdict
from tests.support.periods import CLOSED_AT, OCTOBER, close_month
from tests.support.sealed_world import Row, SealedWorld, logged, sealed_world
from tests.support.statements import statement_bytes
from warehouse.layout import open_table, rows_of
from warehouse.statements import read_statement

FIRST, LAST = OCTOBER.end - 2 * HOUR, OCTOBER.end - HOUR
BEFORE_THE_BOOKS = FIRST - HOUR
CLOSED_TABLES = (
    "seals",
    "publications",
    "period_closes",
    "adjustments",
    "reconciled_clicks_minute",
    "click_exclusions",
    "click_outcomes_hour",
    "drift",
    "final_clicks_minute",
    "final_clicks_hour",
    "final_clicks_day",
)
CASE = ["--reason", "a dispute", "--case", "C-1", "--actor", "ada"]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    """October is closed; then a click of it arrived, and another was judged fraud."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    found = sealed_world(tmp_path / "home")
    found.archive([logged(0, FIRST), logged(1, LAST), logged(2, LAST)])
    found.seal(FIRST, LAST)
    found.publish()
    close_month(found.settings, OCTOBER)
    found.archive([logged(3, LAST)])
    found.judge_fraud(FraudVerdict("v1", LogPosition(1, 0, 1), "fraud", "a bot", CLOSED_AT))
    return found


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def closed_rows(world: SealedWorld) -> dict[str, list[Row]]:
    return {name: sorted(rows_of(open_table(world.settings, name)).to_pylist(), key=repr) for name in CLOSED_TABLES}


def adjustment_in_october(folder: Path) -> list[str]:
    """A case of two people who bill a difference in the month that is closed."""
    line = {"charge_hour": format_utc(LAST), "advertiser_id": 10, "campaign_id": 100, "ad_id": 1, "delta_clicks": 1}
    (folder / "lines.jsonl").write_text(json.dumps(line | {"country": "US", "device": "mobile"}), encoding="utf-8")
    for role, person in (("finance", "ada"), ("approve", "grace")):
        (folder / person).write_text(command("token", "--role", role, "--person", person).stdout, encoding="utf-8")
        (folder / person).chmod(0o600)
    tokens = ["--requester-token", str(folder / "ada"), "--approver-token", str(folder / "grace")]
    return ["period", "adjust", str(folder / "lines.jsonl"), "--case", "C-1", "--reason", "late", *tokens]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["reconcile", format_utc(LAST), *CASE], 1, "period 2026-10 is closed", id="revision"),
        pytest.param(["reconcile", format_utc(BEFORE_THE_BOOKS)], 3, "period 2026-10 is closed", id="first-seal"),
        pytest.param(["proposals", "apply", format_utc(LAST), "--actor", "ada"], 1, "period 2026-10", id="proposal"),
        pytest.param(["proposals", "apply", "--all", "--actor", "ada"], 0, "", id="all-proposals"),
        pytest.param(["period", "close", "2026-10", "--actor", "ada"], 1, "it is closed already", id="close-again"),
        pytest.param(["period", "close", "2026-09", "--actor", "ada"], 1, "before the first period", id="close-before"),
    ],
)
def test_a_closed_month_is_refused(world: SealedWorld, arguments: list[str], code: int, said: str) -> None:
    before, statement = closed_rows(world), statement_bytes(read_statement(world.settings, 10, OCTOBER, "UTC"), "csv")
    result = command(*arguments)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert closed_rows(world) == before
    assert statement_bytes(read_statement(world.settings, 10, OCTOBER, "UTC"), "csv") == statement


def test_an_adjustment_is_not_billed_in_it(world: SealedWorld, tmp_path: Path) -> None:
    before = closed_rows(world)
    result = command(*adjustment_in_october(tmp_path), "--billing-period", "2026-10")
    assert (result.exit_code, "billing period 2026-10 is closed" in result.stderr) == (1, True), result.stderr
    assert closed_rows(world) == before


def test_an_adjustment_in_the_open_month_leaves_it_as_it_was(world: SealedWorld, tmp_path: Path) -> None:
    """What the dispute, the verdict and the late click come to is billed in November."""
    before, statement = closed_rows(world), statement_bytes(read_statement(world.settings, 10, OCTOBER, "UTC"), "csv")
    result = command(*adjustment_in_october(tmp_path))
    assert result.exit_code == 0, result.stderr
    after = closed_rows(world)
    assert after.pop("adjustments") != before.pop("adjustments")
    assert after == before
    assert statement_bytes(read_statement(world.settings, 10, OCTOBER, "UTC"), "csv") == statement
