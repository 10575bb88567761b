"""The history of live against final: of the seals that hold and are published, and of no other."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from domain.buckets import parse_utc
from quality.drift_history import read_errors, seals_between
from tests.support.books import Books, books, by_hour
from tests.support.counts_tables import Clicks

TEN = parse_utc("2026-05-03T10:00Z")
ELEVEN, NOON = TEN + timedelta(hours=1), TEN + timedelta(hours=2)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """Hours 10 and 11, hour 10 revised; hour 12 sealed and not published."""
    found = books(tmp_path_factory.mktemp("drift") / "home")
    theirs = Clicks("2026-05-03T11:06Z", 5, ad=2, advertiser=11)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8), Clicks("2026-05-03T11:05Z", 4), theirs), live={10: 9, 11: 1})
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 7)), live={10: 9})
    found.publish(TEN)
    found.seal(by_hour(Clicks("2026-05-03T12:05Z", 7)), live={10: 9})
    return found


def _errors(history: Books, start: datetime | None, end: datetime | None, who: int | None = None) -> list[object]:
    found = read_errors(history.settings, seals_between(history.settings, start, end), who)
    return [(one.hour, one.advertiser_id, one.live_clicks, one.final_clicks, one.difference_clicks) for one in found]


ALL = [(TEN, 10, 9, 7, 2), (ELEVEN, 10, 9, 4, 5), (ELEVEN, 11, 1, 5, -4)]


def test_errors_are_those_of_the_seals_that_readers_see(history: Books) -> None:
    """Hour 10 by its revision; hour 12 is not published."""
    assert _errors(history, None, None) == ALL


def test_a_range_and_an_advertiser(history: Books) -> None:
    """Law 13: half-open, and only who is asked for."""
    assert _errors(history, TEN, ELEVEN) == ALL[:1]
    assert _errors(history, ELEVEN, None) == ALL[1:]
    assert _errors(history, None, None, 11) == ALL[2:]
    assert _errors(history, NOON, None) == []
