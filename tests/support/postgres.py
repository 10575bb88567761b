"""A PostgreSQL server of a test run's own, where its binaries are installed; it listens on a socket in its folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian puts the binaries of each version; they are on no PATH there."""
SERVER_USER = "postgres"
FALLBACK_USER = "nobody"
FAST = ("fsync=off", "full_page_writes=off", "max_connections=200", "listen_addresses=", "shared_buffers=64MB")


def find_binaries() -> Path | None:
    """The folder of ``initdb`` and ``postgres``, or None where no server is installed."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(INSTALLED.glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


@contextmanager
def postgres_server(binaries: Path, settings: tuple[str, ...] = FAST) -> Iterator[str]:
    """A running server's SQLAlchemy URL. Root may not run one, so root hands its folder to another user."""
    folder = Path(tempfile.mkdtemp(prefix="tallystick-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    try:
        data = folder / "data"
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "tally", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        options = " ".join(f"-c {one}" for one in (*settings, f"unix_socket_directories={folder}"))
        control = [binaries / "pg_ctl", "-D", data, "-w", "-s"]
        subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], check=True, user=user, cwd=folder)
        try:
            yield f"postgresql+psycopg://tally@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, user=user, cwd=folder)
    finally:
        shutil.rmtree(folder)


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return SERVER_USER if SERVER_USER in names else FALLBACK_USER
