"""The op that tells: the runs from the instance, the rest by one command; no engine is started."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from assets.alerts import send_alerts
from assets.command_line import CommandLine
from domain.settings import Settings
from warehouse.alerts import read_alert_log


class Recorder(CommandLine):
    """Writes down what would be run, and says how many messages were not taken."""

    folder: str
    failed_count: int

    def run(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, *arguments: str) -> str:
        del context
        (Path(self.folder) / "command").write_text(" ".join(arguments), encoding="utf-8")
        return json.dumps({"step_count": 0, "sent_count": 0, "failed_count": self.failed_count, "waiting_count": 0})


@pytest.mark.parametrize("failed_count", [0, 1])
def test_failed_runs_are_written_down_and_the_rest_is_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed_count: int
) -> None:
    settings = Settings(home=tmp_path / "home")
    monkeypatch.setenv("TALLYSTICK_HOME", str(settings.home))
    job = dg.GraphDefinition("once", node_defs=[send_alerts]).to_job(
        resource_defs={"command_line": Recorder(folder=str(tmp_path), failed_count=failed_count)}
    )
    with dg.DagsterInstance.ephemeral() as instance:
        create_run_for_test(instance, job_name="maintain", status=dg.DagsterRunStatus.FAILURE)
        result = job.execute_in_process(instance=instance, raise_on_error=False)
    assert (tmp_path / "command").read_text(encoding="utf-8") == "alerts send"
    assert [(one.source, one.key, one.step) for one in read_alert_log(settings).steps] == [
        ("dagster", "failed maintain", "opened")
    ]
    assert result.success is (failed_count == 0)
