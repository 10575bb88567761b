"""SQL for people: one moment, each row final or live, nothing that writes, and a file that other programs open."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from domain.errors import UsageError
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables, hours
from tests.support.periods import NOVEMBER, close_month, settle_month
from warehouse.layout import TableMissingError
from warehouse.sql_views import rows_of_answer, run_sql, sql_session, write_sql_file
from warehouse.tables import TABLES

LIVE = [
    Clicks("2026-05-03T09:59Z", 1),
    Clicks("2026-05-03T10:05Z", 9),  # stale: the batch counted 8
    Clicks("2026-05-03T12:01Z", 16, country="FR"),
]
FINAL = [Clicks("2026-05-03T10:05Z", 8), Clicks("2026-05-03T11:30Z", 2)]
EACH_MINUTE = "SELECT strftime(minute, '%H:%M'), clicks, source, final FROM clicks_minute ORDER BY minute"
EXPECTED = [
    ("09:59", 1, "stream", False),
    ("10:05", 8, "batch", True),
    ("11:30", 2, "batch", True),
    ("12:01", 16, "stream", False),
]


@pytest.fixture
def tables(settings: Settings) -> CountsTables:
    tables = CountsTables(settings)
    tables.write_live(LIVE)
    tables.settle(FINAL, hours("2026-05-03T10:00Z", 2))
    return tables


def _asked(settings: Settings, statement: str) -> list[tuple[object, ...]]:
    with sql_session(settings) as session:
        return run_sql(session, statement).fetchall()


def test_each_minute_is_of_the_batch_before_final_until_and_of_the_stream_elsewhere(tables: CountsTables) -> None:
    assert _asked(tables.settings, EACH_MINUTE) == EXPECTED
    bounds = "SELECT DISTINCT strftime(final_until, '%H:%M'), closed_until FROM clicks_minute"
    assert _asked(tables.settings, bounds) == [("12:00", None)]


def test_final_tables_are_those_of_the_publication(tables: CountsTables) -> None:
    """Rows that were written but not published are not shown, by any view."""
    tables.write_final([*FINAL, Clicks("2026-05-03T11:31Z", 500)])
    assert _asked(tables.settings, "SELECT sum(clicks) FROM final_clicks_minute") == [(10,)]
    assert _asked(tables.settings, EACH_MINUTE) == EXPECTED


def test_before_the_first_seal_everything_is_live(settings: Settings) -> None:
    tables = CountsTables(settings)
    tables.write_live(LIVE)
    assert {row[2:] for row in _asked(settings, EACH_MINUTE)} == {("stream", False)}
    assert _asked(settings, "SELECT count(*) FROM final_clicks_day") == [(0,)]
    assert _asked(settings, "SELECT final_until FROM finality") == [(None,)]


def test_finance_can_filter_by_what_is_closed(settings: Settings) -> None:
    tables = CountsTables(settings)
    settle_month(tables, NOVEMBER)
    close_month(tables.settings, NOVEMBER)
    closed = "SELECT strftime(closed_until, '%Y-%m-%d') FROM finality"
    assert _asked(tables.settings, closed) == [("2026-12-01",)]


def test_every_table_has_a_view(tables: CountsTables) -> None:
    shown = {row[0] for row in _asked(tables.settings, "SHOW TABLES")}
    assert shown == {*TABLES, "clicks_minute", "finality", "published_seals"}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM seals",
        "DROP VIEW seals",
        "CREATE TABLE mine AS SELECT 1",
        "COPY (SELECT 1) TO 'mine.csv'",
        "SET enable_external_access = true",
        "ATTACH 'mine.db'",
        "SELECT 1; SELECT 2",
        "",
        "SELEC 1",
        "SELECT * FROM no_such_table",
        "SELECT * FROM read_csv('/etc/hostname')",
        "EXPLAIN ANALYZE DELETE FROM finality",
    ],
)
def test_what_does_not_only_read_the_tables_is_refused(tables: CountsTables, statement: str) -> None:
    with sql_session(tables.settings) as session, pytest.raises(UsageError):
        run_sql(session, statement)
    assert _asked(tables.settings, EACH_MINUTE) == EXPECTED


def test_a_plain_duckdb_opens_the_file_and_sees_the_same(tables: CountsTables, tmp_path: Path) -> None:
    path = tmp_path / "it's [tally]*.duckdb"
    write_sql_file(tables.settings, path)
    with duckdb.connect(str(path), read_only=True) as database, sql_session(tables.settings) as session:
        database.execute("SET TimeZone = 'UTC'")
        assert database.sql(EACH_MINUTE).fetchall() == EXPECTED
        for name in TABLES:
            described = f"SELECT column_name, column_type FROM (DESCRIBE {name})"
            assert database.sql(described).fetchall() == session.sql(described).fetchall(), name
            rows = f"SELECT * FROM {name} ORDER BY ALL"
            assert database.sql(rows).fetchall() == session.sql(rows).fetchall(), name
    assert sorted(child.name for child in tmp_path.iterdir() if "tally" in child.name) == [path.name]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "UTC"])
def test_the_time_zone_of_who_opens_the_file_changes_no_figure(tables: CountsTables, tmp_path: Path, zone: str) -> None:
    """S1: hours are those of UTC, wherever the reader sits."""
    path = tmp_path / "tally.duckdb"
    write_sql_file(tables.settings, path)
    with duckdb.connect(str(path), read_only=True) as database:
        database.execute(f"SET TimeZone = '{zone}'")
        assert database.sql("SELECT final, sum(clicks) FROM clicks_minute GROUP BY ALL ORDER BY ALL").fetchall() == [
            (False, 17),
            (True, 10),
        ]


def test_an_error_in_the_middle_of_an_answer_is_a_refusal(tables: CountsTables) -> None:
    statement = "SELECT CAST(CASE WHEN i = 500000 THEN 'a' ELSE '1' END AS INT) FROM range(1000000) t(i)"
    with sql_session(tables.settings) as session:
        found = run_sql(session, statement)
        with pytest.raises(UsageError, match="SQL that DuckDB can run"):
            _all_rows(found)


def _all_rows(found: duckdb.DuckDBPyConnection) -> None:
    while rows_of_answer(found, 100_000):
        pass


def test_the_file_is_replaced_whole(tables: CountsTables, tmp_path: Path) -> None:
    path = tmp_path / "tally.duckdb"
    write_sql_file(tables.settings, path)
    tables.write_live([*LIVE, Clicks("2026-05-03T12:02Z", 5)])
    write_sql_file(tables.settings, path)
    with duckdb.connect(str(path), read_only=True) as database:
        assert database.sql("SELECT sum(clicks) FROM clicks_minute WHERE NOT final").fetchall() == [(22,)]


def test_no_tables_no_session(tmp_path: Path) -> None:
    with pytest.raises(TableMissingError), sql_session(Settings(home=tmp_path / "elsewhere")):
        pass
