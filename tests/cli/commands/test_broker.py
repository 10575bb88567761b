"""``tallystick broker`` as people run it: one line when ready, a clean end, errors as one line."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from clicklog.broker import running_broker
from clicklog.topics import check_topics
from domain.settings import Settings
from tests.support.ports import free_broker_port

WAIT_SECONDS = 60


def _environment(settings: Settings) -> dict[str, str]:
    return {
        "TALLYSTICK_HOME": str(settings.home),
        "TALLYSTICK_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "TALLYSTICK_BROKER_PORT": str(settings.broker_port),
        "TALLYSTICK_CLICKS_TOPIC": settings.clicks_topic,
        "TALLYSTICK_EDGE_COUNTS_TOPIC": settings.edge_counts_topic,
        "TALLYSTICK_EDGE_WATERMARKS_TOPIC": settings.edge_watermarks_topic,
        "TALLYSTICK_FINAL_HORIZON_DAYS": str(settings.final_horizon_days),
    }


@pytest.mark.broker
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["terminated", "interrupted"])
def test_it_runs_until_it_is_told_to_stop(
    tmp_path: Path, stop: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path / "home", broker_port=free_broker_port())
    for name, value in _environment(settings).items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-c", "from cli.main import main; main()", "broker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"broker ready at {settings.bootstrap}\n"
        check_topics(settings)
        assert running_broker(settings) is not None
        process.send_signal(stop)
        out, err = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, out) == (0, "")
    assert "created topic clicks" in err
    assert running_broker(settings) is None


def test_it_is_not_started_beside_another_kafka(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", kafka_bootstrap="kafka.example:9092")
    done = CliRunner().invoke(app, ["broker"], env=_environment(settings))
    assert done.exit_code == 2
    assert "tallystick broker --topics" in done.stderr
    assert not settings.home.exists()


@pytest.mark.broker
def test_topics_are_prepared_on_any_kafka(log_settings: Settings) -> None:
    fresh = replace(log_settings, clicks_topic=f"{log_settings.clicks_topic}-2")
    done = CliRunner().invoke(app, ["broker", "--topics"], env=_environment(fresh))
    assert (done.exit_code, done.stderr) == (0, f"created topic {fresh.clicks_topic}\n")
    check_topics(fresh)


@pytest.mark.broker
def test_topics_that_are_wrong_are_named_and_mended_on_request(log_settings: Settings) -> None:
    longer = replace(log_settings, final_horizon_days=8)
    refused = CliRunner().invoke(app, ["broker", "--topics"], env=_environment(longer))
    assert refused.exit_code == 1
    assert "retention.ms=1209600000 (allowed: at least 1382400000" in refused.stderr
    mended = CliRunner().invoke(app, ["broker", "--mend-topics"], env=_environment(longer))
    assert mended.exit_code == 0
    assert "set to 1382400000" in mended.stderr
    check_topics(longer)
