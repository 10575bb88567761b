"""The process of the metrics API: one clear line if it cannot listen, an end when it is told to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from domain.settings import Settings
from services.listening import ListenError
from services.metrics.server import run_metrics_api
from tests.support.ports import free_port

UP_SECONDS, DOWN_SECONDS = 120, 30
COMMAND = [sys.executable, "-c", "from cli.main import main; main()", "metrics"]


def test_a_busy_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(home=tmp_path, metrics_port=taken.getsockname()[1])
        with pytest.raises(ListenError, match="TALLYSTICK_METRICS_PORT"):
            run_metrics_api(settings)


@contextmanager
def _process(home: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"TALLYSTICK_HOME": str(home), "TALLYSTICK_METRICS_PORT": str(port)}
    with subprocess.Popen(COMMAND, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_until_up(port: int) -> None:
    deadline = time.monotonic() + UP_SECONDS
    while time.monotonic() < deadline:
        try:
            assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        except httpx.TransportError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("the metrics API did not come up")


def test_the_command_serves_and_stops_without_a_traceback(tmp_path: Path) -> None:
    """It starts before anything was counted, too."""
    port = free_port()
    with _process(tmp_path, port) as process:
        _wait_until_up(port)
        assert httpx.get(f"http://127.0.0.1:{port}/v1/ads/metrics").status_code == 401
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=DOWN_SECONDS)
    assert "Traceback" not in complaint
