"""Secret files: made once, for their owner alone, replaced in one step."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from domain.settings import Settings
from services.secrets import SecretError, change_secret, ensure_secret, read_secret, secret_path


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def test_the_first_use_makes_it_and_later_ones_read_it(settings: Settings) -> None:
    assert ensure_secret(settings, "key", lambda: b"first") == b"first"
    assert ensure_secret(settings, "key", lambda: b"second") == b"first"


def test_its_owner_alone_may_read_it(settings: Settings) -> None:
    ensure_secret(settings, "key", lambda: b"secret")
    path = secret_path(settings, "key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o666])
def test_a_file_that_others_may_use_is_refused(settings: Settings, mode: int) -> None:
    ensure_secret(settings, "key", lambda: b"secret")
    path = secret_path(settings, "key")
    path.chmod(mode)
    with pytest.raises(SecretError) as caught:
        ensure_secret(settings, "key", lambda: b"other")
    assert f"{mode:04o}" in caught.value.found
    assert caught.value.remedy == f"chmod 600 {path}"
    assert "secret" not in caught.value.found.replace("secrets/key", "")


def test_a_link_is_not_followed(settings: Settings, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"x")
    elsewhere.chmod(0o600)
    secret_path(settings, "key").parent.mkdir(parents=True)
    secret_path(settings, "key").symlink_to(elsewhere)
    with pytest.raises(SecretError):
        ensure_secret(settings, "key", lambda: b"other")


def test_many_at_once_agree_on_one_secret(settings: Settings) -> None:
    made = count()
    with ThreadPoolExecutor(8) as pool:
        tasks = [pool.submit(ensure_secret, settings, "key", lambda: str(next(made)).encode()) for _ in range(40)]
    assert {task.result() for task in tasks} == {b"0"}


def test_changes_at_once_are_all_made(settings: Settings) -> None:
    ensure_secret(settings, "key", lambda: b"")
    with ThreadPoolExecutor(8) as pool:
        for task in [pool.submit(change_secret, settings, "key", lambda old: old + b"x") for _ in range(40)]:
            task.result()
    assert read_secret(secret_path(settings, "key")) == b"x" * 40


def test_a_change_that_fails_leaves_the_secret(settings: Settings) -> None:
    ensure_secret(settings, "key", lambda: b"kept")

    def fail(_old: bytes) -> bytes:
        raise SecretError("a", "b", "c")

    with pytest.raises(SecretError):
        change_secret(settings, "key", fail)
    assert read_secret(secret_path(settings, "key")) == b"kept"
