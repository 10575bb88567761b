"""Empty tables for a test: copied from those that this process made once, since making them takes far longer."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from domain.settings import Settings
from warehouse.create import create_missing_tables
from warehouse.layout import tables_path


def make_empty_tables(settings: Settings) -> None:
    """What ``create_missing_tables`` leaves behind; where tables are already, it is called itself."""
    folder = tables_path(settings)
    if folder.exists():
        create_missing_tables(settings)
    else:
        shutil.copytree(_made_once(), folder)


@cache
def _made_once() -> Path:
    home = Path(tempfile.mkdtemp(prefix="tallystick-empty-tables-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    settings = Settings(home=home)
    create_missing_tables(settings)
    return tables_path(settings)
