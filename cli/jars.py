"""The jars: which there should be, whether they are what they should be, and fetching them through Ivy.

Belongs here: ``ivy.xml`` in a folder of pins names them, ``sha256sums.txt`` beside it says what each must contain, Ivy
(it comes inside the pyspark wheel) resolves them. The product's pins are in ``jars/``. No registry address: Ivy's own
default, or the Ivy settings file that the user names.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from cli.console import counting
from domain.errors import TallystickError

REPOSITORY = Path(__file__).resolve().parent.parent
PINS = REPOSITORY / "jars"
IVY_FILE = PINS / "ivy.xml"
SUMS_FILE = PINS / "sha256sums.txt"
CACHE = REPOSITORY / ".cache"
IVY_LOG = CACHE / "ivy.log"
POLL_SECONDS = 0.5


class JarsError(TallystickError):
    """A jar is missing, too much, or not the one that was pinned; or the jars could not be fetched."""


def read_sums(sums_file: Path) -> dict[str, str]:
    """SHA-256 by jar (``configuration/file name``), from a file as ``sha256sum`` writes it."""
    pairs = (line.split(maxsplit=1) for line in sums_file.read_text(encoding="utf-8").splitlines())
    return {name: digest for digest, name in pairs}


def jar_faults(folder: Path, sums: dict[str, str]) -> list[str]:
    """What is wrong with the jars in ``folder``, each with the name of the file; empty if nothing is."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.glob("*/*")}
    faults = [f"{name} is missing" for name in sorted(sums.keys() - found.keys())]
    faults += [f"{name} is not in {SUMS_FILE.name}" for name in sorted(found.keys() - sums.keys())]
    for name in sorted(sums.keys() & found.keys()):
        digest = hashlib.sha256(found[name].read_bytes()).hexdigest()
        if digest != sums[name]:
            faults.append(f"{name} has SHA-256 {digest}, not {sums[name]}")
    return faults


def fetch_jars(java: Path, target: Path, ivy_settings: Path | None, pins: Path = PINS) -> None:
    """Fetch all jars of a folder of pins and put them in the place of ``target``, all or none.

    ``JarsError`` if Ivy fails or a fetched jar is not the pinned one; ``target`` is then as it was.
    """
    sums = read_sums(pins / SUMS_FILE.name)
    staging = target.with_name(f"{target.name}.new")
    shutil.rmtree(staging, ignore_errors=True)
    _run_ivy(java, staging, ivy_settings, pins / IVY_FILE.name, len(sums))
    faults = jar_faults(staging, sums)
    if faults:
        raise JarsError(
            f"fetched jars are not the pinned ones: {'; '.join(faults)}",
            f"exactly the jars of {(pins / SUMS_FILE.name).relative_to(REPOSITORY)}",
            "remove .cache/ivy and run `make setup` again; if it stays so, do not use what that mirror serves",
        )
    shutil.rmtree(target, ignore_errors=True)
    staging.rename(target)


def _run_ivy(java: Path, staging: Path, ivy_settings: Path | None, ivy_file: Path, jar_count: int) -> None:
    cache = CACHE / "ivy"
    command: list[str | Path] = [java, f"-Divy.default.ivy.user.dir={cache}", "-jar", _ivy_jar()]
    command += ["-settings", ivy_settings] if ivy_settings else []
    command += ["-ivy", ivy_file, "-types", "jar", "bundle"]
    command += ["-retrieve", f"{staging}/[conf]/[artifact]-[revision].[ext]"]
    CACHE.mkdir(exist_ok=True)
    with IVY_LOG.open("wb") as log, counting("fetching jars (each is found, then loaded)", 2 * jar_count) as show:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)  # noqa: S603  our own arguments
        while process.poll() is None:
            show(_ivy_steps())
            time.sleep(POLL_SECONDS)
    if process.returncode:
        raise JarsError(
            f"Ivy could not fetch the jars: {_first_complaint()}",
            "a Maven repository that Ivy reaches",
            f"read {IVY_LOG.relative_to(REPOSITORY)}; a company mirror: make setup IVY_SETTINGS=<its Ivy settings>",
        )


def _ivy_steps() -> int:
    log = IVY_LOG.read_bytes()
    return log.count(b"\tfound ") + log.count(b"[SUCCESSFUL ]")


def _ivy_jar() -> Path:
    # find_spec, because importing pyspark takes long and only its folder is wanted
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("pyspark is not installed", "the packages of pyproject.toml", "run `make setup`")
    return next((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))


def _first_complaint() -> str:
    lines = IVY_LOG.read_text(encoding="utf-8", errors="replace").splitlines()
    complaints = [line.strip() for line in lines if "UNRESOLVED" in line or "ERROR" in line or "xception" in line]
    return complaints[0] if complaints else "it gave no reason"
