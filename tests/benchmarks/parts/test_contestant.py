"""A contestant's process: answers, errors, and CPU that is counted wherever in its tree it was spent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from parts.contestant import Contestant, ContestantError

BURN = "import time\nwhile time.process_time() < {seconds}: pass"
WORKER = f"""
import subprocess, sys
from parts.worker import serve

def run(job):
    print("an engine talks")
    subprocess.run(["echo", "so does its child"])
    if job["what"] == "child":
        subprocess.run([sys.executable, "-c", {BURN.format(seconds=0.5)!r}], check=True)
    return {{"counted": 3 // job["by"]}}

serve(run)
"""


@pytest.fixture
def contestant(tmp_path: Path) -> Iterator[Contestant]:
    with Contestant("example", [sys.executable, "-c", WORKER], tmp_path / "log") as running:
        yield running


def test_answers_are_not_mixed_with_what_engines_print(contestant: Contestant, tmp_path: Path) -> None:
    answers = [contestant.run({"what": "nothing", "by": by}).answer for by in (1, 3)]
    assert answers == [{"counted": 3}, {"counted": 1}]
    assert (tmp_path / "log").read_text().count("so does its child") == len(answers)


def test_cpu_of_a_child_that_has_ended_is_counted(contestant: Contestant) -> None:
    """A JVM starts short-lived processes, and a job may end a whole cluster."""
    contestant.run({"what": "nothing", "by": 1})
    quiet = contestant.run({"what": "nothing", "by": 1})
    busy = contestant.run({"what": "child", "by": 1})
    assert busy.cpu_seconds - quiet.cpu_seconds >= 0.4
    assert busy.wall_seconds >= 0.4
    assert busy.resident_mib > 0


def test_a_run_that_fails_shows_the_end_of_the_log(contestant: Contestant) -> None:
    with pytest.raises(ContestantError, match=r"(?s)example ended with code 1; .*ZeroDivisionError"):
        contestant.run({"what": "nothing", "by": 0})


def test_a_contestant_that_never_started_says_so(tmp_path: Path) -> None:
    with (
        Contestant("example", [sys.executable, "-c", "exit(7)"], tmp_path / "log") as ended,
        pytest.raises(ContestantError, match="example ended with code 7"),
    ):
        ended.run({})


def test_no_process_is_left(tmp_path: Path) -> None:
    with Contestant("example", [sys.executable, "-c", WORKER], tmp_path / "log") as running:
        running.run({"what": "nothing", "by": 1})
        children = psutil.Process().children()
        assert children
    assert not any(child.is_running() for child in children)
