"""Alerts from look to message: what each look found becomes steps, and what is due is sent.

Belongs here: the order of reading, appending and sending. When what is due: ``domain/alerts.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from domain.alerts import (
    AlertStep,
    Cause,
    QuietHours,
    delivery,
    next_steps,
    payload_of,
    quiet_hours,
    slack_payload_of,
    to_send,
)
from domain.errors import SettingError
from domain.settings import Settings
from quality.alert_webhook import TIMEOUT_SECONDS, WebhookError, post, webhook_address
from warehouse.alerts import append_dead_letter, append_delivery, append_steps, read_alert_log
from warehouse.locks import writer_lock

LOCK = "alerts"
"""Held by whoever sends, so that two do not send the same."""
PAYLOADS = {"json": payload_of, "slack": slack_payload_of}


@dataclass(frozen=True)
class Look:
    """What one source found; a source that could not look has none, and leaves its alerts as they are."""

    source: str
    causes: Sequence[Cause]


@dataclass(frozen=True)
class Sent:
    """How many messages were taken and how many became dead letters; how many wait for the next run."""

    sent_count: int
    failed_count: int
    waiting_count: int


def record_looks(settings: Settings, looks: Sequence[Look], at: datetime) -> list[AlertStep]:
    """Appends the steps that these looks add, in one commit; returns them.

    ``LedgerConflictError`` if somebody else recorded meanwhile; then nothing was appended.
    """
    log = read_alert_log(settings)
    pause = timedelta(hours=settings.alert_pause_hours)
    fresh = [step for look in looks for step in next_steps(log.steps, look.source, look.causes, at, pause)]
    append_steps(settings, log, fresh)
    return fresh


def send_due(settings: Settings, at: datetime, timeout_seconds: float = TIMEOUT_SECONDS) -> Sent:
    """Sends what is due, one after the other; each is written down before the next. Blocks for a bounded time.

    Without a webhook nothing is sent, and all of it waits. The first that is not taken becomes a dead letter and ends
    the run: the others wait for the next. A run that dies between answer and row sends that message once more.
    ``WriterBusyError`` while another one sends.
    """
    quiet, address = _quiet(settings), webhook_address(settings)
    with writer_lock(settings, LOCK):
        due = to_send(read_alert_log(settings).steps, at, quiet)
        if address is None:
            return Sent(0, 0, len(due))
        for number, step in enumerate(due):
            payload = PAYLOADS[settings.alert_form](step)
            try:
                said = post(address, payload, timeout_seconds)
            except WebhookError as error:
                failed = delivery(step, "failed", error.found, at)
                append_dead_letter(settings, step, payload, failed)
                append_delivery(settings, failed)
                return Sent(number, 1, len(due) - number - 1)
            append_delivery(settings, delivery(step, "sent", said, at))
    return Sent(len(due), 0, 0)


def trial_step(at: datetime) -> AlertStep:
    """What ``tallystick alerts test`` sends."""
    cause = Cause(
        key="test",
        severity="warn",
        about="nothing",
        rule="test",
        observed="this message",
        expected="that somebody reads it",
        see="tallystick alerts list",
    )
    return next_steps([], "test", [cause], at, timedelta())[0]


def _quiet(settings: Settings) -> QuietHours | None:
    try:
        zone = ZoneInfo(settings.alert_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingError(
            f"setting alert_zone is {settings.alert_zone!r}", "a time zone such as Europe/Berlin, or UTC", "correct it"
        ) from error
    return quiet_hours(settings.alert_quiet_hours, zone)
