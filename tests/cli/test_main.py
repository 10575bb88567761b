"""The command line: quick, and one line and an exit code for every expected error."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner, Result

from cli.main import COMMANDS, LazyCommands, app
from domain.errors import IntegrityError, SettingError, TallystickError, WriterBusyError
from tests.conventions.sources import pyproject

HEAVY = ("pyspark", "dagster", "deltalake", "duckdb", "confluent_kafka", "pandas", "cli.commands")


def _run_raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Result:
    """What a command of ours that raises this ends in."""

    def burn() -> None:
        raise error

    module = ModuleType("cli.commands.burn")
    module.burn = burn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    example = typer.Typer(cls=LazyCommands)
    for name in ("burn", "other"):
        example.command(name)(_never_called)
    return CliRunner().invoke(example, ["burn"])


def _never_called() -> None:
    pytest.fail("the listed command must be replaced by the loaded one")


def test_help_loads_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from cli.main import app;"
        f"print(CliRunner().invoke(app, ['--help']).exit_code, [m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 []"


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert [name for name in COMMANDS if name not in shown] == []


def test_version_is_the_products() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == pyproject()["project"]["version"]


@pytest.mark.parametrize("kind", [TallystickError, SettingError, WriterBusyError, IntegrityError])
def test_expected_errors_are_one_line_and_their_exit_code(
    kind: Callable[[str, str, str], TallystickError], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = kind("port 80 is [taken]", "a free port", "set another " + "long " * 50)
    result = _run_raising(error, monkeypatch)
    assert result.exit_code == error.exit_code
    assert result.stdout == ""
    assert result.stderr == f"error: {error}\n"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_cannot_be_written_is_one_line(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run_raising(OSError(code, "No room", "/some/file"), monkeypatch)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: No room: /some/file; expected a file that can be written; ")
    assert result.stderr.count("\n") == 1


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run_raising(KeyboardInterrupt(), monkeypatch).exit_code == 130


@pytest.mark.parametrize("error", [ValueError("a defect"), OSError(errno.EIO, "a defect")])
def test_a_defect_keeps_its_traceback(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run_raising(error, monkeypatch).exception is error


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_CLICK_PORT", "eighty")
    result = CliRunner().invoke(app, ["reset", "--yes"])
    assert result.exit_code == 2
    assert result.stderr == (
        "error: setting click_port is 'eighty'; expected a whole number from 1 to 65535; correct it\n"
    )


def test_an_unknown_command_is_a_usage_error() -> None:
    assert CliRunner().invoke(app, ["domo"]).exit_code == 2
