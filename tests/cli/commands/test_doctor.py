"""``tallystick doctor`` ends with 0 where nothing has to be mended, else with 1 and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.support.ports import free_broker_port


@pytest.fixture(autouse=True)
def _settings_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They clash with nothing that may run on this machine."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    for name in ("BROKER", "CLICK", "METRICS", "DAGSTER"):
        monkeypatch.setenv(f"TALLYSTICK_{name}_PORT", str(free_broker_port()))


def test_a_machine_that_is_set_up_has_nothing_to_mend() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert "wrong" not in result.stdout
    assert (result.exit_code, result.stderr) == (0, "nothing to mend\n")


def test_a_fault_is_shown_with_its_remedy_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.checks.LEAST_FREE_BYTES", 1024**6)
    result = CliRunner().invoke(app, ["doctor"])
    assert (result.exit_code, result.stderr) == (1, "1 to mend\n")
    assert "or set TALLYSTICK_HOME to another disk" in result.stdout


def test_a_wrong_setting_does_not_hide_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_COLOUR", "red")
    result = CliRunner().invoke(app, ["doctor"])
    assert (result.exit_code, result.stderr) == (1, "1 to mend\n")
    assert "unknown setting colour" in result.stdout
    assert "sums hold" in result.stdout
