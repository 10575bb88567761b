"""The second half of ``make setup``: Java and the jars, once our Python runs. The first half is ``setup.sh``.

Looks first, does only what is missing; a second run takes a second.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.console import note, print_error, working
from cli.jars import CACHE, SUMS_FILE, fetch_jars, jar_faults, read_sums
from clicklog.java import JavaMissingError, find_java
from domain.errors import TallystickError

JAVA_PACKAGE = "openjdk-17-jre-headless"
APT_LOG = CACHE / "apt.log"


def ensure_java() -> Path:
    """A Java that is new enough; on Debian as root it is installed if there is none. ``JavaMissingError`` otherwise."""
    try:
        return find_java()
    except JavaMissingError:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise
    with working(f"installing Java ({JAVA_PACKAGE})"), APT_LOG.open("wb") as log:
        for action in (["update"], ["install", "--yes", "--no-install-recommends", JAVA_PACKAGE]):
            environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
            subprocess.run([*environment, "apt-get", "-qq", *action], stdout=log, stderr=log, check=False)  # noqa: S603
    return find_java()


def ensure_jars(java: Path, jars_path: Path, ivy_settings: Path | None) -> None:
    """Jars whose sums hold, fetched if need be. ``JarsError`` names the file that is wrong."""
    faults = jar_faults(jars_path, read_sums(SUMS_FILE))
    if not faults:
        return
    if jars_path.exists():
        note(f"jars are fetched again: {faults[0]}")
    fetch_jars(java, jars_path, ivy_settings)


def set_up(
    ivy_settings: Annotated[Path | None, typer.Option(envvar="IVY_SETTINGS", help="Ivy settings of a mirror.")] = None,
) -> None:
    """Find or install Java, fetch the jars."""
    try:
        ensure_jars(ensure_java(), CACHE / "jars", ivy_settings)
    except TallystickError as error:
        print_error(error)
        sys.exit(error.exit_code)
    note("set-up is complete")


if __name__ == "__main__":
    typer.run(set_up)
