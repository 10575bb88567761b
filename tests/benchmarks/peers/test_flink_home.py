"""The Flink peer's environment: pinned as a whole, made once, made anew when half made or of other pins."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from peers import flink_home
from peers.flink_home import CONSTRAINTS, PINS, FlinkSetupError, completion_mark, ensure_packages

from cli.jars import read_sums


def test_the_jar_that_is_fetched_has_a_sum() -> None:
    dependencies = list(ET.parse(PINS / "ivy.xml").getroot().iter("dependency"))
    names = {f"flink/{one.get('name')}-{one.get('rev')}.jar" for one in dependencies}
    assert names == read_sums(PINS / "sha256sums.txt").keys()


def test_every_package_is_pinned() -> None:
    lines = CONSTRAINTS.read_text(encoding="utf-8").split()
    assert [line for line in lines if "==" not in line] == []
    assert any(line.startswith("apache-flink==") for line in lines)


def test_an_environment_that_is_complete_is_used_as_it_is(tmp_path: Path) -> None:
    """A set-up would leave its log."""
    completion_mark(tmp_path).parent.mkdir()
    completion_mark(tmp_path).touch()
    assert ensure_packages(tmp_path) == tmp_path / "venv" / "bin" / "python"
    assert not (tmp_path / "pip.log").exists()


def test_other_pins_make_another_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = completion_mark(tmp_path)
    other = tmp_path / "constraints.txt"
    other.write_text(CONSTRAINTS.read_text(encoding="utf-8") + "one-more==1\n")
    monkeypatch.setattr(flink_home, "CONSTRAINTS", other)
    assert completion_mark(tmp_path) != before


def test_a_set_up_that_failed_is_not_taken_for_complete(tmp_path: Path) -> None:
    """A file stands where the environment should be; what fails once fails again, with the log to read."""
    (tmp_path / "venv").write_text("in the way")
    for _ in range(2):
        with pytest.raises(FlinkSetupError, match=r"ended with code \d+; expected code 0; read the end of .*pip\.log"):
            ensure_packages(tmp_path)
