"""The highest offset that a table holds, per partition of one log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from deltalake import write_deltalake

from domain.settings import Settings
from warehouse.held_offsets import held_offsets
from warehouse.layout import open_table
from warehouse.schema import arrow_rows
from warehouse.tables import CLICK_IDENTITIES

AT = datetime(2026, 5, 4, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def hold(settings: Settings, *places: tuple[int, int, int, datetime]) -> None:
    rows = (
        {
            "identity": b"0123456789abcdef",
            "minted_at": None,
            "dimensions": 1,
            "log": log,
            "partition": partition,
            "offset": offset,
            "logged_at": logged_at,
            "log_date": logged_at.date(),
        }
        for log, partition, offset, logged_at in places
    )
    write_deltalake(open_table(settings, "click_identities"), arrow_rows(CLICK_IDENTITIES, rows), mode="append")


def test_an_empty_table_holds_nothing(settings: Settings) -> None:
    assert held_offsets(settings, CLICK_IDENTITIES, 1, None) == {}


def test_the_highest_of_each_partition_of_that_log(settings: Settings) -> None:
    hold(settings, (1, 0, 5, AT), (1, 0, 9, AT), (1, 3, 2, AT))
    hold(settings, (1, 0, 7, AT), (2, 0, 100, AT))
    assert held_offsets(settings, CLICK_IDENTITIES, 1, None) == {0: 9, 3: 2}
    assert held_offsets(settings, CLICK_IDENTITIES, 2, None) == {0: 100}


def test_only_what_was_logged_since(settings: Settings) -> None:
    hold(settings, (1, 0, 5, AT - MINUTE), (1, 1, 6, AT), (1, 2, 7, AT + MINUTE))
    assert held_offsets(settings, CLICK_IDENTITIES, 1, AT) == {1: 6, 2: 7}
