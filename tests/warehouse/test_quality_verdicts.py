"""Verdicts and overrides in their tables: nothing is lost on the way, and no override without a name and a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.errors import UsageError
from domain.quality_verdicts import Hold, blocking
from domain.settings import Settings
from tests.domain.test_quality_verdicts import HOUR, JUDGED_AT, LATER, VERDICT
from warehouse.quality_verdicts import (
    accept_level,
    append_verdicts,
    read_overrides,
    read_verdicts,
    release,
)


def _holds(settings: Settings) -> list[Hold]:
    return blocking(read_verdicts(settings, [HOUR], "a1"), read_overrides(settings))


NEXT = HOUR + timedelta(hours=1)
AT = JUDGED_AT + LATER


def test_what_was_said_comes_back_by_hour_and_attempt(settings: Settings) -> None:
    second = replace(VERDICT, attempt="a2", run="r2", judged_at=AT)
    append_verdicts(settings, [second, VERDICT, replace(VERDICT, hour=NEXT)])
    append_verdicts(settings, [])
    assert read_verdicts(settings, [HOUR]) == [VERDICT, second]
    assert read_verdicts(settings, [HOUR, NEXT], "a2") == [second]
    assert read_verdicts(settings, [HOUR - timedelta(days=1)]) == []


def test_a_released_hour_is_held_by_nothing(settings: Settings) -> None:
    append_verdicts(settings, [VERDICT, replace(VERDICT, group="7", observed="3 clicks")])
    assert len(_holds(settings)) == 2
    released = release(settings, HOUR, "conservation", actor="ann", reason="a known hole", at=AT)
    assert read_overrides(settings) == released
    assert [(one.group, one.observed, one.actor) for one in released] == [
        ("", "9 clicks", "ann"),
        ("7", "3 clicks", "ann"),
    ]
    assert _holds(settings) == []


@pytest.mark.parametrize(
    ("rule", "actor", "reason"),
    [("conservation", "", "why"), ("conservation", "ann", " "), ("other", "ann", "why")],
    ids=["nobody", "no reason", "a rule that does not hold it"],
)
def test_a_release_is_refused(settings: Settings, rule: str, actor: str, reason: str) -> None:
    append_verdicts(settings, [VERDICT])
    with pytest.raises(UsageError):
        release(settings, HOUR, rule, actor=actor, reason=reason, at=AT)
    assert read_overrides(settings) == []
    assert len(_holds(settings)) == 1


def test_a_level_is_accepted_where_the_rule_failed(settings: Settings) -> None:
    append_verdicts(settings, [replace(VERDICT, rule="level", group="7", severity="warn")])
    with pytest.raises(UsageError, match="did not fail for group '8'"):
        accept_level(settings, HOUR, "level", "8", actor="ann", reason="a new feed", at=AT)
    fresh = accept_level(settings, HOUR, "level", "7", actor="ann", reason="a new feed", at=AT)
    assert read_overrides(settings) == [fresh]
    assert fresh.kind == "accept_level"
