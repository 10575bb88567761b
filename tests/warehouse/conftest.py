"""A home with empty tables, real ones, for each test of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(home=tmp_path / "home")
    make_empty_tables(found)
    return found
