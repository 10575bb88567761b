"""The op of maintenance, as far as the command that it launches; no engine is started."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from assets.command_line import CommandLine
from assets.maintenance import maintain_tables


class Recorder(CommandLine):
    """Writes down what would be run; one table's writer is at work, if so said."""

    folder: str
    is_busy: bool

    def run(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, *arguments: str) -> str:
        del context
        (Path(self.folder) / "command").write_text("\n".join(arguments), encoding="utf-8")
        return json.dumps({"tables": [{"table": "raw_clicks", "deleted_partitions": 0, "is_busy": self.is_busy}]})


@pytest.mark.parametrize("is_busy", [False, True], ids=["free", "busy"])
def test_a_run_is_one_command_and_warns_of_what_was_left_out(
    tmp_path: Path, is_busy: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    job = dg.GraphDefinition("once", node_defs=[maintain_tables]).to_job(
        resource_defs={"command_line": Recorder(folder=str(tmp_path), is_busy=is_busy)}
    )
    result = job.execute_in_process(raise_on_error=False)
    arguments = (tmp_path / "command").read_text(encoding="utf-8").splitlines()
    assert arguments == ["maintain", "--actor", f"dagster:{result.run_id}"]
    assert result.success
    assert ("left out, since their writer is at work: raw_clicks" in capfd.readouterr().err) is is_busy
