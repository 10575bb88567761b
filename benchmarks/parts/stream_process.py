"""`tallystick stream` as people run it: a process of its own, beside the benchmark.

Belongs here: its settings as a file in its home, its start and its end.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from domain.settings import Settings

STOP_TIMEOUT_SECONDS = 120
RUN_STREAM = "from cli.main import main; main()"


@contextmanager
def stream_process(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A running stream on this home's broker; asked to end at the end, and killed if it does not."""
    (settings.home / "tallystick.toml").write_text(
        f"broker_port = {settings.broker_port}\nmax_batch_events = {settings.max_batch_events}\n", encoding="utf-8"
    )
    command = ["env", f"TALLYSTICK_HOME={settings.home}", sys.executable, "-c", RUN_STREAM, "stream"]
    with (settings.home / "stream.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
