"""Views for finance: billing periods and what keeps one open, the chain of seals, drift, adjustments.

Belongs here: shaping answers out of the ledgers. What a close requires is ``domain/periods.py``; what drift means,
``domain/drift_history.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from domain.buckets import HOUR
from domain.drift_history import summarised
from domain.errors import UsageError
from domain.periods import Period, PeriodClose, closed_periods, parse_period, period_of
from domain.seals import Seal, check_chain
from domain.settings import Settings
from quality.drift_history import count_errors, read_errors, seals_between
from services.metrics.views import BOOKKEEPERS, PAGING, Asked, View, paged
from warehouse.adjustments import read_adjustments
from warehouse.closing import plan_close
from warehouse.disputes import open_disputes
from warehouse.finality import published_seals
from warehouse.periods import read_closes
from warehouse.prices import adjustments_with_money
from warehouse.seals import read_seals

MAX_REASONS = 50
MAX_FINDINGS = 20
MAX_HOURS = 744
"""Of one look at drift: a month."""
MAX_ERRORS = 200_000
"""Rows of drift that one answer is made of."""
SEAL_COLUMNS = (
    *("seal_number", "hour", "revision", "sealed_at", "raw_clicks", "billable_clicks", "excluded_clicks", "digest"),
    *("previous_hash", "hash", "cut", "verdict_set", "ads_version", "rule_version", "horizon_days", "code_version"),
    *("attempt", "actor", "reason", "case_id"),
)
"""Never the salt: it keeps a seal's texts from being guessed."""


def periods(settings: Settings, asked: Asked) -> dict[str, Any]:
    """Every month that has a sealed hour or a close, newest first."""
    closes = read_closes(settings)
    closed = {one.period: one for one in closes}
    sealed: dict[Period, list[Seal]] = defaultdict(list)
    for hour, seal in published_seals(settings).items():
        sealed[period_of(hour)].append(seal)
    rows = [_period(one, closed.get(one), sealed[one], asked) for one in sorted({*closed, *sealed}, reverse=True)]
    return {"closed_until": closed_periods(closes).closed_until} | paged(rows, asked)


def period(settings: Settings, asked: Asked) -> dict[str, Any]:
    """What stands against closing a month now, without a recount; closing it recounts every hour, too."""
    one = parse_period(asked.required("period"))
    plan = plan_close(settings, one, asked.caller.role, asked.at)
    disputes = open_disputes(settings, one.start, one.end)
    said = ("case_id", "advertiser_id", "start", "end", "claim")
    return {
        "period": one,
        "is_closed": any(close.period == one for close in read_closes(settings)),
        "reasons": plan.reasons[:MAX_REASONS],
        "reason_count": len(plan.reasons),
        "proposed_hours": plan.proposed[:MAX_REASONS],
        "open_disputes": [{name: getattr(dispute, name) for name in said} for dispute in disputes[:MAX_REASONS]],
    }


def seals(settings: Settings, asked: Asked) -> dict[str, Any]:
    """The chain of seals, newest first, and whether it holds."""
    chain = read_seals(settings)
    findings = check_chain(chain)
    hour = asked.hour("hour") if "hour" in asked.parts else None
    wanted = [seal for seal in reversed(chain) if hour in (None, seal.hour)]
    page = paged(wanted, asked)
    head = chain[-1].hash if chain else None
    told = {"head_hash": head, "is_chain_whole": not findings, "findings": findings[:MAX_FINDINGS]}
    return page | told | {"rows": [seal_document(seal) for seal in page["rows"]]}


def seal_document(seal: Seal) -> dict[str, Any]:
    """A seal as it is shown."""
    return {name: getattr(seal, name) for name in SEAL_COLUMNS}


def drift(settings: Settings, asked: Asked) -> dict[str, Any]:
    """Live against final of the final hours of a range: a sum for each advertiser, and hour by hour."""
    start, end, advertiser = asked.hour("from"), asked.hour("to"), asked.id("advertiser_id")
    if not start < end <= start + MAX_HOURS * HOUR:
        raise UsageError(f"a range of {(end - start) // HOUR} hours", f"1 to {MAX_HOURS}", "correct it")
    held = seals_between(settings, start, end)
    count = count_errors(settings, held, advertiser)
    if count > MAX_ERRORS:
        raise UsageError(
            f"{count:,} rows of drift", f"at most {MAX_ERRORS:,}", "shorten the range, or name advertisers"
        )
    errors = read_errors(settings, held, advertiser)
    summaries = sorted(summarised(errors), key=lambda one: (-one.largest_error_clicks, one.advertiser_id))
    told = {"summaries": summaries[: asked.page().stop], "advertiser_count": len(summaries), "hour_count": len(held)}
    return told | paged(errors[::-1], asked)


def adjustments(settings: Settings, asked: Asked) -> dict[str, Any]:
    """Differences of closed periods, with what they cost; newest first."""
    found = read_adjustments(settings)
    if "period" in asked.parts:
        billed = parse_period(asked.parts["period"])
        found = [one for one in found if one.billing_period == billed]
    found.sort(key=lambda one: one.adjusted_at, reverse=True)  # of one case in the order of its lines
    page = paged(found, asked)
    money = adjustments_with_money(settings, page["rows"])
    rows = [
        {name: value for name, value in vars(one.adjustment).items() if name not in ("hash", "previous_hash")}
        | {"price_micros": one.price_micros, "currency": one.currency, "amount_micros": one.amount_micros}
        for one in money
    ]
    return page | {"rows": rows, "delta_clicks": sum(one.delta_clicks for one in found)}


def _period(one: Period, close: PeriodClose | None, held: list[Seal], asked: Asked) -> dict[str, Any]:
    state = "closed" if close else "over" if one.end <= asked.at else "open"
    excluded = Counter[str]()
    for seal in held:
        excluded.update(seal.excluded_clicks)
    return {
        "period": one,
        "start": one.start,
        "end": one.end,
        "state": state,
        "hour_count": len(one.hours),
        "sealed_hour_count": close.hour_count if close else len(held),
        "billable_clicks": close.billable_clicks if close else sum(seal.billable_clicks for seal in held),
        "raw_clicks": sum(seal.raw_clicks for seal in held),
        "excluded_clicks": excluded,
        "closed_at": close and close.closed_at,
        "closed_by": close and close.actor,
        "last_seal_number": close and close.last_seal_number,
        "root_digest": close and close.root_digest,
    }


BOOK_VIEWS = (
    View("/v1/periods", "billing periods, newest first", BOOKKEEPERS, periods, PAGING),
    View("/v1/periods/{period}", "what stands against closing a period", BOOKKEEPERS, period),
    View("/v1/seals", "the chain of seals, newest first", BOOKKEEPERS, seals, PAGING | {"hour": "of this hour only"}),
    View(
        "/v1/drift",
        "live against final by advertiser and hour",
        BOOKKEEPERS,
        drift,
        PAGING
        | {"from": "start, a whole UTC hour", "to": "end, not part of it", "advertiser_id": "this advertiser only"},
    ),
    View(
        "/v1/adjustments",
        "adjustments, newest first",
        BOOKKEEPERS,
        adjustments,
        PAGING | {"period": "that this period bills"},
    ),
)
