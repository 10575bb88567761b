"""A home with empty tables, real ones, and an object store, for tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from tests.support.object_store import ObjectStore, object_store


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(home=tmp_path / "home")
    make_empty_tables(found)
    return found


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """One that boto3 finds by its environment."""
    pytest.importorskip("boto3", reason="an object store needs the extra s3 or dev of this package")
    with object_store() as store:
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        for name, value in store.environment().items():
            monkeypatch.setenv(name, value)
        yield store
