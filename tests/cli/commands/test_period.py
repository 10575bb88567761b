"""``tallystick period``: every reason against a close, one certificate, the same bytes again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.ads import Ad
from domain.buckets import HOUR
from domain.disputes import Claim, Resolution
from domain.periods import parse_period
from tests.support.counts_tables import Clicks, CountsTables, counts_tables
from tests.support.periods import CLOSED_AT, close_month, settle_quiet_month
from warehouse.adjustments import read_adjustments
from warehouse.ads import snapshot_ads
from warehouse.disputes import open_dispute, resolve_dispute
from warehouse.periods import read_closes

OVER = "2026-02"
"""A month that is over wherever the clock of this machine stands."""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountsTables:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    found = counts_tables(tmp_path / "home")
    settle_quiet_month(found, parse_period(OVER))
    return found


def _period(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["period", *arguments])


def test_close_prints_and_writes_the_certificate(tables: CountsTables, tmp_path: Path) -> None:
    file, again = tmp_path / "close.json", tmp_path / "again.json"
    result = _period("close", OVER, "--actor", "ada", "--certificate", str(file))
    assert result.exit_code == 0
    assert result.stderr == "hours recounted: 672 to do\nhours recounted: 672 of 672\n"
    (close,) = read_closes(tables.settings)
    assert file.read_bytes() == close.certificate()
    assert result.stdout == close.certificate().decode()
    document = json.loads(result.stdout)
    assert (document["billable_clicks"], document["actor"]) == (0, "ada")
    assert _period("show", OVER, "--certificate", str(again)).stdout == result.stdout
    assert again.read_bytes() == file.read_bytes()


def test_a_plan_closes_nothing(tables: CountsTables) -> None:
    result = _period("close", OVER, "--actor", "ada", "--plan")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1] == "period 2026-02 can be closed: 0 clicks in 672 hours"
    assert read_closes(tables.settings) == []


@pytest.mark.parametrize("more", [[], ["--plan"]], ids=["close", "plan"])
def test_every_reason_is_a_line(tables: CountsTables, more: list[str]) -> None:
    result = _period("close", "2098-11", "--actor", "ada", *more)
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    assert lines[:3] == [
        "- it is not over before 2098-12-01T00:00:00Z",
        "- hours 2098-11-01T00:00:00Z to 2098-12-01T00:00:00Z are not sealed",
        "- period 2026-02 is open, and hours of it are sealed: close it first",
    ]
    assert lines[3].startswith("error: period 2098-11 cannot be closed: for the 3 reasons above; expected a month that")
    assert len(lines) == 4, "each reason is told once"
    assert read_closes(tables.settings) == []


def test_open_disputes_are_named_and_hold_nothing_up(tables: CountsTables) -> None:
    start = parse_period(OVER).start
    said: dict[str, Any] = {"claim": "too many", "actor": "ada", "claimed_clicks": None, "opened_at": CLOSED_AT}
    snapshot_ads(tables.settings, [Ad(1, 10, 100, "https://example.org/")], CLOSED_AT)
    for first in (start - HOUR, start, parse_period(OVER).end - HOUR, parse_period(OVER).end):
        open_dispute(tables.settings, Claim(advertiser_id=10, start=first, end=first + HOUR, **said))
    resolved = Resolution(outcome="rejected", reason="as sealed", actor="ada", resolved_at=CLOSED_AT)
    resolve_dispute(tables.settings, "D-3", resolved)
    planned = json.loads(_period("close", OVER, "--actor", "ada", "--plan", "--json").stdout)
    assert (planned["certificate"], planned["reasons"]) == (None, [])
    assert [(one["case_id"], one["start"], one["claim"]) for one in planned["open_disputes"]] == [
        ("D-2", "2026-02-01T00:00:00Z", "too many")
    ]
    result = _period("close", OVER, "--actor", "ada", "--json")
    assert result.stderr.splitlines()[0] == "open dispute D-2 of advertiser 10: its outcome will be an adjustment"
    (close,) = read_closes(tables.settings)
    document = json.loads(result.stdout)
    assert document["certificate"] == json.loads(close.certificate())
    assert document["open_disputes"] == planned["open_disputes"]


def test_a_certificate_that_cannot_be_written_closes_nothing(tables: CountsTables, tmp_path: Path) -> None:
    result = _period("close", OVER, "--actor", "ada", "--certificate", str(tmp_path / "absent" / "close.json"))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no folder ")
    assert read_closes(tables.settings) == []


def test_hours_that_do_not_recount_are_lines(tables: CountsTables) -> None:
    tables.publish(tables.write_final([Clicks("2026-02-03T10:05Z", 2)]))
    result = _period("close", OVER, "--actor", "ada")
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("- ")]
    assert line.startswith("- hour 2026-02-03T10:00:00Z does not recount: minute 2026-02-03T10:05:00Z, advertiser ")
    assert line.endswith(": published 2, recounted 0")
    assert read_closes(tables.settings) == []


def test_list_names_the_closed_months(tables: CountsTables) -> None:
    close_month(tables.settings, parse_period(OVER))
    result = _period("list")
    assert result.exit_code == 0
    assert "2026-02" in result.stdout
    assert read_closes(tables.settings)[0].root_digest in result.stdout


def test_what_is_not_closed_has_no_certificate(tables: CountsTables) -> None:
    result = _period("show", OVER)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: period 2026-02 is open; expected a closed one")


def test_adjust_takes_two_tokens(tables: CountsTables, tmp_path: Path) -> None:
    close_month(tables.settings, parse_period(OVER))
    lines, ada, grace = (tmp_path / name for name in ("lines.jsonl", "ada", "grace"))
    said = {"charge_hour": "2026-02-03T10:00Z", "advertiser_id": 10, "campaign_id": 100, "ad_id": 1}
    lines.write_text(json.dumps(said | {"country": "DE", "device": "mobile", "delta_clicks": -3}), encoding="utf-8")
    for path, role in ((ada, "finance"), (grace, "approve")):
        made = CliRunner().invoke(app, ["token", "--role", role, "--person", path.name])
        path.write_text(made.stdout, encoding="utf-8")
        path.chmod(0o600)
    asked = ["adjust", str(lines), "--case", "C-1", "--reason", "late", "--requester-token", str(ada)]
    assert _period(*asked, "--approver-token", str(ada)).stderr.startswith("error: an approver's token of role finance")
    result = _period(*asked, "--approver-token", str(grace))
    assert (result.exit_code, result.stderr) == (0, "case C-1: 1 lines, -3 clicks, billed in 2026-03\n")
    (written,) = read_adjustments(tables.settings)
    assert (written.requested_by, written.approved_by, written.delta_clicks) == ("ada", "grace", -3)
    again = _period(*asked, "--approver-token", str(grace), "--billing-period", "2026-02")
    assert (again.exit_code, len(read_adjustments(tables.settings))) == (1, 1)
    assert "it was adjusted before; billing period 2026-02 is closed" in again.stderr
