"""Where settings come from: the environment over the file over the defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import SettingError
from domain.settings import Settings
from warehouse.settings import load_settings


def _environment(home: Path, **settings: str) -> dict[str, str]:
    return {"TALLYSTICK_HOME": str(home), "PATH": "/bin"} | {f"TALLYSTICK_{k}": v for k, v in settings.items()}


def test_defaults_need_no_environment_and_create_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings({}) == Settings(home=tmp_path / ".tallystick")
    assert list(tmp_path.iterdir()) == []


def test_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings({"TALLYSTICK_HOME": "here/../there"}).home == tmp_path / "there"


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "tallystick.toml").write_text('broker_port = 2000\ngrace_seconds = 7\nserver_id = "edge-7"\n')
    settings = load_settings(_environment(tmp_path, GRACE_SECONDS="8"))
    assert (settings.broker_port, settings.grace_seconds, settings.server_id) == (2000, 8, "edge-7")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("colour = 1", "unknown setting colour"),
        ('home = "/x"', "unknown setting home"),
        ("broker_port = 1.5", r"setting broker_port is 1\.5"),
        ("broker_port = true", "setting broker_port is True"),
        ("server_id = 5", "setting server_id is 5; expected text"),
        ("broker_port = ", "tallystick.toml cannot be read"),
        ("[section]\nx = 1", "unknown setting section"),
    ],
    ids=["unknown", "home", "fraction", "boolean", "number for text", "no TOML", "section"],
)
def test_a_wrong_file_is_named(tmp_path: Path, file: str, message: str) -> None:
    (tmp_path / "tallystick.toml").write_text(file)
    with pytest.raises(SettingError, match=message):
        load_settings(_environment(tmp_path))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "tallystick.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match="cannot be read"):
        load_settings(_environment(tmp_path))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COLOUR", "1", "unknown setting colour"),
        ("BROKER_PORT", "0", "setting broker_port is '0'; expected a whole number from 1 to 65535"),
        ("BROKER_PORT", "65536", "setting broker_port is '65536'"),
        ("BROKER_PORT", "", "setting broker_port is ''"),
        ("GRACE_SECONDS", "5m", "setting grace_seconds is '5m'"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, name: str, value: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        load_settings(_environment(tmp_path, **{name: value}))
