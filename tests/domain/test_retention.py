"""What may be deleted: only what is old enough, sealed, published, closed and not held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from domain.disputes import Hold
from domain.errors import SettingError
from domain.periods import ClosedPeriods, parse_period
from domain.retention import (
    LOGGED_WITHIN,
    THIRTEEN_MONTHS_DAYS,
    Books,
    Partition,
    Policy,
    decide,
    is_lost,
    kept_days,
    parse_partition,
)
from domain.seals import Seal
from tests.support.periods import NOVEMBER, month_seals

SEALS = month_seals(NOVEMBER)
CLOSED = ClosedPeriods(frozenset({NOVEMBER}))
HOUR = Partition(date(2026, 11, 5), 9)
DAY = Partition(date(2026, 11, 5))
MINUTES = Policy("final_clicks_minute", 90)
RAW = Policy("raw_clicks", THIRTEEN_MONTHS_DAYS, timedelta(days=7) + LOGGED_WITHIN)
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def books(
    seals: Sequence[Seal] = SEALS,
    published_up_to: int = SEALS[-1].seal_number,
    closed: ClosedPeriods = CLOSED,
    holds: Sequence[Hold] = (),
) -> Books:
    return Books(seals, published_up_to, closed, holds)


def hold(start: datetime) -> Hold:
    return Hold("D-1", start, start + timedelta(hours=1), None)


def reasons(partition: Partition, policy: Policy = MINUTES, **of_books: Any) -> list[str]:
    return books(**of_books).against_deletion(partition, policy)


def test_a_partition_has_a_text_that_reads_back() -> None:
    assert [str(HOUR), str(DAY)] == ["2026-11-05T09", "2026-11-05"]
    assert [parse_partition(str(one)) for one in (HOUR, DAY)] == [HOUR, DAY]
    assert (HOUR.start, HOUR.end) == (datetime(2026, 11, 5, 9, tzinfo=UTC), datetime(2026, 11, 5, 10, tzinfo=UTC))
    assert (len(DAY.hours), DAY.end) == (24, datetime(2026, 11, 6, tzinfo=UTC))


def test_minutes_are_due_90_days_after_their_end_and_not_before() -> None:
    end = HOUR.end + timedelta(days=90)
    assert decide([HOUR], MINUTES, books(), end).deletable == (HOUR,)
    assert decide([HOUR], MINUTES, books(), end - timedelta(microseconds=1)).deletable == ()


def test_raw_is_due_as_much_later_as_it_is_looked_back_at() -> None:
    """Its youngest reader lives for thirteen months, too: without this an hour is verifiable for 389 days only."""
    both = ClosedPeriods(frozenset({NOVEMBER, parse_period("2026-12")}))
    end = HOUR.end + timedelta(days=THIRTEEN_MONTHS_DAYS + 8)
    assert decide([HOUR], RAW, books(closed=both), end).deletable == (HOUR,)
    assert decide([HOUR], RAW, books(closed=both), end - timedelta(microseconds=1)).deletable == ()


def test_what_is_kept_for_ever_is_never_due() -> None:
    assert decide([DAY], Policy("final_clicks_day", None), books(), LATER).deletable == ()
    assert str(Policy("final_clicks_day", None)) == "for ever"


@pytest.mark.parametrize(
    ("of_books", "why"),
    [
        pytest.param({"seals": [], "published_up_to": 0}, "it is not sealed", id="unsealed"),
        pytest.param({"published_up_to": 1}, "it is sealed, but not published", id="unpublished"),
        pytest.param({"closed": ClosedPeriods(frozenset())}, "period 2026-11 is open", id="open"),
        pytest.param({"holds": [hold(HOUR.start)]}, "dispute D-1 holds it", id="held"),
    ],
)
def test_a_partition_that_is_due_stays_for_a_reason(of_books: dict[str, Any], why: str) -> None:
    """F7."""
    decision = decide([HOUR], MINUTES, books(**of_books), LATER)
    assert (decision.deletable, decision.refused) == ((), {HOUR: (why,)})


def test_all_reasons_are_named_at_once() -> None:
    held = Hold("D-2", HOUR.start, HOUR.end, LATER)
    found = reasons(HOUR, seals=[], published_up_to=0, closed=ClosedPeriods(frozenset()), holds=[held])
    assert found == ["it is not sealed", "period 2026-11 is open", "dispute D-2 holds it until 2030-01-01T00:00:00Z"]


def test_a_date_is_refused_for_one_of_its_hours() -> None:
    missing = [seal for seal in SEALS if seal.hour != HOUR.start]
    assert reasons(DAY, seals=missing, published_up_to=len(SEALS)) == ["1 of its hours are not sealed"]
    assert reasons(DAY, holds=[hold(HOUR.start)]) == ["dispute D-1 holds it"]
    assert reasons(DAY) == []


def test_the_hours_before_the_books_began_hold_up_their_date_only_while_it_is_open() -> None:
    later = [seal for seal in SEALS if seal.hour >= HOUR.start]
    assert reasons(DAY, seals=later) == []
    assert reasons(DAY, seals=later, closed=ClosedPeriods(frozenset()))[0] == "9 of its hours are not sealed"
    assert reasons(Partition(HOUR.day, 8), seals=later) == ["it is not sealed"]


def test_raw_is_held_as_far_as_the_disputed_hours_look_back() -> None:
    """A held hour's duplicates are judged by seven days before it."""
    disputed = [hold(HOUR.start)]
    before = Partition(date(2026, 11, 1), 3)
    assert reasons(before, RAW, holds=disputed) == ["dispute D-1 holds it"]
    assert reasons(before, MINUTES, holds=disputed) == []


@pytest.mark.parametrize(
    ("hour", "is_held"),
    [
        pytest.param(datetime(2026, 11, 7, 22, tzinfo=UTC), False, id="before-all-that-is-looked-at"),
        pytest.param(datetime(2026, 11, 7, 23, tzinfo=UTC), True, id="horizon-and-a-day-before"),
        pytest.param(datetime(2026, 11, 16, 23, tzinfo=UTC), True, id="logged-a-day-after"),
        pytest.param(datetime(2026, 11, 17, 0, tzinfo=UTC), False, id="after-all-that-is-looked-at"),
    ],
)
def test_a_hold_reaches_as_far_as_a_recount_looks(hour: datetime, is_held: bool) -> None:
    """F7. Of 23:00 on the 15th, with a horizon of seven days: seven days and one before, a day after its end."""
    disputed = [hold(datetime(2026, 11, 15, 23, tzinfo=UTC))]
    found = reasons(Partition(hour.date(), hour.hour), RAW, holds=disputed)
    assert found == (["dispute D-1 holds it"] if is_held else [])


def test_the_identities_of_a_held_hour_are_held_on_the_log_date_after_it() -> None:
    """F7. They are filed by when they were logged: a click of 23:59:59.9 that was logged behind midnight is of D+1."""
    disputed = [hold(datetime(2026, 11, 15, 23, tzinfo=UTC))]
    identities = Policy("click_identities", THIRTEEN_MONTHS_DAYS, RAW.look_back)
    assert reasons(Partition(date(2026, 11, 16)), identities, holds=disputed) == ["dispute D-1 holds it"]
    assert reasons(Partition(date(2026, 11, 17)), identities, holds=disputed) == []


@pytest.mark.parametrize(
    ("hours_away", "is_it"), [(-8 * 24 - 1, False), (-8 * 24, True), (0, True), (1, True), (2, False)]
)
def test_an_hour_is_lost_with_what_it_rests_on(hours_away: int, is_it: bool) -> None:
    """Seven days of horizon and a day before it; what is deleted farther away is not missed."""
    deleted = {HOUR.start + timedelta(hours=hours_away)}
    assert is_lost(HOUR.start, timedelta(days=7), deleted) is is_it


def test_raw_stays_while_hours_that_look_back_at_it_are_open() -> None:
    """The last week of a closed month is what the next one's duplicates are judged by."""
    assert reasons(Partition(date(2026, 11, 29), 3), RAW) == ["period 2026-12 is open"]
    assert reasons(Partition(date(2026, 11, 22), 23), RAW) == []
    both = ClosedPeriods(frozenset({NOVEMBER, parse_period("2026-12")}))
    assert reasons(Partition(date(2026, 11, 29), 3), RAW, closed=both) == []


@pytest.mark.parametrize(("setting_days", "kept"), [(0, 1096), (397, 397), (2000, 2000)])
def test_a_setting_takes_the_place_of_what_a_table_declares(setting_days: int, kept: int) -> None:
    assert kept_days(1096, "raw_retention_days", setting_days) == kept


@pytest.mark.parametrize("setting_days", [1, 90, 396])
def test_nothing_is_set_to_less_than_thirteen_months(setting_days: int) -> None:
    with pytest.raises(SettingError, match=f"raw_retention_days is {setting_days}; expected 0, or at least 397"):
        kept_days(None, "raw_retention_days", setting_days)
