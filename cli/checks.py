"""What ``tallystick doctor`` looks at: one function a subject, each returning findings. Nothing is changed.

Belongs here: looking at this computer. How the findings are shown is ``cli/commands/doctor.py``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from cli.jars import REPOSITORY, jar_faults
from clicklog.broker import running_broker
from clicklog.java import find_java
from clicklog.topics import check_topics
from domain.errors import TallystickError
from domain.settings import Settings
from warehouse.settings import load_settings

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 2 * 1024**3
"""The demo leaves about a tenth of this; a broker refuses to start well before the disk is full."""
SHOWN_JAR_FAULTS = 3
RUN_SETUP = "run `make setup`"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``remedy`` is None where nothing has to be done."""

    subject: str
    found: str
    remedy: str | None = None


@dataclass(frozen=True)
class Listener:
    """Who listens on a port. ``is_ours``: a process of this checkout; ``name`` is None if it may not be seen."""

    pid: int | None
    name: str | None
    is_ours: bool


def check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("Python", version)
    return Finding("Python", version, "install Python 3.11 or newer, then `make clean setup`")


def check_java() -> Finding:
    try:
        return Finding("Java", str(find_java()))
    except TallystickError as error:
        return Finding("Java", error.found, error.remedy)


def check_jars(jars_path: Path, sums: dict[str, str]) -> Finding:
    faults = jar_faults(jars_path, sums)
    if not faults:
        return Finding("jars", f"{len(sums)} jars, sums hold")
    more = f" and {len(faults) - SHOWN_JAR_FAULTS} more" if len(faults) > SHOWN_JAR_FAULTS else ""
    return Finding("jars", "; ".join(faults[:SHOWN_JAR_FAULTS]) + more, RUN_SETUP)


def check_settings() -> tuple[Settings | None, Finding]:
    """The settings, if they are valid; whatever needs them can be looked at only then."""
    try:
        settings = load_settings()
    except TallystickError as error:
        return None, Finding("settings", error.found, f"expected {error.expected}; {error.remedy}")
    return settings, Finding("settings", f"valid, home is {settings.home}")


def check_disk(home: Path) -> Finding:
    """Space and write permission where home is, or will be."""
    folder = next(path for path in (home, *home.parents) if path.exists())
    free_bytes = shutil.disk_usage(folder).free
    if not os.access(folder, os.W_OK):
        return Finding("disk", f"{folder} may not be written", "set TALLYSTICK_HOME to a folder that you may write")
    found = f"{free_bytes / 1024**3:.1f} GiB free at {folder}"
    if free_bytes >= LEAST_FREE_BYTES:
        return Finding("disk", found)
    return Finding("disk", found, f"make it {LEAST_FREE_BYTES // 1024**3} GiB, or set TALLYSTICK_HOME to another disk")


def ports_of(settings: Settings) -> list[tuple[str, int]]:
    """Every port that our processes listen on, with the setting that says so."""
    services = [(name, getattr(settings, name)) for name in ("click_port", "metrics_port", "dagster_port")]
    if not settings.is_broker_embedded:
        return services
    # the controller of an embedded broker listens on the next port
    return [("broker_port", settings.broker_port), ("broker_port", settings.broker_port + 1), *services]


def check_ports(settings: Settings) -> Iterator[Finding]:
    """Each port is free, or one of our own processes listens on it."""
    for name, port in ports_of(settings):
        yield _check_port(name, port)


def _check_port(name: str, port: int) -> Finding:
    listener = listener_of(port)
    if listener is None:
        return Finding(f"port {port}", f"free ({name})")
    if listener.is_ours:
        return Finding(f"port {port}", f"ours, process {listener.pid} ({name})")
    who = f"process {listener.pid} ({listener.name})" if listener.pid else "a process of another user"
    return Finding(
        f"port {port}", f"taken by {who}", f"end that process, or set TALLYSTICK_{name.upper()} to a free one"
    )


def listener_of(port: int) -> Listener | None:
    """Who listens on this TCP port of this computer; None if nobody does."""
    for connection in psutil.net_connections(kind="tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,):
            return _listener(connection.pid)
    return None


def _listener(pid: int | None) -> Listener:
    try:
        process = psutil.Process(pid) if pid else None
        command = " ".join(process.cmdline()) if process else ""
        return Listener(pid, process.name() if process else None, str(REPOSITORY) in command)
    except psutil.Error:
        return Listener(pid, None, is_ours=False)


def check_broker(settings: Settings) -> Finding:
    """The log answers and its topics are as they must be. An embedded broker that is not started is no fault."""
    if settings.is_broker_embedded and running_broker(settings) is None:
        return Finding("broker", "embedded, not running; `make up` or `tallystick broker` starts it")
    try:
        check_topics(settings)
    except TallystickError as error:
        return Finding("broker", error.found, error.remedy)
    return Finding("broker", f"{settings.bootstrap} answers, topics are right")
