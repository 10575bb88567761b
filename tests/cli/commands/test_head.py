"""``tallystick head export`` keeps a file that ``tallystick verify --head`` takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world

ASKED = "2026-11-30T09:00Z"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR)
    world.publish()
    return world


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_a_kept_head_is_taken_by_verify(world: SealedWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run("head", "export", "--to", str(tmp_path))
    assert first.exit_code == 0, first.stderr
    assert first.stderr.startswith("kept: seal 1, publication 1, hash ")
    monkeypatch.setenv("TALLYSTICK_HEAD_TARGET", str(tmp_path))
    assert _run("head", "export").stderr.startswith("kept before: seal 1, ")
    path = first.stdout.strip()
    assert _run("verify", ASKED, "--head", path).exit_code == 0
    world.tamper("publications", lambda _: None)
    result = _run("verify", ASKED, "--head", path)
    assert result.exit_code == 4
    lost = "         - the kept head has publication 1, the last one is 0: the tail was cut off"
    assert lost in result.stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("head", "export"), "no target"),
        (("head", "export", "--to", "x", "--retain-until", "2099-01-01"), "--retain-until is '2099-01-01'"),
        (("head", "export", "--to", "x", "--retain-until", "2020-01-01T00:00Z"), "--retain-until 2020"),
        (("verify", ASKED, "--head", "absent"), "absent cannot be read: No such file"),
        (("verify", ASKED, "--head", __file__), f"{__file__} holds no head"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value[-2:])[-30:],
)
def test_what_cannot_be_asked(world: SealedWorld, arguments: tuple[str, ...], found: str) -> None:
    result = _run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {found}")
