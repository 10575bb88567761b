"""What a run may be asked for, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.errors import UsageError
from tests.traffic.samples import START, options
from traffic.options import Shares, time_range

NOW = datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param((None, None, None), (datetime(2026, 3, 1, 9, tzinfo=UTC), TEN + 2 * HOUR), id="default"),
        pytest.param((None, None, 2), (TEN, TEN + 2 * HOUR), id="hours"),
        pytest.param((None, TEN, 4), (TEN - 4 * HOUR, TEN), id="until and hours"),
        pytest.param((TEN, None, 1), (TEN, TEN + HOUR), id="from and hours"),
        pytest.param(
            (TEN, TEN + timedelta(days=0, minutes=7), None), (TEN, TEN + timedelta(minutes=7)), id="both ends"
        ),
    ],
)
def test_time_range(asked: tuple[Any, Any, Any], expected: tuple[datetime, datetime]) -> None:
    assert time_range(*asked, now=NOW) == expected


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        pytest.param((TEN, TEN + HOUR, 1), "together", id="all three"),
        pytest.param((TEN, None, 3), "2026-03-01T13:00:00Z", id="ends in the future"),
        pytest.param((None, NOW + HOUR, None), "2026-03-01T13:34:56Z", id="until in the future"),
    ],
)
def test_time_range_refused(asked: tuple[Any, Any, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        time_range(*asked, now=NOW)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        pytest.param({"clicks_count": 0}, "clicks is 0", id="no clicks"),
        pytest.param({"ads_count": 0}, "ads is 0", id="no ads"),
        pytest.param({"advertisers_count": 21}, "advertisers is 21; expected 1 to 20", id="advertisers without ads"),
        pytest.param({"hot_share": 1.5}, "hot-share is 1.5", id="hot share"),
        pytest.param({"end_at": START}, "is empty", id="empty range"),
        pytest.param({"start_at": START + timedelta(seconds=1)}, "whole minute", id="no whole minute"),
        pytest.param({"start_at": START.replace(year=1999)}, "from is 1999", id="before valid years"),
    ],
)
def test_options_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        options(**changes)


def test_shares_of_a_group_are_bounded_together() -> None:
    assert Shares(late=0.5, out_of_order=0.5)
    with pytest.raises(UsageError, match=r"arrival: out_of_order 0\.6, late 0\.5"):
        Shares(late=0.5, out_of_order=0.6)
    with pytest.raises(UsageError, match="copies"):
        Shares(duplicates=-0.1)


def test_run_id_follows_every_option() -> None:
    base = options()
    others = [
        replace(base, seed=8),
        replace(base, clicks_count=2_001),
        replace(base, hot_share=0.31),
        replace(base, shares=replace(base.shares, late=0.051)),
        base.over_http(),
    ]
    assert options().run_id == base.run_id
    assert len({base.run_id, *(other.run_id for other in others)}) == len(others) + 1
