"""The environment of the drift library that quality is compared with: Evidently, in a virtual environment of its own.

Belongs here: setting it up when it is missing, and starting the peer in it. It never enters ``.venv``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.console import note, working
from cli.jars import CACHE
from domain.errors import TallystickError

PEERS = Path(__file__).resolve().parent
CONSTRAINTS = PEERS / "evidently_pins" / "constraints.txt"
HOME = CACHE / "evidently"
MARK_DIGITS = 16


class EvidentlyError(TallystickError):
    """The environment of the Evidently peer could not be made, or what ran in it failed."""


def is_ready(home: Path = HOME) -> bool:
    """Whether the environment has what is pinned now."""
    return completion_mark(home).exists()


def completion_mark(home: Path) -> Path:
    """The file that says that everything was installed by the pins of now."""
    digest = hashlib.sha256(CONSTRAINTS.read_bytes()).hexdigest()
    return home / "venv" / f"complete-{digest[:MARK_DIGITS]}"


def ensure_packages(home: Path = HOME) -> Path:
    """The Python that has exactly the pinned packages, made anew if it is missing, half made or of other pins."""
    python = home / "venv" / "bin" / "python"
    if is_ready(home):
        return python
    note("Evidently is set up for the benchmark: the first time it downloads some hundred MB")
    shutil.rmtree(home / "venv", ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    with working("installing Evidently"), (home / "pip.log").open("wb") as log:
        for command in (
            [sys.executable, "-m", "venv", home / "venv"],
            [python, "-m", "pip", "install", "--requirement", CONSTRAINTS],
        ):
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
            if code:
                raise EvidentlyError(
                    f"setting up Evidently ended with code {code}",
                    "code 0",
                    f"read the end of {home / 'pip.log'}, mend it and run the benchmark again",
                )
    completion_mark(home).touch()
    return python


def drifted(python: Path, folder: Path, windows: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What Evidently says of each window, a name for which ``folder`` has two files; see ``evidently_windows.py``."""
    script = PEERS / "evidently_windows.py"
    done = subprocess.run(
        [python, script, folder, *windows], capture_output=True, text=True, check=False, env={"DO_NOT_TRACK": "1"}
    )
    if done.returncode:
        raise EvidentlyError(
            f"Evidently ended with code {done.returncode}: {done.stderr[-300:]}", "code 0", f"run {script} by hand"
        )
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found
