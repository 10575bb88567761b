"""Billing periods: months, what stands against a close, and a root digest that anybody can recompute."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import HOUR
from domain.errors import UsageError
from domain.periods import (
    ClosedPeriods,
    Period,
    PeriodClosedError,
    close_of,
    closed_periods,
    parse_period,
    period_of,
    reasons_against_close,
    root_digest,
    seals_of,
)
from domain.seals import Seal, chain_drafts
from tests.support.ledgers import fixed_salt, seal_draft
from tests.support.periods import BILLABLE, CLOSED_AT, DECEMBER, NOVEMBER, OCTOBER, month_seals, publication_of

NONE_CLOSED = ClosedPeriods(frozenset())


@pytest.fixture(scope="module")
def november() -> list[Seal]:
    return month_seals(NOVEMBER)


def _reasons(seals: list[Seal], closed: ClosedPeriods = NONE_CLOSED, now: datetime = CLOSED_AT) -> list[str]:
    return reasons_against_close(NOVEMBER, now, seals=seals, publications=publication_of(seals), closed=closed)


@pytest.mark.parametrize(
    ("text", "hours", "end"),
    [
        ("2026-11", 720, datetime(2026, 12, 1, tzinfo=UTC)),
        ("2026-12", 744, datetime(2027, 1, 1, tzinfo=UTC)),
        ("2028-02", 696, datetime(2028, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_period_is_a_utc_month(text: str, hours: int, end: datetime) -> None:
    period = parse_period(text)
    assert (str(period), len(period.hours), period.end) == (text, hours, end)
    assert (period_of(end - timedelta(microseconds=1)), period_of(end)) == (period, period.following)


@pytest.mark.parametrize("text", ["2026-13", "2026-00", "2026-1", "2026-11-01", " 2026-11", "2026-11\n", "٢٠٢٦-11", ""])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a UTC month such as 2026-11"):
        parse_period(text)


def test_an_instant_with_another_zone_lies_in_its_utc_month() -> None:
    assert period_of(datetime.fromisoformat("2026-12-01T05:29+05:30")) == NOVEMBER


def test_nothing_stands_against_a_month_that_is_over_sealed_and_published(november: list[Seal]) -> None:
    assert _reasons(november) == []
    assert _reasons(november, now=NOVEMBER.end) == []


def test_a_month_that_is_not_over_stays_open(november: list[Seal]) -> None:
    now = NOVEMBER.end - timedelta(microseconds=1)
    assert _reasons(november, now=now) == ["it is not over before 2026-12-01T00:00:00Z"]


def test_unsealed_hours_are_named_in_runs() -> None:
    start, end = NOVEMBER.start, NOVEMBER.end
    seals = month_seals(NOVEMBER, without=[start + HOUR, start + 2 * HOUR, end - HOUR])
    assert _reasons(seals) == [
        "hours 2026-11-01T01:00:00Z to 2026-11-01T03:00:00Z are not sealed",
        "hour 2026-11-30T23:00:00Z is not sealed",
    ]


def test_the_books_begin_with_the_first_sealed_hour() -> None:
    """Before it nobody has to seal a thing, unless somebody clicked."""
    begin = NOVEMBER.start + 9 * HOUR
    seals = month_seals(NOVEMBER, without=[hour for hour in NOVEMBER.hours if hour < begin])
    said = {"seals": seals, "publications": publication_of(seals), "closed": NONE_CLOSED}
    assert reasons_against_close(NOVEMBER, CLOSED_AT, **said) == []
    found = reasons_against_close(NOVEMBER, CLOSED_AT, **said, filled={begin - HOUR, begin})
    assert found == ["hour 2026-11-01T08:00:00Z is not sealed"]
    december = month_seals(DECEMBER)
    found = reasons_against_close(
        NOVEMBER, CLOSED_AT, seals=december, publications=publication_of(december), closed=NONE_CLOSED
    )
    assert found == ["hours 2026-11-01T00:00:00Z to 2026-12-01T00:00:00Z are not sealed"]


def test_nothing_sealed_and_nothing_published() -> None:
    found = reasons_against_close(NOVEMBER, CLOSED_AT, seals=[], publications=[], closed=NONE_CLOSED)
    assert found == ["hours 2026-11-01T00:00:00Z to 2026-12-01T00:00:00Z are not sealed"]


def test_an_unpublished_revision_is_named(november: list[Seal]) -> None:
    draft = seal_draft(hour=NOVEMBER.start, revision=1)
    seals = november + chain_drafts(november, [draft], CLOSED_AT, fixed_salt)
    found = reasons_against_close(
        NOVEMBER, CLOSED_AT, seals=seals, publications=publication_of(november), closed=NONE_CLOSED
    )
    assert found == ["hour 2026-11-01T00:00:00Z is sealed, but not published"]


def test_a_broken_chain_stands_against_it(november: list[Seal]) -> None:
    assert _reasons([*november[:5], *november[6:]]) != []
    assert "seal 7: does not follow the hash of the row before it" in _reasons([*november[:5], *november[6:]])


def test_an_open_month_before_it_of_which_something_is_sealed_comes_first() -> None:
    before = [hour for hour in OCTOBER.hours if hour < OCTOBER.end - HOUR]
    seals = month_seals(OCTOBER, NOVEMBER, without=before)
    assert _reasons(seals) == ["period 2026-10 is open, and hours of it are sealed: close it first"]
    assert _reasons(seals, ClosedPeriods(frozenset({OCTOBER}))) == []


def test_a_month_is_closed_once_and_none_before_the_first(november: list[Seal]) -> None:
    assert _reasons(november, ClosedPeriods(frozenset({NOVEMBER}))) == ["it is closed already"]
    assert _reasons(november, ClosedPeriods(frozenset({DECEMBER}))) == [
        "it lies before the first period that was closed"
    ]


@pytest.mark.parametrize(
    ("closed", "until"),
    [
        ([], None),
        (["2026-11"], "2026-12-01"),
        (["2026-11", "2026-12", "2027-01"], "2027-02-01"),
        (["2026-11", "2027-01"], "2026-12-01"),
    ],
    ids=["none", "one", "over the year", "a hole"],
)
def test_closed_until(closed: list[str], until: str | None) -> None:
    found = ClosedPeriods(frozenset(map(parse_period, closed))).closed_until
    assert found == (None if until is None else datetime.fromisoformat(f"{until}T00:00+00:00"))


@given(st.lists(st.integers(0, 30), unique=True, min_size=1))
def test_closed_until_never_moves_back(months: list[int]) -> None:
    """In whatever order months are asked to be closed: those before closed_until are refused."""
    closed = NONE_CLOSED
    for month in months:
        period = Period(2026 + month // 12, month % 12 + 1)
        if not closed.holds(period.start):
            before, closed = closed, ClosedPeriods(closed.periods | {period})
            assert before.closed_until is None or (closed.closed_until or period.start) >= before.closed_until


def test_which_hours_are_held() -> None:
    closed = ClosedPeriods(frozenset({NOVEMBER, DECEMBER.following}))
    assert [closed.holds(at) for at in (NOVEMBER.start, NOVEMBER.end - HOUR, DECEMBER.start)] == [True, True, False]
    assert closed.holds(DECEMBER.following.start)
    assert closed.holds(OCTOBER.start)
    closed.check_open([DECEMBER.start])
    with pytest.raises(PeriodClosedError, match=r"2026-11-01T00:00:00Z would be sealed, but period 2026-11 is closed"):
        closed.check_open([DECEMBER.start, NOVEMBER.start])
    with pytest.raises(PeriodClosedError, match=r"period 2026-10 lies before the first closed one"):
        closed.check_open([OCTOBER.start])
    NONE_CLOSED.check_open([NOVEMBER.start])


def test_the_root_digest_by_hand() -> None:
    """The bytes of docs/periods.md, written down again."""
    two = [seal_draft(0), seal_draft(1, raw_clicks=0, billable_clicks=0, excluded_clicks={}, digest="0" * 64)]
    text = (
        f'2026-05-04T10:00:00Z|1|{"0" * 63}1|10|7|{{"duplicate":2,"head":1}}\n'
        f"2026-05-04T11:00:00Z|2|{'0' * 64}|0|0|{{}}\n"
    )
    assert root_digest(chain_drafts([], two, CLOSED_AT, fixed_salt)) == hashlib.sha256(text.encode()).hexdigest()
    assert root_digest([]) == hashlib.sha256().hexdigest()


def test_the_digest_is_of_the_seals_that_hold_by_hour() -> None:
    """A revision takes the place of the seal before it; the order of sealing does not matter, other months do not."""
    most = month_seals(NOVEMBER, without=[NOVEMBER.start])
    first = [seal_draft(hour=NOVEMBER.start, revision=0)]
    revised = [seal_draft(hour=NOVEMBER.start, revision=1, raw_clicks=11, billable_clicks=8)]
    later = chain_drafts(most, [*first, *revised, seal_draft(hour=DECEMBER.start)], CLOSED_AT, fixed_salt)
    seals = most + later
    held = seals_of(NOVEMBER, seals)
    assert [seal.hour for seal in held] == NOVEMBER.hours
    assert held[0] == later[1]
    close = close_of(NOVEMBER, seals, "ada", CLOSED_AT)
    assert (close.last_seal_number, close.hour_count) == (721, 720)
    assert close.billable_clicks == 720 * BILLABLE + 1
    assert close.root_digest == root_digest(held) != root_digest(reversed(held))


def test_a_certificate_has_the_same_bytes_for_the_same_close(november: list[Seal]) -> None:
    close = close_of(NOVEMBER, november, "ada", CLOSED_AT)
    assert close.certificate() == close_of(NOVEMBER, november, "ada", CLOSED_AT).certificate()
    assert close.certificate().endswith(b"}\n")
    assert json.loads(close.certificate()) == {
        "actor": "ada",
        "billable_clicks": 5040,
        "closed_at": "2026-12-02T08:00:00.500000Z",
        "end": "2026-12-01T00:00:00Z",
        "hour_count": 720,
        "last_seal_number": 720,
        "period": "2026-11",
        "root_digest": close.root_digest,
        "start": "2026-11-01T00:00:00Z",
    }
    assert closed_periods([close]) == ClosedPeriods(frozenset({NOVEMBER}))
