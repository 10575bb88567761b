"""As of: what was final at an instant, and nothing else, whatever was sealed and revised since."""

from __future__ import annotations

import json
import tempfile
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from domain.buckets import DAY, HOUR, MINUTE, parse_utc
from domain.errors import IntegrityError, UsageError
from domain.periods import PeriodClose, parse_period
from tests.support.books import Books, books, by_hour
from tests.support.counts_tables import Clicks, CountsTables
from warehouse import counts_sql
from warehouse.counts import CountsReader
from warehouse.counts_query import GRANULARITIES, CountsQuery, GroupKey
from warehouse.counts_sql import AnswerTooLargeError
from warehouse.periods import append_close

MIDNIGHT = parse_utc("2026-05-03T00:00Z")
TEN, ELEVEN, NOON = (MIDNIGHT + n * HOUR for n in (10, 11, 12))
T1, T2, T3 = (MIDNIGHT + DAY + n * HOUR for n in (1, 2, 3))
BY_AD: tuple[GroupKey, ...] = ("ad",)


def _ask(found: Books, at: Any, **changes: Any) -> dict[str, Any]:
    said = {"start": MIDNIGHT, "end": MIDNIGHT + DAY, "granularity": "hour", "group_by": BY_AD} | changes
    answer = CountsReader(found.settings).answer(CountsQuery(as_of=at, **said))
    return dict(json.loads(b"".join(answer.json_chunks())))


def _rows(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(row["bucket"][11:16], row["ad_id"], row["clicks"], row["final"]) for row in document["rows"]]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """What no test changes."""
    return _history(tmp_path_factory.mktemp("books") / "home")


@pytest.fixture
def changed(tmp_path: Path) -> Books:
    """The same for a test that changes it."""
    return _history(tmp_path / "home")


def _history(home: Path) -> Books:
    """T1: hours 10 and 11. T2: hour 10 revised. T3: hour 12 too, which is then revised, sealed and not published."""
    found = books(home)
    first = by_hour(Clicks("2026-05-03T10:05Z", 8), Clicks("2026-05-03T11:05Z", 5, ad=2, advertiser=11))
    found.seal(first, live={10: 9, 11: 5})
    found.publish(T1)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 6), Clicks("2026-05-03T10:06Z", 1)))
    found.publish(T2)
    noon = by_hour(Clicks("2026-05-03T12:30Z", 40), Clicks("2026-05-03T12:31Z", 3, ad=2, advertiser=11))
    found.seal(noon, live={10: 38, 11: 3})
    found.publish(T3)
    found.seal(by_hour(Clicks("2026-05-03T12:30Z", 41)), live={10: 99})
    return found


def test_figures_are_those_that_were_published_then(history: Books) -> None:
    assert _rows(_ask(history, T1)) == [("10:00", 1, 8, True), ("11:00", 2, 5, True)]
    assert _rows(_ask(history, T2)) == [("10:00", 1, 7, True), ("11:00", 2, 5, True)]
    noon = [("12:00", 1, 40, True), ("12:00", 2, 3, True)]
    assert _rows(_ask(history, T3)) == [("10:00", 1, 7, True), ("11:00", 2, 5, True), *noon]


def test_a_day_that_was_final_in_part_has_that_part(history: Books) -> None:
    day = _ask(history, T1, granularity="day", group_by=())
    assert day["rows"] == [{"bucket": "2026-05-03T00:00:00Z", "clicks": 13, "final": False}]


def test_the_answer_says_how_far_figures_were_final(history: Books) -> None:
    document = _ask(history, T1, start=TEN)
    del document["rows"]
    assert document == {
        "from": "2026-05-03T10:00:00Z",
        "to": "2026-05-04T00:00:00Z",
        "time_zone": "UTC",
        "granularity": "hour",
        "group_by": ["ad"],
        "publication_number": 1,
        "final_from": "2026-05-03T10:00:00Z",
        "final_until": "2026-05-03T12:00:00Z",
        "closed_until": None,
        "as_of": "2026-05-04T01:00:00Z",
        "not_final": [{"from": "2026-05-03T12:00:00Z", "to": "2026-05-04T00:00:00Z"}],
        "sealed_later_count": 1,
        "later_errors": [
            _error(10, 38, 40),
            _error(11, 3, 3),
        ],
    }


def _error(advertiser: int, live: int, final: int) -> dict[str, Any]:
    clicks = {"live_clicks": live, "final_clicks": final, "difference_clicks": live - final}
    return {"hour": "2026-05-03T12:00:00Z", "advertiser_id": advertiser, **clicks}


def test_live_is_never_read(changed: Books) -> None:
    """F3: an estimate of an hour that was not final would pass for what was known then."""
    CountsTables(changed.settings).write_live([Clicks("2026-05-03T12:05Z", 1_000), Clicks("2026-05-03T09:05Z", 1)])
    assert [row[0] for row in _rows(_ask(changed, T1))] == ["10:00", "11:00"]
    assert _rows(_ask(changed, T1, start=NOON)) == []


def test_an_advertiser_gets_its_own_errors_only(history: Books) -> None:
    """Law 13."""
    document = _ask(history, T1, advertiser_id=11)
    assert document["later_errors"] == [_error(11, 3, 3)]
    assert _rows(document) == [("11:00", 2, 5, True)]
    nothing = _ask(history, T1, ad_ids=frozenset())
    assert (nothing["rows"], nothing["later_errors"]) == ([], [])


def test_rows_of_attempts_without_a_seal_and_later_closes_change_nothing(changed: Books) -> None:
    """A run that died before its seal leaves rows that no seal names. A close is known from its own time on."""
    before = _ask(changed, T1)
    changed.write_attempt("died", [Clicks("2026-05-03T10:05Z", 500)])
    said = {"actor": "ada", "last_seal_number": 1, "root_digest": "0" * 64, "billable_clicks": 7, "hour_count": 1}
    append_close(changed.settings, PeriodClose(period=parse_period("2026-04"), closed_at=T2, **said), 0)
    assert _ask(changed, T1) == before
    assert before["closed_until"] is None
    assert _ask(changed, T2)["closed_until"] == "2026-05-01T00:00:00Z"


def test_before_the_first_publication_is_refused(history: Books) -> None:
    with pytest.raises(UsageError, match="nothing was published; expected an instant from 2026-05-04T01:00:00Z"):
        _ask(history, T1 - MINUTE)


def test_too_many_rows_or_errors_are_refused(history: Books) -> None:
    noon = CountsQuery(NOON, NOON + HOUR, as_of=T1)
    assert len(CountsReader(history.settings, max_rows=2).answer(noon).past.later_errors) == 2  # type: ignore[union-attr]
    with pytest.raises(AnswerTooLargeError):
        CountsReader(history.settings, max_rows=1).answer(noon)
    with pytest.raises(AnswerTooLargeError):
        CountsReader(history.settings, max_rows=1).answer(CountsQuery(TEN, NOON, as_of=T1))


def test_attempts_that_are_not_what_was_sealed_are_refused(changed: Books) -> None:
    """Also where the row that was slipped in is another advertiser's, or lies outside the minutes asked for."""
    changed.write_attempt("attempt-20260503T11-0", [Clicks("2026-05-03T11:50Z", 1, ad=9, advertiser=99)])
    for changes in ({}, {"advertiser_id": 10}, {"start": ELEVEN, "end": ELEVEN + MINUTE}):
        with pytest.raises(IntegrityError, match="has 6 clicks in reconciled_clicks_minute; expected 5"):
            _ask(changed, T1, **changes)
    assert _rows(_ask(changed, T1, start=TEN, end=ELEVEN)) == [("10:00", 1, 8, True)]


def test_an_engine_without_memory_is_a_refusal(history: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an error of ours: whoever asks for less gets an answer."""
    monkeypatch.setitem(counts_sql.ENGINE_CONFIG, "memory_limit", "100KB")
    with pytest.raises(AnswerTooLargeError, match="attempts that take more than"):
        _ask(history, T1)


HOURS = 5


@settings_of_hypothesis(max_examples=3, deadline=None)
@given(st.integers(0, 2**32))
def test_answers_are_the_model_s_and_stay_the_same(seed: int) -> None:
    """Random histories of seals, revisions and publications. Then everything is revised: no byte of an answer moves."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as home:
        found = books(Path(home))
        at = MIDNIGHT + DAY
        for _ in range(random.randint(2, 4)):
            found.seal({TEN + hour * HOUR: _figures(random, hour) for hour in _some(random)})
            at += timedelta(minutes=random.randint(0, 2))
            if random.random() < 0.7:
                found.publish(at)
        found.publish(at + MINUTE)
        questions = [_question(random, found) for _ in range(6)]
        before = []
        for query in questions:
            answer = CountsReader(found.settings).answer(query)
            rows = [(row["bucket"], row["ad_id"], row["clicks"], row["final"]) for row in answer.rows]
            assert query.as_of is not None
            assert rows == found.expected(query.as_of, query.start, query.end, query.granularity)
            before.append(b"".join(answer.json_chunks()))
        sealed = sorted({hour for hour, _ in found.seals})
        found.seal({hour: _figures(random, hour.hour - TEN.hour) for hour in sealed})
        found.publish(at + 2 * MINUTE)
        reader = CountsReader(found.settings)
        assert [b"".join(reader.answer(query).json_chunks()) for query in questions] == before


def _some(random: Random) -> list[int]:
    return sorted(random.sample(range(HOURS), random.randint(1, HOURS)))


def _figures(random: Random, hour: int) -> list[Clicks]:
    minutes = random.sample(range(60), random.randint(0, 3))
    return [Clicks(TEN + hour * HOUR + n * MINUTE, random.randint(1, 9), ad=random.randint(1, 2)) for n in minutes]


def _question(random: Random, found: Books) -> CountsQuery:
    first, last = sorted(random.sample(range(-90, 60 * (HOURS + 1)), 2))
    at = random.choice(found.publications)[0] + timedelta(seconds=random.choice((0, 30)))
    return CountsQuery(TEN + first * MINUTE, TEN + last * MINUTE, random.choice(GRANULARITIES), as_of=at)
