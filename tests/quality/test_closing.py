"""A close recounts every hour first, and refuses with those that are not what raw says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from domain.buckets import HOUR
from domain.periods import CloseRefusedError
from domain.verdicts import ClickTarget, FraudVerdict
from quality.closing import close_recounted, plan_recounted
from tests.support.counts_tables import Clicks, CountsTables, counts_tables
from tests.support.periods import CLOSED_AT, NOVEMBER, settle_month, settle_quiet_month
from tests.support.sealed_world import logged, sealed_world
from warehouse import closing
from warehouse.closing import plan_close
from warehouse.periods import read_closes


@pytest.fixture
def tables(tmp_path: Path) -> CountsTables:
    return counts_tables(tmp_path)


def test_all_hours_are_recounted_then_closed(tables: CountsTables) -> None:
    settle_quiet_month(tables, NOVEMBER)
    done: list[int] = []
    close = close_recounted(tables.settings, NOVEMBER, "ada", lambda: CLOSED_AT, on_hour=done.append)
    assert done == list(range(1, 721))
    assert read_closes(tables.settings) == [close]


def test_hours_that_differ_refuse_it(tables: CountsTables) -> None:
    """Seals of clicks that raw does not hold: the first of them are named, the others counted."""
    settle_month(tables, NOVEMBER, [Clicks("2026-11-03T10:05Z", 2), Clicks("2026-11-04T10:05Z", 3)])
    with pytest.raises(CloseRefusedError) as refused:
        close_recounted(tables.settings, NOVEMBER, "ada", lambda: CLOSED_AT)
    assert refused.value.reasons[0].startswith("hour 2026-11-01T00:00:00Z does not recount: seal 1: digest ")
    assert refused.value.reasons[-1] == "and 710 more like these"
    assert read_closes(tables.settings) == []


def test_what_is_known_at_once_is_not_recounted(tables: CountsTables) -> None:
    settle_quiet_month(tables, NOVEMBER)
    done: list[int] = []
    with pytest.raises(CloseRefusedError, match="it is not over"):
        plan_recounted(tables.settings, NOVEMBER, "ada", NOVEMBER.start, on_hour=done.append)
    assert done == []


def test_the_month_in_which_the_books_begin(tmp_path: Path) -> None:
    """Hours before the first sealed one are not recounted; a click in one of them stands against the close."""
    world = sealed_world(tmp_path)
    last = NOVEMBER.end - HOUR
    world.archive([logged(0, last)])
    world.seal(last)
    world.publish()
    close = plan_recounted(world.settings, NOVEMBER, "ada", CLOSED_AT).required()
    assert (close.hour_count, close.billable_clicks) == (1, 1)
    world.archive([logged(1, last - HOUR)])
    with pytest.raises(CloseRefusedError, match="hour 2026-11-30T22:00:00Z is not sealed"):
        plan_recounted(world.settings, NOVEMBER, "ada", CLOSED_AT)


def test_the_month_is_searched_for_proposals_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless something moves meanwhile: a verdict that comes during the recount stands against the close."""
    world = sealed_world(tmp_path)
    last = NOVEMBER.end - HOUR
    world.archive([logged(0, last)])
    world.seal(last)
    world.publish()
    read, looks = closing.read_findings, []

    def watched(*asked: Any) -> Any:
        looks.append(asked)
        return read(*asked)

    def judge(_: int) -> None:
        verdict = FraudVerdict("v1", ClickTarget("imp-0-0", 1), "fraud", "a bot", last)
        world.judge_fraud(verdict)

    monkeypatch.setattr(closing, "read_findings", watched)
    known = plan_close(world.settings, NOVEMBER, "ada", CLOSED_AT)
    with pytest.raises(CloseRefusedError, match="2026-11-30T23:00:00Z"):
        close_recounted(world.settings, NOVEMBER, "ada", lambda: CLOSED_AT, known=known, on_hour=judge)
    assert len(looks) == 2
    world.seal(last)
    world.publish()
    known = plan_close(world.settings, NOVEMBER, "ada", CLOSED_AT)
    close_recounted(world.settings, NOVEMBER, "ada", lambda: CLOSED_AT, known=known)
    assert len(looks) == 3
