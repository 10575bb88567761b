"""Opening a frontier: its tables, its clock, and URLs that are none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from crawler.frontier.database import FrontierUnavailableError, Policy, frontier_of, now_of, open_frontier
from crawler.frontier.schema import FRONTIER_CLOCK, METADATA
from domain.buckets import to_unix_micros
from domain.errors import SettingError
from domain.politeness import SECOND_MICROS
from domain.settings import Settings
from tests.support.frontiers import FrontierWorld
from warehouse.clock import now


def test_several_open_an_empty_database_at_once(frontier_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(open_frontier, [frontier_url] * 4))
    for frontier in opened:
        with frontier.reading() as connection:
            assert connection.execute(select(FRONTIER_CLOCK.c.offset_micros)).scalars().all() == [0]
        frontier.close()


def test_time_is_the_databases_in_microseconds(world: FrontierWorld) -> None:
    before = to_unix_micros(now())
    with world.frontier.reading() as connection:
        asked = now_of(connection)
    assert before - 1_000 <= asked <= to_unix_micros(now()) + 1_000
    world.pass_seconds(5_000)
    assert world.now() >= asked + 5_000 * SECOND_MICROS


def test_what_fails_is_rolled_back(world: FrontierWorld) -> None:
    world.add("https://a.example/")

    def change(url_state: str) -> None:
        with world.frontier.writing() as connection:
            connection.exec_driver_sql("UPDATE urls SET state = 'done', fence = 9")
            connection.exec_driver_sql(f"UPDATE urls SET state = '{url_state}'")

    with pytest.raises(IntegrityError):
        change("leased")
    assert world.url("https://a.example/")["fence"] == 0
    assert world.url("https://a.example/")["state"] == "ready"


def test_the_databases_have_the_same_tables(world: FrontierWorld) -> None:
    with world.frontier.reading() as connection:
        assert {table.name for table in METADATA.sorted_tables if world.frontier.engine.dialect.has_table(
            connection, table.name
        )} == METADATA.tables.keys()  # fmt: skip


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://a@b/c", "begins with 'mysql'"),
        ("nonsense", "begins with 'nonsense'"),
        ("sqlite://", "names the file"),
        ("sqlite:////no/such/folder/x", "names the file '/no/such/folder/x'"),
    ],
)
def test_other_databases_are_refused(url: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        open_frontier(url)


def test_a_database_that_is_away_may_come_back(tmp_path: Path) -> None:
    with pytest.raises(FrontierUnavailableError) as caught:
        open_frontier(f"postgresql://u:secret@/db?host={tmp_path}")
    assert caught.value.is_transient
    assert "secret" not in str(caught.value)


def test_an_installation_has_a_frontier_of_its_own(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", crawl_gap_seconds=7, crawl_group="registrable_domain")
    frontier = frontier_of(settings)
    assert frontier.policy == Policy(7 * SECOND_MICROS, 1, 120 * SECOND_MICROS, is_grouped=True)
    assert (tmp_path / "home" / "frontier.sqlite").exists()
    frontier.close()
