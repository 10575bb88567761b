"""Writer locks: a big table has one writing process at a time.

Belongs here: the lock, its fence, and the wait for a child process that outlived its holder. The lock is the kernel's
(``flock``), so a holder that is killed frees it; the file beside it says who holds it and keeps the fence.

A Spark driver is two processes, and the one that writes is not the one that takes the lock: when Python is killed, its
JVM may live long enough to finish a commit. So the holder notes its JVM, and the next holder waits for its end.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

import psutil

from domain.buckets import format_utc
from domain.errors import WriterBusyError
from domain.settings import Settings
from warehouse.clock import now

SEAL_LOCK = "reconcile"
"""Held by whoever seals, closes or adjusts: no seal appears between their look at the ledgers and what they append."""
STREAM_LOCK = "stream"
"""Held by whoever runs the streams: they write raw clicks, identities, quarantine, live counts and late clicks."""
POLL_SECONDS = 0.05
ASK_SECONDS = 1.0
"""``is_locked`` holds a lock for a moment; a writer that meets it tries again for this long before it gives up."""
CHILD_WAIT_SECONDS = 60.0
START_TOLERANCE_SECONDS = 5.0
"""The clock may be set between two looks at when a process was started; a process id is not reused that fast."""


@dataclass(frozen=True)
class Process:
    """A process id, and the start time that tells it from a later process with the same id."""

    pid: int
    started_unix_seconds: float


@dataclass(frozen=True)
class _State:
    """What stands in the file beside the lock. ``holder`` and ``child`` are the last ones, alive or not."""

    fence: int = 0
    since: str = ""
    holder: Process | None = None
    child: Process | None = None


class WriterLock:
    """A held lock. ``fence`` is higher than that of every holder before."""

    def __init__(self, path: Path, state: _State) -> None:
        self.fence = state.fence
        self._path = path
        self._state = state

    def record_child(self, pid: int) -> None:
        """Notes a process that may outlive this one and still write; the next holder waits until it is gone."""
        self._state = replace(self._state, child=_process(pid))
        _write_state(self._path, self._state)

    def _forget_child(self) -> None:
        self._state = replace(self._state, child=None)
        _write_state(self._path, self._state)


@contextmanager
def writer_lock(settings: Settings, name: str, wait_seconds: float = 0) -> Iterator[WriterLock]:
    """Holds the lock ``name``; waits up to ``wait_seconds`` for it, then up to a minute for a former holder's child.

    ``WriterBusyError`` names who holds it. Left by an exception, the noted child stays noted: it may still be writing.
    """
    folder = settings.home / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    state_path = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("a") as file:
        if not _acquire(file, max(wait_seconds, ASK_SECONDS)):
            raise _busy(name, state_path)
        former = _read_state(state_path)
        own_child = _await_child(name, former)
        state = _State(former.fence + 1, format_utc(now()), _process(os.getpid()), own_child)
        _write_state(state_path, state)
        lock = WriterLock(state_path, state)
        yield lock
        lock._forget_child()


def is_locked(settings: Settings, name: str) -> bool:
    """Whether a living process holds the lock. Waits for nothing, changes nothing."""
    path = settings.home / "locks" / f"{name}.lock"
    if not path.exists():
        return False
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _acquire(file: IO[str], wait_seconds: float) -> bool:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        else:
            return True


def _busy(name: str, state_path: Path) -> WriterBusyError:
    state = _read_state(state_path)
    if state.holder is not None and _is_alive(state.holder):
        pid = state.holder.pid
        return WriterBusyError(
            f"process {pid} holds the lock {name} since {state.since}",
            "no other writer of the same tables",
            f"wait until it ends, or stop it (kill {pid})",
        )
    return WriterBusyError(f"a process has just taken the lock {name}", "no other writer", "try again")


def _await_child(name: str, former: _State) -> Process | None:
    """Waits for what a former holder left behind; the child that is to stay noted, since it is this process's own."""
    if former.child is None:
        return None
    if former.holder is not None and former.holder.pid == os.getpid() and _is_alive(former.holder):
        return former.child
    deadline = time.monotonic() + CHILD_WAIT_SECONDS
    while _is_alive(former.child):
        if time.monotonic() >= deadline:
            pid = former.child.pid
            raise WriterBusyError(
                f"process {pid} still runs, started by the holder of the lock {name} since {former.since}",
                "no process of a former holder that could still write",
                f"wait until it ends, or stop it (kill {pid})",
            )
        time.sleep(POLL_SECONDS)
    return None


def _process(pid: int) -> Process:
    return Process(pid, psutil.Process(pid).create_time())


def _is_alive(noted: Process) -> bool:
    try:
        found = psutil.Process(noted.pid)
        is_same = abs(found.create_time() - noted.started_unix_seconds) <= START_TOLERANCE_SECONDS
        return is_same and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _read_state(path: Path) -> _State:
    if not path.exists():
        return _State()
    document = json.loads(path.read_text(encoding="utf-8"))
    processes = {key: Process(**document[key]) if document[key] else None for key in ("holder", "child")}
    return _State(**document | processes)


def _write_state(path: Path, state: _State) -> None:
    """Replaces the file in one step: a kill in the middle must not lose the fence."""
    fresh = path.with_suffix(".new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(asdict(state), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
