"""Alerts: one for each cause, again only after a pause or a change, resolved when it is over, silent in quiet hours."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import pytest

from domain.alerts import (
    AlertStep,
    Cause,
    alerts_of,
    delivery,
    next_steps,
    payload_of,
    quiet_hours,
    slack_payload_of,
    to_send,
)
from domain.errors import SettingError

AT = datetime(2026, 2, 3, 9, tzinfo=UTC)
PAUSE = timedelta(hours=4)
TICK = timedelta(minutes=5)
CAUSE = Cause(
    key="raw_clicks.conservation",
    severity="fail",
    about="hour 2026-02-03T08:00:00Z",
    rule="conservation",
    observed="9 clicks",
    expected="10 clicks",
    see="tallystick quality show 2026-02-03T08:00:00Z",
    state="fail",
)
WARNING = replace(CAUSE, key="raw_clicks.volume", severity="warn", rule="volume")


def look(steps: list[AlertStep], *causes: Cause, at: datetime = AT, source: str = "verdicts") -> list[AlertStep]:
    """All steps after one more look."""
    return steps + next_steps(steps, source, causes, at, PAUSE)


def told(steps: list[AlertStep], at: datetime = AT, outcome: Literal["sent", "failed"] = "sent") -> list[AlertStep]:
    """All steps after what is due was sent."""
    return steps + [delivery(step, outcome, "status 200", at) for step in to_send(steps, at, None)]


def names(steps: list[AlertStep]) -> list[str]:
    return [step.step for step in steps]


def test_two_of_one_cause_are_one_alert_and_a_second_look_adds_nothing() -> None:
    steps = look([], CAUSE, replace(CAUSE, about="hour 2026-02-03T09:00:00Z"))
    assert len(steps) == 1
    assert look(steps, CAUSE, at=AT + TICK) == steps
    sent = told(steps)
    assert look(sent, replace(CAUSE, observed="8 clicks"), at=AT + TICK) == sent
    assert to_send(sent, AT + TICK, None) == []


def test_an_open_alert_is_repeated_after_the_pause_and_not_before() -> None:
    sent = told(look([], CAUSE))
    assert look(sent, CAUSE, at=AT + PAUSE - TICK) == sent
    again = look(sent, CAUSE, at=AT + PAUSE)
    assert names(again) == ["opened", "sent", "repeated"]
    assert look(again, CAUSE, at=AT + 2 * PAUSE) == again, "it waits to be sent already"
    assert len({step.alert_id for step in again}) == 1


@pytest.mark.parametrize("change", [{"state": "error"}, {"severity": "warn"}], ids=["state", "severity"])
def test_a_change_is_told_at_once(change: dict[str, str]) -> None:
    sent = told(look([], CAUSE))
    changed = look(sent, replace(CAUSE, **change), at=AT + TICK)
    assert names(changed) == ["opened", "sent", "changed"]
    assert names(to_send(changed, AT + TICK, None)) == ["changed"]


def test_what_is_over_is_resolved_once_and_opens_anew() -> None:
    over = told(look(told(look([], CAUSE)), at=AT + TICK), at=AT + TICK)
    assert names(over) == ["opened", "sent", "resolved", "sent"]
    assert look(over, at=AT + 2 * TICK) == over
    anew = look(over, CAUSE, at=AT + 3 * TICK)
    assert [one.is_open for one in alerts_of(anew)] == [False, True]


def test_nobody_hears_of_the_end_of_what_nobody_heard_of() -> None:
    silent = look(look([], CAUSE), at=AT + TICK)
    assert names(silent) == ["opened", "resolved"]
    assert to_send(silent, AT + TICK, None) == []
    failed = look(told(look([], CAUSE), outcome="failed"), at=AT + TICK)
    assert to_send(failed, AT + TICK, None) == []


def test_a_failed_message_is_tried_again_after_the_pause_alone() -> None:
    failed = told(look([], CAUSE), outcome="failed")
    assert to_send(look(failed, CAUSE, at=AT + TICK), AT + TICK, None) == []
    assert names(to_send(look(failed, CAUSE, at=AT + PAUSE), AT + PAUSE, None)) == ["repeated"]


def test_a_source_resolves_nothing_of_another() -> None:
    steps = look([], CAUSE)
    assert look(steps, source="dagster", at=AT + TICK) == steps


def test_in_quiet_hours_only_what_blocks_is_sent_and_the_rest_waits() -> None:
    quiet = quiet_hours("22:00-07:00", ZoneInfo("Europe/Berlin"))
    night, morning = datetime(2026, 2, 3, 5, 59, tzinfo=UTC), datetime(2026, 2, 3, 6, tzinfo=UTC)
    steps = look([], WARNING, CAUSE, at=night)
    assert [step.rule for step in to_send(steps, night, quiet)] == ["conservation"]
    assert [step.rule for step in to_send(steps, morning, quiet)] == ["conservation", "volume"]


@pytest.mark.parametrize(
    ("text", "hour", "is_quiet"),
    [
        ("22:00-07:00", 22, True),
        ("22:00-07:00", 6, True),
        ("22:00-07:00", 7, False),
        ("01:00-05:00", 3, True),
        ("01:00-05:00", 5, False),
        ("05:00-05:00", 5, False),
    ],
)
def test_quiet_hours_may_cross_midnight(text: str, hour: int, is_quiet: bool) -> None:
    quiet = quiet_hours(text, UTC)
    assert quiet is not None
    assert quiet.covers(AT.replace(hour=hour)) is is_quiet


@pytest.mark.parametrize("text", ["22:00", "22-07", "25:00-07:00", "a-b", "1:00-2:00-3:00"])
def test_quiet_hours_that_say_nothing_clear_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="alert_quiet_hours"):
        quiet_hours(text, UTC)


def test_a_message_names_partition_rule_observed_expected_and_where_to_look() -> None:
    (step,) = look([], CAUSE)
    assert payload_of(step) == {
        "version": 1,
        "alert_id": "verdicts:raw_clicks.conservation@2026-02-03T09:00:00Z",
        "source": "verdicts",
        "key": "raw_clicks.conservation",
        "step": "opened",
        "severity": "fail",
        "about": "hour 2026-02-03T08:00:00Z",
        "rule": "conservation",
        "observed": "9 clicks",
        "expected": "10 clicks",
        "see": "tallystick quality show 2026-02-03T08:00:00Z",
        "recorded_at": "2026-02-03T09:00:00Z",
    }
    marked = slack_payload_of(replace(step, observed="<!channel> & more"))
    assert "&lt;!channel&gt; &amp; more" in marked["text"]
    for part in (CAUSE.about, CAUSE.rule, CAUSE.expected, CAUSE.see, "[fail] opened"):
        assert part in marked["text"]
