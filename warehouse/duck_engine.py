"""DuckDB for one piece of work: bounded memory, UTC, and a folder of its own for what memory cannot hold.

Belongs here: how an engine is opened. Two engines never share that folder: DuckDB gives its files the same names
everywhere, so one would write over, or remove, what the other still needs. The engine of answers to people, which lives
long and never spills, is ``counts_sql.py``'s own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from domain.settings import Settings

MEMORY_LIMIT = "512MB"


@contextmanager
def opened_engine(settings: Settings, memory_limit: str = MEMORY_LIMIT) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty engine for the length of a block; its folder goes with it. Any number may be open at once."""
    with tempfile.TemporaryDirectory(prefix="duckdb-", dir=scratch_folder(settings)) as spill:
        config: dict[str, Any] = {
            "memory_limit": memory_limit,
            "temp_directory": spill,
            "autoload_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=config) as engine:
            engine.execute("SET TimeZone = 'UTC'")
            yield engine


def scratch_folder(settings: Settings) -> Path | None:
    """In home, where there is room for data; the system's own (None) where home may only be read, as by an auditor."""
    scratch = settings.home / "scratch"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return scratch if os.access(scratch, os.W_OK) else None
