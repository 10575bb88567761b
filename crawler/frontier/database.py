"""The frontier's database: opening it, its transactions, and locking buckets in one order.

Belongs here: what differs between SQLite and PostgreSQL. SQLite runs in WAL mode, and a transaction that writes takes
the only write lock when it begins; PostgreSQL locks the rows of buckets, always before those of URLs and in the order
of their ids, so that no two transactions wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, make_url, select, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

import crawler.frontier.trap_schema  # noqa: F401 - its tables are among those that are made
from crawler.frontier.schema import BUCKETS, FRONTIER_CLOCK, METADATA, database_now
from domain.errors import SettingError, TallystickError
from domain.politeness import SECOND_MICROS
from domain.traps import Limits

if TYPE_CHECKING:
    from sqlalchemy import RowMapping

    from domain.settings import Settings

BUSY_SECONDS = 30
"""How long a writer waits for SQLite's write lock."""
SCHEMA_LOCK = 0x7A11_57C4
"""PostgreSQL's advisory lock under which the tables are made: two workers start at once."""


class FrontierUnavailableError(TallystickError):
    """The frontier's database does not answer; it may later."""

    is_transient = True


@dataclass(frozen=True)
class Policy:
    """What a new origin is given, and how long a lease lasts."""

    gap_micros: int = 5 * SECOND_MICROS
    in_flight_cap: int = 1
    lease_micros: int = 120 * SECOND_MICROS
    is_grouped: bool = False
    """Whether all origins of a registrable domain share one more bucket, with the same gap and cap."""
    discovery_per_mille: int = 250
    """Share of claims that take a URL which was never visited, where an origin has one."""
    limits: Limits = field(default_factory=Limits)
    """How much of an origin is taken in."""


@dataclass(frozen=True)
class Frontier:
    """An open frontier. Threads may share it; each process opens its own."""

    engine: Engine
    policy: Policy = field(default_factory=Policy)
    random: Random = field(default_factory=SystemRandom)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; committed at the end, rolled back by an error. ``FrontierUnavailableError``."""
        with _reachable(self.engine), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one state of the database."""
        with _reachable(self.engine), self.engine.connect() as connection:
            options = connection.execution_options(is_reading=True, **_SNAPSHOT.get(self.engine.dialect.name, {}))
            with options.begin():
                yield options

    def close(self) -> None:
        """Closes its connections."""
        self.engine.dispose()


_SNAPSHOT: dict[str, dict[str, Any]] = {"postgresql": {"isolation_level": "REPEATABLE READ"}}


def open_frontier(url: str, policy: Policy | None = None) -> Frontier:
    """The frontier at a SQLAlchemy URL (``sqlite:///file`` or ``postgresql+psycopg://...``); makes missing tables.

    Repeatable, and safe while others do the same. ``SettingError`` for a URL that is none of ours.
    """
    engine = _engine(url)
    frontier = Frontier(engine, policy or Policy())
    with frontier.writing() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": SCHEMA_LOCK})
        METADATA.create_all(connection)
        if connection.execute(select(FRONTIER_CLOCK.c.clock_id)).first() is None:
            connection.execute(insert(FRONTIER_CLOCK).values(clock_id=1, offset_micros=0))
    return frontier


def frontier_of(settings: Settings) -> Frontier:
    """The frontier of an installation."""
    if not settings.frontier_url:
        settings.home.mkdir(parents=True, exist_ok=True)
    policy = Policy(
        gap_micros=settings.crawl_gap_seconds * SECOND_MICROS,
        in_flight_cap=settings.crawl_in_flight_count,
        lease_micros=settings.crawl_lease_seconds * SECOND_MICROS,
        is_grouped=settings.crawl_group == "registrable_domain",
        discovery_per_mille=settings.crawl_discovery_per_mille,
        limits=Limits(
            depth=settings.crawl_depth_count,
            origin_urls=settings.crawl_origin_urls_count,
            prefix_urls=settings.crawl_prefix_urls_count,
            facet_urls=settings.crawl_facet_urls_count,
            query_values=settings.crawl_query_values_count,
        ),
    )
    return open_frontier(settings.frontier_database_url, policy)


@contextmanager
def opened_frontier(settings: Settings) -> Iterator[Frontier]:
    """``frontier_of``, closed in the end."""
    frontier = frontier_of(settings)
    try:
        yield frontier
    finally:
        frontier.close()


def now_of(connection: Connection) -> int:
    """This instant by the database's clock. Asked after locks are held, since waiting for them takes time."""
    return int(connection.execute(_NOW).scalar_one())


def lock_buckets(connection: Connection, bucket_ids: Iterable[int | None]) -> dict[int, RowMapping]:
    """The rows of these buckets, held until the transaction ends; None stands for no group."""
    wanted = sorted({one for one in bucket_ids if one is not None})
    rows = connection.execute(
        select(BUCKETS).where(BUCKETS.c.bucket_id.in_(wanted)).order_by(BUCKETS.c.bucket_id).with_for_update()
    )
    return {row["bucket_id"]: row for row in rows.mappings()}


def hold_documents(connection: Connection) -> None:
    """No document is committed until the transaction ends; on SQLite a transaction that writes is alone already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE documents IN SHARE MODE"))


def use_documents(connection: Connection) -> None:
    """Waits for who holds them, and lets nobody hold them until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE documents IN ROW EXCLUSIVE MODE"))


_NOW = select(database_now())


@contextmanager
def _reachable(engine: Engine) -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        where = engine.url.render_as_string(hide_password=True)
        raise FrontierUnavailableError(
            f"the frontier at {where}: {str(error.orig).splitlines()[0]}",
            "a database that answers",
            "start it, or correct the setting frontier_url",
        ) from error


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite":
            return _sqlite(url, parsed.database)
        if parsed.get_backend_name() == "postgresql":
            return create_engine(parsed.set(drivername="postgresql+psycopg"), pool_size=2, max_overflow=14)
    except (ArgumentError, NoSuchModuleError) as error:
        raise _refusal(url) from error
    except ModuleNotFoundError as error:
        raise SettingError(
            "setting frontier_url names PostgreSQL", "the package psycopg", "pip install 'tallystick[postgres]'"
        ) from error
    raise _refusal(url)


def _refusal(url: str) -> SettingError:
    scheme = url.partition(":")[0]
    return SettingError(
        f"setting frontier_url begins with {scheme!r}",
        "sqlite:///file or postgresql://user@host/database",
        "correct it",
    )


def _sqlite(url: str, file: str | None) -> Engine:
    if not file or not Path(file).parent.is_dir():
        raise SettingError(
            f"setting frontier_url names the file {file!r}", "a file in a folder that exists", "correct it"
        )
    _use_wal(Path(file))
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, pool_size=2, max_overflow=14)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we begin our transactions ourselves, below
        cursor = connection.cursor()
        for pragma in ("synchronous = NORMAL", "foreign_keys = ON", "cache_size = -32000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        is_reading = connection.get_execution_options().get("is_reading", False)
        connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")

    return engine


def _use_wal(file: Path) -> None:
    """Sets the journal mode, which stays with the file. SQLite does not wait when two do that at once; we do."""
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with closing(sqlite3.connect(file, BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    finally:
        os.close(folder)
