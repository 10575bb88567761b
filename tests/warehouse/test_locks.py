"""Writer locks between real processes: busy, freed by a kill, and the wait for a child that outlives its holder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from domain.errors import WriterBusyError
from domain.settings import Settings
from warehouse.locks import WriterLock, is_locked, writer_lock

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import subprocess, sys
from pathlib import Path
from domain.settings import Settings
from warehouse.locks import writer_lock

home, child_seconds = sys.argv[1:]
with writer_lock(Settings(home=Path(home)), "stream") as lock:
    child = subprocess.Popen(["sleep", child_seconds], stdout=subprocess.DEVNULL)
    lock.record_child(child.pid)
    print(lock.fence, child.pid, flush=True)
    if sys.stdin.readline() == "fail":
        raise KeyboardInterrupt
"""


class Holder:
    """A process that holds the lock ``stream`` and has noted a child that lives for so many seconds."""

    def __init__(self, settings: Settings, child_seconds: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(settings.home), str(child_seconds)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.fence, self.child_pid = (int(word) for word in self._process.stdout.readline().split())
        self.pid = self._process.pid

    def kill(self) -> None:
        """As the kernel would out of memory: nothing of the holder runs any more, its child does."""
        self._process.kill()
        self._process.communicate()

    def leave(self, how: str = "") -> None:
        """Ends the holder in good order, or by an exception if ``how`` is ``fail``."""
        self._process.communicate(how)

    def end_child(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.child_pid, signal.SIGKILL)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def hold(settings: Settings) -> Iterator[Callable[[float], Holder]]:
    holders: list[Holder] = []

    def start(child_seconds: float) -> Holder:
        holders.append(Holder(settings, child_seconds))
        return holders[-1]

    yield start
    for holder in holders:
        holder.kill()
        holder.end_child()


def _fail_with_child(lock: WriterLock, fence: int, child_pid: int) -> None:
    assert lock.fence == fence
    lock.record_child(child_pid)
    raise ZeroDivisionError


def _take(settings: Settings, name: str = "stream", wait_seconds: float = 0) -> int:
    with writer_lock(settings, name, wait_seconds) as lock:
        return lock.fence


def test_the_fence_counts_up(settings: Settings) -> None:
    assert [_take(settings) for _ in range(3)] == [1, 2, 3]
    assert _take(settings, "reconcile") == 1


def test_a_lock_is_seen_while_it_is_held(settings: Settings) -> None:
    assert not is_locked(settings, "stream")
    with writer_lock(settings, "stream"):
        assert is_locked(settings, "stream")
        assert not is_locked(settings, "reconcile")
    assert not is_locked(settings, "stream")


def test_to_ask_creates_nothing(settings: Settings) -> None:
    assert not is_locked(settings, "stream")
    assert not settings.home.exists()


def test_a_busy_lock_names_its_holder(settings: Settings, hold: Callable[[float], Holder]) -> None:
    holder = hold(60)
    with pytest.raises(WriterBusyError, match=rf"process {holder.pid} holds the lock stream since 20\d\d-.*Z;") as busy:
        _take(settings)
    assert f"kill {holder.pid}" in busy.value.remedy
    assert busy.value.is_transient


def test_threads_of_one_process_exclude_each_other(settings: Settings) -> None:
    with writer_lock(settings, "stream"), pytest.raises(WriterBusyError, match=f"process {os.getpid()} holds"):
        _take(settings)
    assert _take(settings) == 2


def test_a_writer_can_wait(settings: Settings) -> None:
    entered: list[int] = []
    with writer_lock(settings, "stream"):
        waiter = Thread(target=lambda: entered.append(_take(settings, wait_seconds=30)))
        waiter.start()
        time.sleep(0.3)
        assert entered == []
    waiter.join(30)
    assert entered == [2]


def test_asking_whether_it_is_held_keeps_nobody_out(settings: Settings) -> None:
    _take(settings)
    is_over = False

    def ask() -> None:
        while not is_over:
            is_locked(settings, "stream")

    asker = Thread(target=ask)
    asker.start()
    fences = [_take(settings) for _ in range(50)]
    is_over = True
    asker.join(30)
    assert fences == list(range(2, 52))


def test_a_killed_holder_frees_it_and_the_fence_survives(settings: Settings, hold: Callable[[float], Holder]) -> None:
    fences = []
    for _ in range(3):
        holder = hold(0)
        fences.append(holder.fence)
        holder.kill()
    assert fences == [1, 2, 3]
    assert _take(settings) == 4


def test_the_next_holder_waits_for_the_child_of_a_killed_one(
    settings: Settings, hold: Callable[[float], Holder]
) -> None:
    """A Spark driver's JVM may finish a commit after its Python is dead; until it is gone nobody else may write."""
    holder = hold(60)
    holder.kill()
    assert not is_locked(settings, "stream")
    entered: list[int] = []
    waiter = Thread(target=lambda: entered.append(_take(settings)))
    waiter.start()
    time.sleep(0.5)
    assert entered == []
    assert is_locked(settings, "stream")
    holder.end_child()
    waiter.join(30)
    assert entered == [2]


def test_the_wait_for_a_child_is_bounded(
    settings: Settings, hold: Callable[[float], Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.locks.CHILD_WAIT_SECONDS", 0.3)
    holder = hold(60)
    holder.kill()
    for _ in range(2):
        with pytest.raises(WriterBusyError, match=f"process {holder.child_pid} still runs.*kill {holder.child_pid}"):
            _take(settings)
    holder.end_child()
    assert _take(settings) == 2


def test_a_holder_that_failed_leaves_its_child_noted(
    settings: Settings, hold: Callable[[float], Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.locks.CHILD_WAIT_SECONDS", 0.3)
    hold(60).leave("fail")
    with pytest.raises(WriterBusyError, match="still runs"):
        _take(settings)


def test_a_holder_that_ended_in_order_has_no_child_to_wait_for(
    settings: Settings, hold: Callable[[float], Holder]
) -> None:
    hold(60).leave()
    assert _take(settings) == 2


def test_own_children_are_not_waited_for(settings: Settings) -> None:
    """A process that failed under the lock and tries again goes on with the JVM it has."""
    child = subprocess.Popen(["sleep", "60"])
    try:
        for fence in (1, 2):
            with pytest.raises(ZeroDivisionError), writer_lock(settings, "stream") as lock:
                _fail_with_child(lock, fence, child.pid)
    finally:
        child.kill()
        child.wait()


def test_another_process_with_the_number_of_a_child_is_not_waited_for(settings: Settings) -> None:
    """Process ids come round again; the start time tells which process was meant."""
    _take(settings)
    path = settings.home / "locks" / "stream.json"
    state = json.loads(path.read_text())
    gone = {"pid": os.getpid(), "started_unix_seconds": 1_000.0}
    path.write_text(json.dumps(state | {"holder": gone, "child": gone}))
    assert _take(settings) == 2
