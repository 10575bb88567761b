"""``tallystick click`` and its sub-commands: links that hold, keys without their secrets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from cli.main import app
from domain.links import parse_link
from domain.settings import Settings
from domain.signing import SignedLink
from services.click.keys import load_key_ring

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    return tmp_path


def _link_in(output: str) -> SignedLink:
    link = parse_link(urlsplit(output.strip()).query.encode())
    assert isinstance(link, SignedLink)
    return link


@pytest.mark.parametrize(
    ("options", "base"),
    [([], "http://127.0.0.1:18310/v1/c?"), (["--base", "https://go.example"], "https://go.example/v1/c?")],
)
def test_a_link_is_one_line_and_holds(home: Path, options: list[str], base: str) -> None:
    result = RUNNER.invoke(app, ["click", "link", "--imp", "imp-7", "--ad", "17", *options])
    assert result.exit_code == 0
    assert result.stdout.startswith(base)
    assert len(result.stdout.splitlines()) == 1
    link = _link_in(result.stdout)
    assert (link.impression_id, link.ad_id) == ("imp-7", 17)
    assert load_key_ring(Settings(home=home)).fault_of(link, datetime.now(UTC)) is None


@pytest.mark.parametrize("options", [["--imp", "a b", "--ad", "1"], ["--imp", "a", "--ad", "0"]])
def test_a_link_that_would_be_refused_is_not_made(options: list[str]) -> None:
    result = RUNNER.invoke(app, ["click", "link", *options])
    assert result.exit_code == 2
    assert "is not allowed" in result.output
    assert "/v1/c" not in result.output


def test_rotation_adds_a_key_and_shows_no_secret(home: Path) -> None:
    link = _link_in(RUNNER.invoke(app, ["click", "link", "--imp", "imp-7", "--ad", "17"]).stdout)
    rotated = RUNNER.invoke(app, ["click", "rotate-keys", "--term-days", "1"])
    listed = RUNNER.invoke(app, ["click", "keys"])
    assert rotated.exit_code == listed.exit_code == 0
    ring = load_key_ring(Settings(home=home))
    assert [key.accepted_until is None for key in ring.keys] == [False, True]
    assert ring.fault_of(link, datetime.now(UTC)) is None
    assert ring.fault_of(link, datetime.now(UTC) + timedelta(days=2)) == "expired_key"
    stored = json.loads((home / "secrets" / "click-keys.json").read_text())["keys"]
    for output in (rotated.output, listed.output):
        assert all(key["key_id"] in output and key["secret"] not in output for key in stored)


def test_the_spool_of_a_server_that_never_needed_it() -> None:
    result = RUNNER.invoke(app, ["click", "spool"])
    assert result.exit_code == 0
    assert "server edge-1: 0 clicks (0 bytes) wait" in result.stderr
