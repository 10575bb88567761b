"""The books as they stood: which seals were visible at an instant, and about which instants nothing can be said."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from domain.as_of import books_at, check_settled, sealed_later
from domain.buckets import HOUR, parse_utc
from domain.errors import IntegrityError, UsageError
from domain.periods import PeriodClose, parse_period
from domain.publications import Publication, PublicationDraft, chain_draft
from domain.seals import Seal, chain_drafts
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT, fixed_salt, seal_draft

SECOND, THIRD, FOURTH = (FIRST_HOUR + n * HOUR for n in (1, 2, 3))
TICK = timedelta(microseconds=1)
MINUTES = [WRITTEN_AT + timedelta(minutes=n) for n in range(4)]


def _seals(*hours: datetime) -> list[Seal]:
    """One seal each, under the next revision of its hour."""
    drafts = [
        seal_draft(hour=hour, attempt=f"attempt-{number}", revision=hours[:number].count(hour))
        for number, hour in enumerate(hours)
    ]
    return chain_drafts([], drafts, WRITTEN_AT, fixed_salt)


def _publications(*shown: tuple[datetime, int, datetime]) -> list[Publication]:
    """Of each: when, the newest seal's number, final until."""
    publications: list[Publication] = []
    for at, number, until in shown:
        versions = {"minute_version": 1, "hour_version": 1, "day_version": 1}
        draft = PublicationDraft(seal_number=number, final_until=until, **versions)
        publications.append(chain_draft(publications[-1] if publications else None, draft, at))
    return publications


SEALS = _seals(FIRST_HOUR, SECOND, FIRST_HOUR, THIRD)
"""The first hour is revised by seal 3."""
PUBLICATIONS = _publications((MINUTES[0], 2, THIRD), (MINUTES[1], 3, THIRD), (MINUTES[2], 4, FOURTH))


@pytest.mark.parametrize(
    ("at", "number", "held"),
    [
        (MINUTES[0], 1, {FIRST_HOUR: 1, SECOND: 2}),
        (MINUTES[1] - TICK, 1, {FIRST_HOUR: 1, SECOND: 2}),
        (MINUTES[1], 2, {FIRST_HOUR: 3, SECOND: 2}),
        (MINUTES[2], 3, {FIRST_HOUR: 3, SECOND: 2, THIRD: 4}),
        (MINUTES[3], 3, {FIRST_HOUR: 3, SECOND: 2, THIRD: 4}),
    ],
    ids=["the first, to the microsecond", "just before the next", "the next", "the newest", "long after"],
)
def test_the_newest_publication_of_that_time_shows_its_seals(
    at: datetime, number: int, held: dict[datetime, int]
) -> None:
    """Seal 3 was made between the first two publications: nobody saw it before the second."""
    books = books_at(at, SEALS, PUBLICATIONS, [])
    assert books.publication.publication_number == number
    assert {hour: seal.seal_number for hour, seal in books.seals.items()} == held
    assert (books.final_from, books.final_until) == (FIRST_HOUR, max(held) + HOUR)


def test_before_the_first_publication_nothing_can_be_said() -> None:
    with pytest.raises(UsageError) as caught:
        books_at(MINUTES[0] - TICK, SEALS, PUBLICATIONS, [])
    assert "2026-05-04T20:00:00.123456Z" in caught.value.expected
    with pytest.raises(UsageError, match="nothing was published; expected a publication"):
        books_at(MINUTES[0], [], [], [])


def test_an_hour_behind_a_hole_was_not_final() -> None:
    seals = _seals(FIRST_HOUR, THIRD)
    books = books_at(MINUTES[0], seals, _publications((MINUTES[0], 2, SECOND)), [])
    assert list(books.seals) == [FIRST_HOUR]
    assert books.not_final(FIRST_HOUR, FOURTH) == ((SECOND, FOURTH),)


def test_parts_of_a_range_that_were_not_final() -> None:
    books = books_at(MINUTES[0], SEALS, PUBLICATIONS, [])
    before = FIRST_HOUR - HOUR
    assert books.not_final(before, FOURTH) == ((before, FIRST_HOUR), (THIRD, FOURTH))
    assert books.not_final(FIRST_HOUR, THIRD) == ()
    assert books.not_final(before - HOUR, before) == ((before - HOUR, before),)
    assert books.not_final(THIRD + HOUR, FOURTH + HOUR) == ((THIRD + HOUR, FOURTH + HOUR),)


def test_hours_sealed_since_are_told_by_their_first_seal() -> None:
    """The third hour is sealed, then revised, then a fourth one is sealed and not published yet."""
    seals = _seals(FIRST_HOUR, SECOND, THIRD, THIRD, FOURTH)
    publications = _publications((MINUTES[0], 2, THIRD), (MINUTES[1], 4, FOURTH))
    books = books_at(MINUTES[0], seals, publications, [])
    first, after = FIRST_HOUR - HOUR, FOURTH + HOUR
    assert [seal.seal_number for seal in sealed_later(books, seals, publications, first, after)] == [3]
    assert sealed_later(books, seals, publications, first, THIRD) == []
    last_minute = FOURTH - timedelta(minutes=1)
    assert [seal.seal_number for seal in sealed_later(books, seals, publications, last_minute, FOURTH)] == [3]


def test_closes_are_those_of_that_time() -> None:
    said = {"actor": "ada", "last_seal_number": 1, "root_digest": "0" * 64, "billable_clicks": 7, "hour_count": 1}
    close = PeriodClose(period=parse_period("2026-04"), closed_at=MINUTES[1], **said)
    assert books_at(MINUTES[1] - TICK, SEALS, PUBLICATIONS, [close]).closed_until is None
    assert books_at(MINUTES[1], SEALS, PUBLICATIONS, [close]).closed_until == parse_utc("2026-05-01T00:00Z")


def test_a_missing_seal_is_not_answered_around() -> None:
    """An hour that was final and has no seal any more would be answered as one without clicks."""
    without = [seal for seal in SEALS if seal.hour != SECOND]
    with pytest.raises(IntegrityError, match=r"shows seals up to \d, \d are there"):
        books_at(MINUTES[0], without, PUBLICATIONS, [])


NOW = parse_utc("2026-05-05T00:00Z")


@pytest.mark.parametrize(
    ("at", "found"),
    [
        (NOW + TICK, "--as-of 2026-05-05T00:00:00.000001Z lies in the future"),
        (NOW, "--as-of 2026-05-05T00:00:00Z is less than 60 seconds ago"),
        (NOW - timedelta(seconds=60) + TICK, "--as-of 2026-05-04T23:59:00.000001Z is less than 60 seconds ago"),
    ],
)
def test_what_can_still_change_is_refused(at: datetime, found: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_settled("--as-of", at, NOW)
    assert caught.value.found == found


def test_a_minute_ago_is_settled() -> None:
    check_settled("--as-of", NOW - timedelta(seconds=60), NOW)
