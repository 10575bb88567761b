"""The Evidently peer's environment: pinned as a whole, made once, made anew when half made or of other pins."""

from __future__ import annotations

from pathlib import Path

import pytest
from peers import evidently_home
from peers.evidently_home import CONSTRAINTS, EvidentlyError, completion_mark, drifted, ensure_packages, is_ready


def test_every_package_is_pinned() -> None:
    lines = CONSTRAINTS.read_text(encoding="utf-8").split()
    assert [line for line in lines if "==" not in line] == []
    assert any(line.startswith("evidently==") for line in lines)


def test_an_environment_that_is_complete_is_used_as_it_is(tmp_path: Path) -> None:
    """A set-up would leave its log."""
    assert not is_ready(tmp_path)
    completion_mark(tmp_path).parent.mkdir()
    completion_mark(tmp_path).touch()
    assert ensure_packages(tmp_path) == tmp_path / "venv" / "bin" / "python"
    assert not (tmp_path / "pip.log").exists()


def test_other_pins_make_another_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = completion_mark(tmp_path)
    other = tmp_path / "constraints.txt"
    other.write_text(CONSTRAINTS.read_text(encoding="utf-8") + "one-more==1\n")
    monkeypatch.setattr(evidently_home, "CONSTRAINTS", other)
    assert completion_mark(tmp_path) != before


def test_a_peer_that_fails_is_an_error(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho broken >&2\nexit 7\n")
    python.chmod(0o755)
    with pytest.raises(EvidentlyError, match="code 7: broken"):
        drifted(python, tmp_path, ["a"])
