"""Alerts: what is wrong, once for each cause, and which step of it somebody is to hear of.

Belongs here: when an alert opens, changes, is repeated and is resolved, and what waits to be sent. Who looks for causes
is ``quality/alert_causes.py``; sending is ``quality/alert_webhook.py``; the tables: ``warehouse/alerts.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, time, timedelta, tzinfo
from typing import Any, Literal

from domain.buckets import format_utc
from domain.errors import SettingError

Severity = Literal["fail", "warn"]
Step = Literal["opened", "changed", "repeated", "resolved", "sent", "failed"]
DELIVERIES: tuple[Step, ...] = ("sent", "failed")
"""Steps that say what became of the step before them; the others are what somebody is to hear of."""
QUIET_FORM = "%H:%M"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One thing that is wrong. However many hours and groups show it, it is one alert, told by its ``key``.

    ``severity`` is fail where it holds sealing back. ``state`` is what of it makes it another story: an alert whose
    state changes is told at once. ``see`` is the command or page that shows more.
    """

    key: str
    severity: Severity
    about: str
    rule: str
    observed: str
    expected: str
    see: str
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class AlertStep(Cause):
    """A row of table ``alerts``. ``source`` is who looked; ``detail`` says how a delivery went."""

    alert_id: str
    source: str
    step: Step
    detail: str
    recorded_at: datetime


@dataclass(frozen=True)
class Alert:
    """One alert: its newest step that is to be told, and what became of its deliveries."""

    told: AlertStep
    opened_at: datetime
    delivered_at: datetime | None
    is_pending: bool

    @property
    def is_open(self) -> bool:
        return self.told.step != "resolved"


@dataclass(frozen=True)
class QuietHours:
    """From ``start`` to before ``end`` by the clocks of ``zone``, over midnight where ``end`` is earlier."""

    start: time
    end: time
    zone: tzinfo

    def covers(self, at: datetime) -> bool:
        """Whether this instant lies in them; equal ends cover nothing."""
        local = at.astimezone(self.zone).time()
        if self.start <= self.end:
            return self.start <= local < self.end
        return local >= self.start or local < self.end


def quiet_hours(text: str, zone: tzinfo) -> QuietHours | None:
    """What setting ``alert_quiet_hours`` says; None if it is empty. ``SettingError`` if it says nothing clear."""
    if not text:
        return None
    try:
        start, end = (datetime.strptime(part, QUIET_FORM).time() for part in text.split("-"))  # noqa: DTZ007 - of a clock, no instant
    except ValueError as error:
        raise SettingError(
            f"setting alert_quiet_hours is {text!r}", "two times such as 22:00-07:00, or nothing", "correct it"
        ) from error
    return QuietHours(start, end, zone)


def in_order(steps: Iterable[AlertStep]) -> list[AlertStep]:
    """By time; what became of a step is after it."""
    return sorted(steps, key=lambda one: (one.recorded_at, one.step in DELIVERIES, one.alert_id))


def alerts_of(steps: Iterable[AlertStep]) -> list[Alert]:
    """The alerts that these rows tell of, in the order in which they were opened."""
    by_alert: dict[str, list[AlertStep]] = {}
    for step in in_order(steps):
        by_alert.setdefault(step.alert_id, []).append(step)
    return [_alert(rows) for rows in by_alert.values()]


def next_steps(
    steps: Iterable[AlertStep], source: str, causes: Sequence[Cause], at: datetime, pause: timedelta
) -> list[AlertStep]:
    """What one look of ``source``, which found these causes, adds: pure, and nothing if nothing is new.

    A cause that is open is repeated after ``pause`` since somebody last heard of it, or at once where its state or its
    severity is another. What the source no longer finds is resolved; alerts of other sources are none of its business.
    """
    known = {one.told.key: one for one in alerts_of(steps) if one.is_open and one.told.source == source}
    found = {cause.key: cause for cause in causes}
    fresh = [
        _step(cause, source, _step_of(known.get(cause.key), cause, at, pause), known, at) for cause in found.values()
    ]
    gone = [alert for key, alert in known.items() if key not in found]
    return [step for step in fresh if step is not None] + [
        AlertStep(**asdict(alert.told) | {"step": "resolved", "detail": "", "recorded_at": at}) for alert in gone
    ]


def to_send(steps: Iterable[AlertStep], at: datetime, quiet: QuietHours | None) -> list[AlertStep]:
    """What somebody is to hear of now, what holds sealing back first. In quiet hours that alone; the rest waits."""
    waiting = [alert.told for alert in alerts_of(steps) if alert.is_pending]
    if quiet is not None and quiet.covers(at):
        waiting = [step for step in waiting if step.severity == "fail"]
    return sorted(waiting, key=lambda one: (one.severity != "fail", one.recorded_at, one.key))


def delivery(step: AlertStep, outcome: Literal["sent", "failed"], detail: str, at: datetime) -> AlertStep:
    """The row that says what became of telling somebody about ``step``."""
    return AlertStep(**asdict(step) | {"step": outcome, "detail": detail, "recorded_at": at})


def payload_of(step: AlertStep) -> dict[str, Any]:
    """The generic form: every field by name. ``alert_id`` and ``step`` tell a message that came twice."""
    fields = asdict(step) | {"recorded_at": format_utc(step.recorded_at)}
    del fields["detail"], fields["state"]
    return {"version": 1, **fields}


def slack_payload_of(step: AlertStep) -> dict[str, Any]:
    """The form that Slack and what imitates it take; no text of ours is read as markup there."""
    lines = (
        f"[{step.severity}] {step.step}: {step.rule}, {step.about}",
        f"observed {step.observed}, expected {step.expected}",
        f"see: {step.see}",
    )
    return {"text": "\n".join(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}


def _alert(rows: Sequence[AlertStep]) -> Alert:
    told_index = max(index for index, row in enumerate(rows) if row.step not in DELIVERIES)
    deliveries = [row for row in rows if row.step in DELIVERIES]
    was_sent = any(row.step == "sent" for row in deliveries)
    told = rows[told_index]
    is_delivered = any(row.step in DELIVERIES for row in rows[told_index:])
    is_worth_it = told.step != "resolved" or was_sent  # nobody waits for the end of what nobody heard of
    delivered_at = max((row.recorded_at for row in deliveries), default=None)
    return Alert(told, rows[0].recorded_at, delivered_at, not is_delivered and is_worth_it)


def _step_of(alert: Alert | None, cause: Cause, at: datetime, pause: timedelta) -> Step | None:
    if alert is None:
        return "opened"
    if (alert.told.state, alert.told.severity) != (cause.state, cause.severity):
        return "changed"
    if not alert.is_pending and alert.delivered_at is not None and at - alert.delivered_at >= pause:
        return "repeated"
    return None


def _step(cause: Cause, source: str, step: Step | None, known: Mapping[str, Alert], at: datetime) -> AlertStep | None:
    if step is None:
        return None
    alert_id = known[cause.key].told.alert_id if cause.key in known else f"{source}:{cause.key}@{format_utc(at)}"
    return AlertStep(**asdict(cause), alert_id=alert_id, source=source, step=step, detail="", recorded_at=at)
