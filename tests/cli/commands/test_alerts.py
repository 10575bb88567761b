"""``tallystick alerts``: what is listed, what is sent, and that a test message is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.settings import Settings
from quality.alerting import Look, record_looks
from tests.domain.test_alerts import AT, CAUSE, TICK
from tests.support.empty_tables import make_empty_tables
from tests.support.ports import free_port
from tests.support.webhooks import SECRET, webhook
from warehouse.alerts import read_alert_log


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An installation whose log does not answer, with one alert that is open."""
    found = Settings(home=tmp_path / "home", kafka_bootstrap=f"127.0.0.1:{free_port()}")
    monkeypatch.setenv("TALLYSTICK_HOME", str(found.home))
    monkeypatch.setenv("TALLYSTICK_KAFKA_BOOTSTRAP", found.kafka_bootstrap)
    monkeypatch.setenv("TALLYSTICK_ALERT_WEBHOOK_FILE", "webhook")
    make_empty_tables(found)
    record_looks(found, [Look("verdicts", [CAUSE])], AT)
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["alerts", *arguments])


def test_open_alerts_are_listed_and_resolved_ones_on_demand(settings: Settings) -> None:
    listed = run("list")
    assert listed.exit_code == 0
    assert all(text in listed.stdout for text in ("conservation", "9 clicks", "waits", CAUSE.see))
    record_looks(settings, [Look("verdicts", [])], AT + TICK)
    assert "conservation" not in run("list").stdout
    (line,) = run("list", "--all", "--json").stdout.splitlines()
    assert (json.loads(line)["step"], json.loads(line)["rule"]) == ("resolved", "conservation")


def test_a_run_looks_sends_and_leaves_a_receipt(settings: Settings, tmp_path: Path) -> None:
    """The alert of before is over; that the log does not answer is a new one."""
    receipt = tmp_path / "receipt.json"
    with webhook() as hook:
        hook.configured(settings)
        done = run("send", "--receipt", str(receipt))
    assert done.exit_code == 0
    assert [(one["rule"], one["source"]) for one in hook.messages] == [("can be looked at", "servers unknown")]
    assert json.loads(receipt.read_text(encoding="utf-8")) == {
        "step_count": 2,
        "sent_count": 1,
        "failed_count": 0,
        "waiting_count": 0,
    }
    assert SECRET not in done.output


def test_a_webhook_that_refuses_fails_the_run_and_is_listed(settings: Settings) -> None:
    with webhook(404) as hook:
        hook.configured(settings)
        assert run("send").exit_code == 1
    assert "1 messages were not taken" in run("list").stderr


def test_a_test_message_is_sent_and_written_down_nowhere(settings: Settings) -> None:
    before = read_alert_log(settings).steps
    with webhook() as hook:
        hook.configured(settings)
        assert run("test").exit_code == 0
    assert [one["rule"] for one in hook.messages] == ["test"]
    assert read_alert_log(settings).steps == before


def test_without_a_webhook_a_test_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TALLYSTICK_ALERT_WEBHOOK_FILE")
    refused = run("test")
    assert refused.exit_code == 2
    assert "alert_webhook_file" in refused.stderr
