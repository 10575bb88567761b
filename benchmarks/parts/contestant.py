"""A contestant: a process that stays warm from run to run, and what each of its runs cost.

Belongs here: starting it, asking it for a run, wall time, CPU and memory of its whole process tree. A process each,
because only then is CPU that is spent by a JVM's compiler and collector counted, and counted to the right one.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from domain.errors import TallystickError

BENCHMARKS = Path(__file__).resolve().parent.parent
STOP_TIMEOUT_SECONDS = 30
SHOWN_LOG_LINES = 20
MIB = 1 << 20


class ContestantError(TallystickError):
    """A contestant's process ended, or did not answer."""


@dataclass(frozen=True)
class Run:
    """One run. ``cpu_seconds`` is user and system time of the process and all its children, dead ones too."""

    wall_seconds: float
    cpu_seconds: float
    resident_mib: int
    answer: dict[str, Any]


def tree_cpu_seconds(pid: int) -> float:
    """CPU that a process and its descendants have used so far, those that ended and were waited for included."""
    times = [process.cpu_times() for process in _tree(pid)]
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def tree_resident_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants."""
    return sum(process.memory_info().rss for process in _tree(pid))


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    found = []
    for process in [root, *root.children(recursive=True)]:
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


class Contestant:
    """A running process that ``command`` starts in ``benchmarks/``. A context manager: leaving it ends the process.

    What the process prints goes to ``log``.
    """

    def __init__(self, name: str, command: Sequence[str | Path], log: Path) -> None:
        self.name, self._log = name, log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                cwd=BENCHMARKS,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                # Linux shares the cores among sessions first. Spark's JVM is in one of its own, so the others are too.
                start_new_session=True,
            )

    def run(self, job: dict[str, Any]) -> Run:
        """One run, measured from the asking to the answer. ``ContestantError`` with the end of its log if it failed."""
        started_at, cpu_before = time.perf_counter(), tree_cpu_seconds(self._process.pid)
        answer = self._ask(json.dumps(job))
        wall_seconds = time.perf_counter() - started_at
        cpu_seconds = tree_cpu_seconds(self._process.pid) - cpu_before
        resident_mib = round(tree_resident_bytes(self._process.pid) / MIB)
        return Run(wall_seconds, cpu_seconds, resident_mib, answer)

    def _ask(self, line: str) -> dict[str, Any]:
        if self._process.stdin is None or self._process.stdout is None:
            raise ContestantError(f"{self.name} has no pipes", "a process with both", "start it with pipes")
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None
        answer = self._process.stdout.readline()
        if not answer:
            raise self._failed()
        return dict(json.loads(answer))

    def _failed(self) -> ContestantError:
        code = self._process.wait(STOP_TIMEOUT_SECONDS)
        with self._log.open(encoding="utf-8", errors="replace") as file:
            last = "".join(deque(file, SHOWN_LOG_LINES))
        return ContestantError(f"{self.name} ended with code {code}", "an answer", f"its log ends:\n{last}")

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Its end of input is its sign to end; if it does not, it is killed."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # it has ended already, and did not read its last job
                self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
