"""Frontiers to test with: the same suite on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.support.frontiers import FrontierWorld, frontier_world
from tests.support.postgres import find_binaries, postgres_server

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The PostgreSQL server of this test run."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed: there is neither initdb on the path nor /usr/lib/postgresql")
    with postgres_server(binaries) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def frontier_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database: a file of its own, or a schema of its own."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'frontier.sqlite'}"
    server = request.getfixturevalue("postgres")
    schema = f"test_{next(_NUMBERS)}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    engine.dispose()
    return f"{server}&options=-csearch_path%3D{schema}"


@pytest.fixture
def world(frontier_url: str) -> Iterator[FrontierWorld]:
    """A frontier on one of the two databases, with a clock that can be moved."""
    with frontier_world(frontier_url) as world:
        yield world
