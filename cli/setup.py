"""The second half of ``make setup``: Java, jars, a browser for tests, once our Python runs. The first: ``setup.sh``.

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
BROWSER_PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}
"""Programs that tests of the page need, and their packages."""
APT_LOG = CACHE / "apt.log"


def ensure_java() -> Path:
    """A Java that is new enough; on Debian as root it is installed if there is none. ``JavaMissingError`` otherwise."""
    try:
        return find_java()
    except JavaMissingError:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise
    install_packages("Java", JAVA_PACKAGE)
    return find_java()


def ensure_browser() -> None:
    """A Chromium with its driver; on Debian as root it is installed if there is none. Only tests need it: where it
    cannot be had, one line says how to get it.
    """
    missing = [package for program, package in BROWSER_PACKAGES.items() if shutil.which(program) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        install_packages("a browser for tests", *missing)
        missing = [package for program, package in BROWSER_PACKAGES.items() if shutil.which(program) is None]
    if missing:
        note(f"tests of the page are skipped without a browser (Debian: apt-get install {' '.join(missing)})")


def install_packages(what: str, *packages: str) -> None:
    """Asks apt-get for packages; whether they are there afterwards is for the caller to see."""
    with working(f"installing {what} ({', '.join(packages)})"), APT_LOG.open("ab") as log:
        for action in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
            subprocess.run([*environment, "apt-get", "-qq", *action], stdout=log, stderr=log, check=False)  # noqa: S603


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
    """Find or install Java and a browser for tests, fetch the jars."""
    try:
        ensure_jars(ensure_java(), CACHE / "jars", ivy_settings)
    except TallystickError as error:
        print_error(error)
        sys.exit(error.exit_code)
    ensure_browser()
    note("set-up is complete")


if __name__ == "__main__":
    typer.run(set_up)
