"""From look to message: one message a cause, dead letters, and nothing lost when the webhook is away."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.errors import LedgerConflictError, SettingError, WriterBusyError
from domain.settings import Settings
from quality.alerting import LOCK, Look, Sent, record_looks, send_due
from tests.domain.test_alerts import AT, CAUSE, TICK, WARNING
from tests.support.empty_tables import make_empty_tables
from tests.support.webhooks import SECRET, webhook
from warehouse.alerts import append_steps, read_alert_log, read_dead_letters
from warehouse.locks import writer_lock

TIMEOUT_SECONDS = 0.3


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(home=tmp_path / "home", alert_webhook_file="webhook")
    make_empty_tables(found)
    return found


def test_two_alerts_for_one_cause_become_one(settings: Settings) -> None:
    """Two hours, two looks, one message; then one that says it is over."""
    later = replace(CAUSE, about="hour 2026-02-03T09:00:00Z", observed="7 clicks")
    with webhook() as hook:
        hook.configured(settings)
        record_looks(settings, [Look("verdicts", [CAUSE, later])], AT)
        assert send_due(settings, AT) == Sent(1, 0, 0)
        record_looks(settings, [Look("verdicts", [later])], AT + TICK)
        assert send_due(settings, AT + TICK) == Sent(0, 0, 0)
        record_looks(settings, [Look("verdicts", [])], AT + 2 * TICK)
        send_due(settings, AT + 2 * TICK)
    assert [(one["rule"], one["step"]) for one in hook.messages] == [
        ("conservation", "opened"),
        ("conservation", "resolved"),
    ]
    assert [one.step for one in read_alert_log(settings).steps] == ["opened", "sent", "resolved", "sent"]


def test_what_is_not_taken_is_a_dead_letter_and_the_rest_waits(settings: Settings) -> None:
    record_looks(settings, [Look("verdicts", [WARNING, CAUSE])], AT)
    with webhook(404) as hook:
        hook.configured(settings)
        assert send_due(settings, AT, TIMEOUT_SECONDS) == Sent(0, 1, 1)
    (letter,) = read_dead_letters(settings)
    assert (json.loads(letter.message)["rule"], letter.step) == ("conservation", "opened")
    assert "status 404" in letter.why
    with webhook() as hook:
        hook.configured(settings)
        assert send_due(settings, AT + TICK) == Sent(1, 0, 0)
    assert [one["rule"] for one in hook.messages] == ["volume"]
    kept = [str(one) for one in (*read_alert_log(settings).steps, *read_dead_letters(settings))]
    assert all(SECRET not in row for row in kept)


def test_without_a_webhook_all_of_it_waits(settings: Settings) -> None:
    record_looks(settings, [Look("verdicts", [CAUSE])], AT)
    assert send_due(replace(settings, alert_webhook_file=""), AT) == Sent(0, 0, 1)


def test_quiet_hours_hold_back_what_only_warns(settings: Settings) -> None:
    quiet = replace(settings, alert_quiet_hours="08:00-10:00", alert_zone="UTC")
    record_looks(quiet, [Look("verdicts", [WARNING])], AT)
    with webhook() as hook:
        hook.configured(settings)
        assert send_due(quiet, AT) == Sent(0, 0, 0)
        assert send_due(quiet, AT + timedelta(hours=1)) == Sent(1, 0, 0)


def test_slack_gets_a_text(settings: Settings) -> None:
    record_looks(settings, [Look("verdicts", [CAUSE])], AT)
    with webhook() as hook:
        hook.configured(settings)
        send_due(replace(settings, alert_form="slack"), AT)
    assert hook.messages[0].keys() == {"text"}


def test_two_who_look_at_once_open_one_alert(settings: Settings) -> None:
    stale = read_alert_log(settings)
    fresh = record_looks(settings, [Look("verdicts", [CAUSE])], AT)
    with pytest.raises(LedgerConflictError):
        append_steps(settings, stale, fresh)


def test_two_do_not_send_the_same(settings: Settings) -> None:
    with webhook() as hook, writer_lock(settings, LOCK):
        hook.configured(settings)
        with pytest.raises(WriterBusyError):
            send_due(settings, AT)
    assert hook.messages == []


def test_a_wrong_zone_is_refused(settings: Settings) -> None:
    with pytest.raises(SettingError, match="alert_zone"):
        send_due(replace(settings, alert_zone="Mars/Base"), AT)
