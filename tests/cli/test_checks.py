"""What doctor looks at: each fault is found, named, and comes with the line that mends it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cli.checks import (
    check_broker,
    check_disk,
    check_jars,
    check_java,
    check_ports,
    check_python,
    check_settings,
    listener_of,
)
from cli.jars import REPOSITORY
from domain.settings import Settings

LISTEN = (
    "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
)


@contextmanager
def _listening(*arguments: str) -> Iterator[tuple[int, int]]:
    """Process and port of another Python, from outside this repository; ``arguments`` are seen in its command line."""
    command = [Path(sys.base_prefix) / "bin" / "python3", "-c", LISTEN, *arguments]
    with subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.terminate()


def test_python_and_java_of_this_machine_are_fine() -> None:
    assert [check_python().remedy, check_java().remedy] == [None, None]


def test_no_java_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = check_java()
    assert str(tmp_path) in finding.found
    assert "JAVA_HOME" in (finding.remedy or "")


def test_jar_faults_are_cut_short(tmp_path: Path) -> None:
    finding = check_jars(tmp_path, {f"spark/{name}.jar": "00" for name in "abcde"})
    assert finding.found == "spark/a.jar is missing; spark/b.jar is missing; spark/c.jar is missing and 2 more"
    assert finding.remedy == "run `make setup`"


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_GRACE_SECONDS", "-1")
    settings, finding = check_settings()
    assert settings is None
    assert finding.found == "setting grace_seconds is '-1'"
    assert "from 0 to 86400" in (finding.remedy or "")


def test_a_home_that_does_not_exist_yet_is_fine(tmp_path: Path) -> None:
    finding = check_disk(tmp_path / "a" / "b")
    assert str(tmp_path) in finding.found
    assert finding.remedy is None


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.checks.LEAST_FREE_BYTES", 1024**6)
    assert "TALLYSTICK_HOME" in (check_disk(tmp_path).remedy or "")


def test_nobody_listens_on_a_free_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert listener_of(port) is None


def test_a_strangers_port_names_process_and_setting(tmp_path: Path) -> None:
    with _listening() as (pid, port):
        settings = Settings(home=tmp_path, kafka_bootstrap="127.0.0.1:1", metrics_port=port)
        finding = next(one for one in check_ports(settings) if one.subject == f"port {port}")
    assert f"taken by process {pid}" in finding.found
    assert finding.remedy == "end that process, or set TALLYSTICK_METRICS_PORT to a free one"


def test_our_own_port_is_no_fault(tmp_path: Path) -> None:
    with _listening(str(REPOSITORY / "cli")) as (pid, port):
        settings = Settings(home=tmp_path, click_port=port)
        finding = next(one for one in check_ports(settings) if one.subject == f"port {port}")
    assert (finding.found, finding.remedy) == (f"ours, process {pid} (click_port)", None)


def test_ports_of_an_embedded_broker_are_two_and_of_another_none(tmp_path: Path) -> None:
    embedded = [one.subject for one in check_ports(Settings(home=tmp_path, broker_port=40_001))]
    other = [one.subject for one in check_ports(Settings(home=tmp_path, kafka_bootstrap="127.0.0.1:1"))]
    assert {"port 40001", "port 40002"} <= set(embedded)
    assert len(other) == len(embedded) - 2


def test_an_embedded_broker_that_is_not_started_is_no_fault(tmp_path: Path) -> None:
    finding = check_broker(Settings(home=tmp_path))
    assert "not running" in finding.found
    assert finding.remedy is None


@pytest.mark.broker
def test_a_log_that_is_right_is_fine_and_a_wrong_topic_is_named(log_settings: Settings) -> None:
    assert check_broker(log_settings).remedy is None
    longer = replace(log_settings, final_horizon_days=30)
    finding = check_broker(longer)
    assert f"topic {longer.clicks_topic} has retention.ms=" in finding.found
    assert "--mend-topics" in (finding.remedy or "")
