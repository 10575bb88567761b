"""Finding a Java that can run the broker and Spark: JAVA_HOME first, then PATH.

Belongs here: the search and its one clear error. Installing Java is set-up's task (``Makefile``).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from domain.errors import TallystickError

OLDEST_JAVA = 17
"""Delta's jars are compiled for 17; the broker would do with it too."""
VERSION_TIMEOUT_SECONDS = 30
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class JavaMissingError(TallystickError):
    """No usable Java on this computer."""


def find_java() -> Path:
    """The ``java`` to run: the first of JAVA_HOME's and PATH's that is new enough. Asks each its version."""
    return pick_java(_candidates())


def pick_java(candidates: Iterator[Path]) -> Path:
    """The first candidate of version 17 or newer; ``JavaMissingError`` names every one that was tried."""
    tried: list[str] = []
    for java in candidates:
        version = _major_version(java)
        if version is not None and version >= OLDEST_JAVA:
            return java
        tried.append(f"{java} ({'not runnable' if version is None else f'version {version}'})")
    raise JavaMissingError(
        f"no usable Java: {', '.join(tried) or 'JAVA_HOME is not set and PATH has no java'}",
        f"Java {OLDEST_JAVA} or newer",
        "install one (Debian: apt-get install openjdk-17-jre-headless) or point JAVA_HOME at it",
    )


def _candidates() -> Iterator[Path]:
    # JAVA_HOME and PATH are Java's own convention, not settings of ours, so they are read where they are needed.
    home = os.environ.get("JAVA_HOME")  # noqa: TID251
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)


def _major_version(java: Path) -> int | None:
    try:
        answer = subprocess.run(  # noqa: S603  the path is the operator's own JAVA_HOME or PATH
            [java, "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr)
    return int(found.group(1)) if found else None
