"""Secrets as files under ``home/secrets``: made on first use, readable by their owner alone, never logged.

Belongs here: how a secret is kept. What is in one, and when it is renewed, is known to the service that uses it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import TallystickError
from domain.settings import Settings
from warehouse.whole_files import written_beside

OWNER_ONLY_FOLDER = 0o700
OWNER_ONLY_FILE = 0o600
ANYBODY_ELSE = 0o077


class SecretError(TallystickError):
    """A secret file can be read by others, or cannot be read by us, or does not hold what it should."""

    exit_code = 2


def secret_path(settings: Settings, name: str) -> Path:
    """Where the secret of this name is kept."""
    return settings.home / "secrets" / name


def ensure_secret(settings: Settings, name: str, make: Callable[[], bytes]) -> bytes:
    """The secret; made by ``make`` if there is none yet. Two processes that start at once agree on one."""
    path = secret_path(settings, name)
    try:
        return read_secret(path)
    except FileNotFoundError:
        with _secrets_locked(path.parent):
            if not path.exists():
                _write(path, make())
        return read_secret(path)


def change_secret(settings: Settings, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Replaces an existing secret by what ``change`` makes of it, atomically; returns the new one.

    Readers see the old bytes or the new ones. Two changes at once happen one after the other.
    """
    path = secret_path(settings, name)
    with _secrets_locked(path.parent):
        secret = change(read_secret(path))
        _write(path, secret)
    return secret


def read_secret(path: Path) -> bytes:
    """The bytes of the file; ``SecretError`` if anybody but its owner may read or write it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}", "a file that we may read", "see to whose it is") from error
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode & 0o777
        if mode & ANYBODY_ELSE:
            raise SecretError(f"{path} has mode {mode:04o}", "0600, since it holds a secret", f"chmod 600 {path}")
        return file.read()


def _write(path: Path, secret: bytes) -> None:
    """No reader ever sees half a secret, and nobody but its owner any of it."""
    with written_beside(path, OWNER_ONLY_FILE) as file:
        file.write(secret)


@contextmanager
def _secrets_locked(folder: Path) -> Iterator[None]:
    folder.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
