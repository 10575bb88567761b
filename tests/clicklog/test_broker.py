"""The embedded broker: it keeps what it acknowledged, ends with us, and says why it does not start."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import clicklog.broker
from clicklog.broker import BrokerError, BrokerRunningError, running_broker, start_broker
from clicklog.java import JavaMissingError
from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import ensure_topics, topic_id
from domain.settings import Settings
from tests.support.ports import free_broker_port

pytestmark = pytest.mark.broker
WAIT_SECONDS = 60


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "a home, with comma", broker_port=free_broker_port(), clicks_partitions=1)


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def _log(settings: Settings) -> Path:
    return settings.home / "logs" / "broker.log"


def test_what_was_acknowledged_outlives_the_broker(settings: Settings) -> None:
    heard: list[str] = []
    assert running_broker(settings) is None
    with start_broker(settings, heard.append) as first:
        assert running_broker(settings) == first.pid
        with pytest.raises(BrokerRunningError, match=rf"already runs \(process {first.pid}\)") as caught:
            start_broker(settings)
        assert caught.value.pid == running_broker(settings) == first.pid
        ensure_topics(settings)
        log_id = topic_id(settings, "clicks")
        producer = ClickProducer(settings)
        producer.send(b"k", b"v")
        producer.flush(10)
    assert running_broker(settings) is None
    with start_broker(settings, heard.append):
        assert topic_id(settings, "clicks") == log_id
        assert end_offsets(settings, "clicks") == {0: 1}
    assert [line.split()[0] for line in heard] == ["formatting", "starting", "starting"]


def test_a_broker_that_ends_by_itself_is_noticed(settings: Settings) -> None:
    with start_broker(settings) as running:
        running.check()
        os.kill(running.pid, signal.SIGKILL)
        _wait_until(lambda: running_broker(settings) is None)
        with pytest.raises(BrokerError, match="ended by itself with code -9"):
            running.check()


def test_storage_of_another_broker_is_refused_with_the_end_of_the_log(settings: Settings) -> None:
    data = settings.home / "broker" / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=TbIBq5vYQnaYCXOYSJ2pBg\n")
    with pytest.raises(BrokerError, match="ended by itself with code 1") as caught:
        start_broker(settings)
    assert f"read {_log(settings)}, which ends" in caught.value.remedy
    assert "Stored node id 7 doesn't match" in caught.value.remedy
    assert running_broker(settings) is None


@pytest.mark.parametrize("neighbour", [0, 1], ids=["broker", "controller"])
def test_a_busy_port_is_named(settings: Settings, neighbour: int) -> None:
    port = settings.broker_port + neighbour
    refusal = pytest.raises(BrokerError, match=f"port {port} of 127.0.0.1.*Address already in use")
    with socket.create_server(("127.0.0.1", port)), refusal as caught:
        start_broker(settings)
    assert "TALLYSTICK_BROKER_PORT" in caught.value.remedy
    assert running_broker(settings) is None


def test_the_last_port_leaves_none_for_the_controller(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match="port 65536"):
        start_broker(Settings(home=tmp_path, broker_port=65_535))


def test_a_full_disk_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clicklog.broker, "LEAST_FREE_BYTES", 2**60)
    with pytest.raises(
        BrokerError, match=r"\d+ MiB free on the disk of .*a home, with comma; expected at least \d+ MiB"
    ):
        start_broker(settings)


def test_a_home_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokerError, match="file/home cannot be written: Not a directory"):
        start_broker(Settings(home=tmp_path / "file" / "home"))


def test_no_java_is_said_before_anything_is_written(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(JavaMissingError):
        start_broker(settings)
    assert not settings.home.exists()


@dataclass(frozen=True)
class _WithoutJars(Settings):
    @property
    def jars_path(self) -> Path:
        return self.home / "no jars"


def test_missing_jars_are_said(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"no broker jars in .*; run `make setup`"):
        start_broker(_WithoutJars(home=tmp_path))


STARTER = """
import sys, time
from pathlib import Path
from clicklog.broker import start_broker
from domain.settings import Settings
broker = start_broker(Settings(home=Path(sys.argv[1]), broker_port=int(sys.argv[2])))
print(broker.pid, flush=True)
time.sleep(float(sys.argv[3]))
"""


def _starter(settings: Settings, lives_seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STARTER, str(settings.home), str(settings.broker_port), str(lives_seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_the_broker_ends_with_the_process_that_started_it(settings: Settings) -> None:
    with _starter(settings, lives_seconds=0) as starter:
        assert re.fullmatch(r"\d+\n", starter.communicate(timeout=WAIT_SECONDS)[0])
    assert starter.returncode == 0
    assert running_broker(settings) is None


def test_a_broker_whose_starter_was_killed_is_still_known(settings: Settings) -> None:
    with _starter(settings, lives_seconds=WAIT_SECONDS) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()
    assert running_broker(settings) == pid
    with pytest.raises(BrokerRunningError, match=f"kill {pid}"):
        start_broker(settings)
    os.kill(pid, signal.SIGTERM)
    _wait_until(lambda: running_broker(settings) is None)
