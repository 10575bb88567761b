"""The case of a run by its tags, as far as the command that it launches; no engine is started."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.cases import CASE_TAG, REASON_TAG, case_arguments
from assets.command_line import CommandLine
from assets.finals import finals
from assets.late_revisions import late_revisions
from domain.buckets import parse_utc
from spark_jobs.params import HourReceipt, ReconcileReceipt

KEY = "2026-05-04T10:00Z"


class Recorder(CommandLine):
    """Writes down what would be run; every hour has to wait."""

    folder: str

    def run(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, *arguments: str) -> str:
        del context
        (Path(self.folder) / "command").write_text("\n".join(arguments), encoding="utf-8")
        waiting = HourReceipt(parse_utc(KEY), "blocked", reasons=("it waits",))
        return ReconcileReceipt((waiting,), None, None, 0.0).to_json()


@pytest.mark.parametrize(
    ("tags", "more"),
    [
        ({}, []),
        ({CASE_TAG: "C-7", REASON_TAG: "a dispute"}, ["--case", "C-7", "--reason", "a dispute"]),
        ({CASE_TAG: "C-7"}, ["--case", "C-7"]),
        ({REASON_TAG: "a dispute", "dagster/image": "x"}, ["--reason", "a dispute"]),
    ],
    ids=["none", "both", "no reason", "no case"],
)
def test_tags_become_arguments(tags: dict[str, str], more: list[str]) -> None:
    """Half a case is passed on, so that the command refuses it and nobody believes that there was one."""
    assert case_arguments("run-1", tags) == ["--actor", "dagster:run-1", *more]


def test_an_hour_is_materialised_under_the_case_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O19: the run and the case are in what is asked for."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    result = dg.materialize(
        [finals],
        partition_key=KEY,
        resources={"command_line": Recorder(folder=str(tmp_path))},
        tags={CASE_TAG: "C-7", REASON_TAG: "a dispute"},
        raise_on_error=False,
    )
    span = ["reconcile", "2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"]
    case = ["--actor", f"dagster:{result.run_id}", "--case", "C-7", "--reason", "a dispute"]
    assert (tmp_path / "command").read_text(encoding="utf-8").splitlines() == span + case
    assert not result.success


def test_late_revisions_are_one_command_and_fail_where_hours_wait(tmp_path: Path) -> None:
    @dg.job(resource_defs={"command_line": Recorder(folder=str(tmp_path))})
    def alone() -> None:
        late_revisions()

    result = alone.execute_in_process(raise_on_error=False)
    command = ["proposals", "apply", "--all", "--late-only", "--actor", f"dagster:{result.run_id}"]
    assert (tmp_path / "command").read_text(encoding="utf-8").splitlines() == command
    assert not result.success
