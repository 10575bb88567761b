"""Finding Java: the order, the oldest that will do, and an error that names what was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from clicklog.java import JavaMissingError, find_java


def _java(folder: Path, version: str) -> Path:
    """A program that answers ``-version`` as that Java does, on standard error."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2", "25-ea"])
def test_java_home_comes_before_path(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home, on_path = _java(tmp_path / "home", version), _java(tmp_path / "path", "17")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == on_path
    monkeypatch.setenv("JAVA_HOME", str(at_home.parent.parent))
    assert find_java() == at_home


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "16.0.1"])
def test_an_old_java_home_is_passed_over(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "home", version).parent.parent))
    on_path = _java(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == on_path


def test_no_java_at_all() -> None:
    with pytest.raises(JavaMissingError, match="JAVA_HOME is not set and PATH has no java") as caught:
        find_java()
    assert "openjdk-17-jre-headless" in caught.value.remedy


def test_each_useless_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = _java(tmp_path / "path", "1.8.0_402")
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "missing"))
    with pytest.raises(JavaMissingError) as caught:
        find_java()
    assert f"{tmp_path}/missing/bin/java (not runnable)" in caught.value.found
    assert f"{on_path} (version 8)" in caught.value.found
