"""``tallystick reset``: deletes the folder of state, and only that."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from cli.console import note
from clicklog.broker import running_broker
from domain.errors import UsageError, WriterBusyError
from domain.settings import Settings
from warehouse.layout import tables_path
from warehouse.locks import is_locked
from warehouse.settings import load_settings

OURS = frozenset(
    {
        "ads.jsonl",
        "broker",
        "checkpoints",
        "dagster",
        "demo",
        "locks",
        "logs",
        "scratch",
        "secrets",
        "spark",
        "tables",
        "tallystick.toml",
    }
)
"""All that the product or its documents put into a home. Anything else makes it somebody's own folder."""


def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete TALLYSTICK_HOME: log, tables, seals, checkpoints, keys, settings. There is no way back."""
    settings = load_settings()
    if not settings.home.exists():
        note(f"nothing to delete: {settings.home} does not exist")
        return
    tables = tables_path(settings)
    refuse_foreign(settings.home, tables)
    refuse_busy(settings)
    if not yes:
        typer.confirm(f"Delete {settings.home} with everything in it?", abort=True, err=True)
    # Renamed first: what starts in this moment finds no home, and not half of one.
    doomed = settings.home.with_name(f"{settings.home.name}.deleted-{os.getpid()}")
    settings.home.rename(doomed)
    shutil.rmtree(doomed)
    note(f"deleted {settings.home}")
    if tables.exists():
        note(f"the tables are kept elsewhere and stay: {tables}")


def refuse_foreign(home: Path, tables: Path) -> None:
    """``UsageError`` unless everything in ``home`` is something that we put there."""
    ours = OURS | {tables.relative_to(home).parts[0]} if tables.is_relative_to(home) else OURS
    foreign = sorted(path.name for path in home.iterdir() if path.name not in ours) if home.is_dir() else [home.name]
    if foreign:
        raise UsageError(
            f"{home} holds {', '.join(foreign)}",
            f"a folder of state with nothing but {', '.join(sorted(OURS))}",
            "see that TALLYSTICK_HOME names the right folder, move what is yours out of it, and try again",
        )


def refuse_busy(settings: Settings) -> None:
    """``WriterBusyError`` while anything of this home still runs."""
    names = sorted(path.stem for path in (settings.home / "locks").glob("*.lock"))
    holders = [f"the lock {name} is held" for name in names if is_locked(settings, name)]
    broker_pid = running_broker(settings)
    if broker_pid is not None:
        holders.append(f"the broker runs as process {broker_pid}")
    if holders:
        raise WriterBusyError(
            "; ".join(holders), "a home that nothing uses", "end `make up` or the processes, try again"
        )
