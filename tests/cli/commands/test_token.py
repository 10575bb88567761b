"""``tallystick token`` prints a token that the metrics API takes, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from domain.settings import Settings
from services.tokens import Caller, TokenError, read_token, token_key
from warehouse.clock import now


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    return tmp_path


def test_an_advertiser_s_token(home: Path) -> None:
    result = CliRunner().invoke(app, ["token", "--role", "advertiser", "--advertiser", "5", "--days", "2"])
    key = token_key(Settings(home=home))
    assert read_token(key, result.stdout.strip(), now() + timedelta(days=1)) == Caller("advertiser", 5)
    with pytest.raises(TokenError):
        read_token(key, result.stdout.strip(), now() + timedelta(days=2))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--role", "root"], "role 'root'"),
        (["--role", "advertiser"], "role advertiser with advertiser None"),
        (["--role", "finance", "--advertiser", "5"], "role finance with advertiser 5"),
    ],
)
def test_a_token_that_would_see_too_much_is_not_made(arguments: list[str], found: str) -> None:
    result = CliRunner().invoke(app, ["token", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {found}; expected ")
