"""``tallystick proposals``: what is listed, what is refused, what a dismissal leaves. Applying is in test_reconcile."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.periods import PeriodClose, period_of
from domain.verdicts import ClickTarget, FraudVerdict
from tests.support.periods import CLOSED_AT
from tests.support.sealed_world import SealedWorld, logged, sealed_world
from warehouse.adjustments import read_adjustments
from warehouse.periods import append_close
from warehouse.proposal_dismissals import read_dismissals

HOUR = datetime(2026, 2, 3, 9, tzinfo=UTC)
"""Of a month that is over wherever the clock of this machine stands."""
NEXT = HOUR + timedelta(hours=1)
FIRST, SECOND = "2026-02-03T09:00Z", "2026-02-03T10:00Z"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    """Of two sealed hours the first has a late click, the second a newer verdict."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    world = sealed_world(tmp_path / "home")
    world.archive([logged(0, HOUR), logged(1, NEXT, impression_id="b")])
    world.seal(HOUR, NEXT)
    world.archive([logged(2, HOUR, country="CA")])
    world.judge_fraud(FraudVerdict("v1", ClickTarget("b", 1), "fraud", "a bot", HOUR))
    return world


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["proposals", *arguments])


def close(world: SealedWorld) -> None:
    said = {"closed_at": CLOSED_AT, "actor": "ada", "root_digest": "0" * 64, "hour_count": 672}
    fresh = PeriodClose(period=period_of(HOUR), last_seal_number=2, billable_clicks=2, **said)
    append_close(world.settings, fresh, 0)


def listed() -> list[tuple[str, str, str, list[int]]]:
    documents = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    deltas = [[line["delta_clicks"] for line in one["lines"]] for one in documents]
    return [(d["hour"], d["kind"], d["case_id"], lines) for d, lines in zip(documents, deltas, strict=True)]


def test_what_is_proposed_is_listed(world: SealedWorld) -> None:
    assert listed() == [
        ("2026-02-03T09:00:00Z", "revision", "late-2026-02-03T09", []),
        ("2026-02-03T10:00:00Z", "revision", "fraud-2026-02-03T10", []),
    ]
    shown = run("list").stdout
    assert "system:late" in shown
    assert "system:fraud" in shown
    close(world)
    assert [(kind, lines) for _, kind, _, lines in listed()] == [("adjustment", [1]), ("adjustment", [-1])]


def test_a_dismissal_is_for_good(world: SealedWorld) -> None:
    asked = ("dismiss", FIRST, "--reason", "our load test", "--actor", "ann")
    result = run(*asked)
    assert (result.exit_code, result.stderr) == (0, "hour 2026-02-03T09:00:00Z: 1 late arrivals dismissed\n")
    (one,) = read_dismissals(world.settings)
    assert (one.hour, one.reason, one.actor) == (HOUR, "our load test", "ann")
    assert [hour for hour, *_ in listed()] == ["2026-02-03T10:00:00Z"]
    again = run(*asked)
    assert (again.exit_code, "nothing is proposed of hour 2026-02-03T09:00:00Z" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "0 hours, --all not given"),
        ([FIRST, "--all"], "1 hours, --all given"),
        ([FIRST, "--late-only"], "either hours or --all"),
        (["2026-02-03T09:30Z"], "HOUR is '2026-02-03T09:30Z'"),
        (["2026-02-03T11:00Z"], "nothing is proposed of hour 2026-02-03T11:00:00Z"),
        ([FIRST, "--actor", " "], "no actor"),
    ],
)
def test_what_cannot_be_applied_is_refused(world: SealedWorld, arguments: list[str], said: str) -> None:
    result = run("apply", "--actor", "ann", *arguments)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


def test_a_closed_hour_is_adjusted_and_not_revised(world: SealedWorld, tmp_path: Path) -> None:
    close(world)
    result = run("apply", FIRST, "--actor", "ann")
    assert (result.exit_code, "period 2026-02 is closed" in result.stderr) == (1, True)
    receipt = tmp_path / "receipt.json"
    assert run("apply", "--all", "--actor", "ann", "--receipt", str(receipt)).exit_code == 0
    assert json.loads(receipt.read_text(encoding="utf-8"))["hours"] == []


def test_two_people_bill_what_is_proposed(world: SealedWorld, tmp_path: Path) -> None:
    for path, role in ((tmp_path / "ada", "finance"), (tmp_path / "grace", "approve")):
        made = CliRunner().invoke(app, ["token", "--role", role, "--person", path.name])
        path.write_text(made.stdout, encoding="utf-8")
        path.chmod(0o600)
    tokens = ["--requester-token", str(tmp_path / "ada"), "--approver-token", str(tmp_path / "grace")]
    asked = ["period", "adjust", "--proposal", FIRST, "--proposal", SECOND, "--case", "C-1", "--reason", "found later"]
    refused = CliRunner().invoke(app, [*asked, *tokens])
    assert (refused.exit_code, "no adjustment is proposed of hour" in refused.stderr) == (2, True)
    close(world)
    result = CliRunner().invoke(app, [*asked, *tokens])
    assert (result.exit_code, result.stderr) == (0, "case C-1: 2 lines, +0 clicks, billed in 2026-03\n")
    written = [(one.charge_hour, one.country, one.delta_clicks) for one in read_adjustments(world.settings)]
    assert written == [(HOUR, "CA", 1), (NEXT, "US", -1)]
    assert listed() == []
    assert CliRunner().invoke(app, [*asked, *tokens]).exit_code == 2
