"""Set-up looks first and does nothing where nothing is missing; without a Python it says so in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.jars import CACHE
from cli.setup import ensure_browser, ensure_jars, ensure_java
from clicklog.java import JavaMissingError, find_java
from tests.conventions.sources import ROOT

PYTHONS = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")


def _program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def _run_setup(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "setup.sh", folder)
    shutil.copy(ROOT / "pyproject.toml", folder)
    environment = {**os.environ, "PATH": path}
    return subprocess.run([folder / "setup.sh"], env=environment, capture_output=True, text=True, check=False)


def test_an_old_python_is_one_line_and_a_failure(tmp_path: Path) -> None:
    for name in PYTHONS:
        _program(tmp_path / "bin", name, "exit 1")  # what the question for 3.11 or newer is answered with
    done = _run_setup(tmp_path, f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: no python3 of version 3.11 or newer on PATH; expected one; install it")
    assert done.stderr.count("\n") == 1


def test_a_python_without_venv_is_a_failure_that_names_the_package(tmp_path: Path) -> None:
    _program(tmp_path / "bin", "python3", 'test "$1" != -m')
    done = _run_setup(tmp_path, f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert not (tmp_path / ".venv" / "installed-from").exists()


def test_jars_that_are_right_are_not_fetched() -> None:
    ensure_jars(Path("no-such-java"), CACHE / "jars", None)


def test_java_is_the_one_that_the_product_uses() -> None:
    assert ensure_java() == find_java()


def test_without_java_and_without_apt_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaMissingError, match="install"):
        ensure_java()


def test_without_a_browser_one_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ensure_browser()
    assert "apt-get install chromium chromium-driver" in " ".join(capsys.readouterr().err.split())


def test_a_browser_that_is_there_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("chromium", "chromedriver"):
        _program(tmp_path / "bin", name, "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ensure_browser()
    assert capsys.readouterr().err == ""
