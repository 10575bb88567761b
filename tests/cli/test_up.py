"""``make up``: every process with the same home, and a look at the ports before anything starts."""

from __future__ import annotations

import re
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from cli.main import COMMANDS
from cli.up import DagsterStorageError, PortTakenError, commands, prepare_dagster, refuse_taken_ports
from domain.settings import Settings
from tests.conventions.sources import ROOT
from tests.support.ports import free_broker_port

PROCFILE = (ROOT / "Procfile").read_text(encoding="utf-8")


def _variables(settings: Settings) -> dict[str, str]:
    """What the first process finds in its environment."""
    command = next(iter(commands(settings).values()))
    exports = command[: command.rindex("exec ")]
    done = subprocess.run(["/bin/sh", "-c", f"{exports} env"], capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_every_line_of_the_procfile_is_a_process(tmp_path: Path) -> None:
    named = commands(Settings(home=tmp_path))
    assert list(named) == re.findall(r"^(\w+):", PROCFILE, re.MULTILINE)
    assert {"click", "stream", "metrics", "dagster", "daemon"} == named.keys()


def test_the_procfile_names_commands_that_exist() -> None:
    assert set(re.findall(r"bin/tallystick (\S+)", PROCFILE)) <= COMMANDS.keys()


def test_every_variable_of_the_procfile_is_set(tmp_path: Path) -> None:
    assert set(re.findall(r"\$([A-Z_]+)", PROCFILE)) <= _variables(Settings(home=tmp_path)).keys()


def test_all_processes_share_one_absolute_home(tmp_path: Path) -> None:
    home = tmp_path / "a home's name"
    variables = _variables(Settings(home=home, dagster_port=4_000))
    assert variables["TALLYSTICK_HOME"] == str(home)
    assert variables["DAGSTER_STORAGE"] == str(home / "dagster")
    assert variables["TALLYSTICK_DAGSTER_PORT"] == "4000"
    assert (Path(variables["DAGSTER_HOME"]) / "dagster.yaml").exists()


def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        others = {"click_port": free_broker_port(), "dagster_port": free_broker_port()}
        settings = Settings(home=tmp_path, kafka_bootstrap="kafka.example:9092", metrics_port=port, **others)
        with pytest.raises(PortTakenError, match=rf"port {port} is taken by process \d+; .* TALLYSTICK_METRICS_PORT"):
            refuse_taken_ports(settings)


def test_dagsters_storage_is_made_once_and_by_one(tmp_path: Path) -> None:
    """Made by webserver and daemon at once, its schedules had two heads of migrations and could never be opened."""
    settings = Settings(home=tmp_path)
    prepare_dagster(settings)
    with closing(sqlite3.connect(tmp_path / "dagster" / "schedules" / "schedules.db")) as database:
        assert len(database.execute("SELECT version_num FROM alembic_version").fetchall()) == 1
    (tmp_path / "dagster" / "schedules" / "schedules.db").unlink()
    prepare_dagster(settings)
    assert not (tmp_path / "dagster" / "schedules" / "schedules.db").exists()


def test_a_storage_that_cannot_be_made_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "dagster" / "schedules").mkdir(parents=True)
    (tmp_path / "dagster" / "schedules" / "schedules.db").write_text("no database")
    with pytest.raises(DagsterStorageError, match="remove that folder"):
        prepare_dagster(Settings(home=tmp_path))
    assert not (tmp_path / "dagster" / "made").exists()
