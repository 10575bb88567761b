"""The environment of the Flink peer: PyFlink in a virtual environment of its own, and the jar of its Kafka connector.

Belongs here: setting both up when they are missing, and the command that starts the peer in them. PyFlink does not fit
beside our packages (it holds Arrow, pandas and protobuf at older versions), so it never enters ``.venv``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from cli.console import note, working
from cli.jars import CACHE, fetch_jars, jar_faults, read_sums
from clicklog.java import find_java
from domain.errors import TallystickError
from domain.settings import Settings

PINS = Path(__file__).resolve().parent / "flink_pins"
CONSTRAINTS = PINS / "constraints.txt"
HOME = CACHE / "flink"
HEAP = "-Xmx{mib}m"
MARK_DIGITS = 16


class FlinkSetupError(TallystickError):
    """The environment of the Flink peer could not be made."""


def flink_command(settings: Settings, ivy_settings: Path | None, home: Path) -> list[str | Path]:
    """What starts the peer, set up first if it is missing; it logs into ``home``. Its heap is that of our driver.

    The first set-up downloads several hundred MB. ``FlinkSetupError`` or ``JarsError`` if it fails.
    """
    java = find_java()
    python = ensure_packages(HOME)
    jars = ensure_jar(java, HOME, ivy_settings)
    variables = {
        "JAVA_HOME": java.resolve().parent.parent,
        "JVM_ARGS": HEAP.format(mib=settings.spark_driver_heap_mib),
        "FLINK_LOG_DIR": home,
        "ROOT_LOG_LEVEL": "WARN",
    }
    return ["env", *(f"{name}={value}" for name, value in variables.items()), python, "-m", "peers.flink", jars]


def ensure_packages(home: Path) -> Path:
    """The Python that has exactly the pinned packages, made anew if it is missing, half made or of other pins."""
    python, done = home / "venv" / "bin" / "python", completion_mark(home)
    if done.exists():
        return python
    note("Flink is set up for the benchmark: the first time it downloads several hundred MB")
    shutil.rmtree(home / "venv", ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    with working("installing PyFlink"), (home / "pip.log").open("wb") as log:
        for command in (
            [sys.executable, "-m", "venv", home / "venv"],
            [python, "-m", "pip", "install", "--requirement", CONSTRAINTS],
        ):
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
            if code:
                raise FlinkSetupError(
                    f"setting up PyFlink ended with code {code}",
                    "code 0",
                    f"read the end of {home / 'pip.log'}, mend it and run the benchmark again",
                )
    done.touch()
    return python


def ensure_jar(java: Path, home: Path, ivy_settings: Path | None) -> Path:
    """The folder of the connector's jar, fetched and checked as the product's jars are."""
    jars = home / "jars"
    if jar_faults(jars, read_sums(PINS / "sha256sums.txt")):
        fetch_jars(java, jars, ivy_settings, PINS)
    return jars


def completion_mark(home: Path) -> Path:
    """The file that says that everything was installed by the pins of now."""
    digest = hashlib.sha256(CONSTRAINTS.read_bytes()).hexdigest()
    return home / "venv" / f"complete-{digest[:MARK_DIGITS]}"
