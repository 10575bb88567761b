"""``tallystick generate`` passes on what was asked for, and refuses before anything is sent."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app, load_command
from domain.settings import Settings
from tests.support.click_process import environment
from tests.support.ports import free_broker_port
from traffic.options import Shares
from traffic.truth import load_truth

RANGE = ("--from", "2026-03-01T09:00Z", "--hours", "2")


def _generate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["generate", "--clicks", "300", *arguments])


@pytest.fixture
def nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TALLYSTICK_BROKER_PORT", str(free_broker_port()))
    return tmp_path


def test_every_share_has_an_option_that_shows_its_default() -> None:
    options = {parameter.name: parameter for parameter in load_command("generate").params}
    assert {share.name: options[share.name].show_default for share in fields(Shares)} == {
        share.name: str(share.default) for share in fields(Shares)
    }


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(("--until", "2026-03-01T09:00"), "a UTC instant such as", id="no zone"),
        pytest.param(("--until", "2999-03-01T09:00Z"), "an end that has come", id="in the future"),
        pytest.param((*RANGE, "--until", "2026-03-01T11:00Z"), "leave one out", id="three of three"),
        pytest.param((*RANGE, "--late", "0.6", "--out-of-order", "0.6"), "sum up to 1", id="shares"),
        pytest.param((*RANGE, "--ads", "3"), "advertisers is 8", id="advertisers without ads"),
        pytest.param((*RANGE, "--via-http", "localhost"), "an address like", id="address"),
        pytest.param((*RANGE, "--after", "absent.json"), "absent.json cannot be read", id="no earlier truth"),
        pytest.param((*RANGE, "--truth", "."), "is a folder", id="truth is a folder"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(
    nobody_listens: Path, arguments: tuple[str, ...], named: str
) -> None:
    result = _generate(*arguments)
    assert result.exit_code == 2
    assert named in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (nobody_listens / "home" / "ads.jsonl").exists()


def test_no_broker_is_one_line(nobody_listens: Path) -> None:
    result = _generate(*RANGE, "--truth", str(nobody_listens / "truth.json"))
    assert result.exit_code == 1
    assert "start `tallystick broker`" in result.stderr
    assert not (nobody_listens / "truth.json").exists()


@pytest.mark.broker
def test_a_run_prints_and_writes_what_must_be_counted(
    log_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(log_settings).items():
        monkeypatch.setenv(name, value)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    result = _generate(*RANGE, "--seed", "3", "--plain", "--late", "0.1", "--truth", str(first))
    assert result.exit_code == 0, result.output
    truth = load_truth(first)
    assert truth.options["shares"] == {**{share.name: 0.0 for share in fields(Shares)}, "late": 0.1}
    assert truth.totals()["billable"] == truth.totals()["records"] == 300
    assert truth.totals()["late"] > 10
    printed = {
        line.split("│")[1].strip(): line.split("│")[2].strip() for line in result.stdout.splitlines() if "│" in line
    }
    assert printed["billable"] == "300"
    assert printed["late"] == str(truth.totals()["late"])
    assert "other clicks were in the log before" not in result.stderr
    assert "other clicks were in the log before" in _generate(*RANGE, "--seed", "4").stderr
    result = _generate(*RANGE, "--seed", "5", "--after", str(first), "--truth", str(second))
    assert load_truth(second).earlier_runs == (truth.run_id,)
