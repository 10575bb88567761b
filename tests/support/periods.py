"""Whole months of seals, made at once, published and closed: what tests of billing periods stand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from domain.buckets import hour_of
from domain.counting import RULE_VERSION
from domain.finality import final_until
from domain.periods import Period, PeriodClose, parse_period
from domain.publications import Publication, PublicationDraft, chain_draft
from domain.seals import Seal, SealDraft, chain_drafts
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables
from tests.support.ledgers import fixed_salt, seal_draft
from warehouse.closing import close_period
from warehouse.seals import append_seals, read_seals

NOVEMBER = parse_period("2026-11")
OCTOBER, DECEMBER = parse_period("2026-10"), parse_period("2026-12")
CLOSED_AT = datetime.fromisoformat("2026-12-02T08:00:00.5+00:00")
BILLABLE = 7
"""Of each hour that ``seal_draft`` makes."""


def month_seals(*periods: Period, without: Sequence[datetime] = ()) -> list[Seal]:
    """The first seals of a ledger: one of each hour of these periods, in their order."""
    hours = [hour for period in periods for hour in period.hours if hour not in without]
    drafts = [seal_draft(hour=hour, attempt=f"attempt-{hour:%Y%m%dT%H}") for hour in hours]
    return chain_drafts([], drafts, CLOSED_AT - timedelta(days=1), fixed_salt)


def publication_of(seals: Sequence[Seal]) -> list[Publication]:
    """A ledger of one publication, which shows these seals."""
    until = final_until({seal.hour for seal in seals})
    assert until is not None
    draft = PublicationDraft(
        seal_number=seals[-1].seal_number, minute_version=1, hour_version=1, day_version=1, final_until=until
    )
    return [chain_draft(None, draft, CLOSED_AT)]


def settle_month(tables: CountsTables, period: Period, rows: Sequence[Clicks] | None = None) -> None:
    """Seals and publishes all hours of a month: ``rows`` are its final figures, of all months that were settled.

    Without rows, each seal states ``BILLABLE`` clicks of which no row is left.
    """
    clicks = None if rows is None else _clicks_by_hour(rows)
    drafts = [_draft(hour, clicks) for hour in period.hours]
    append_seals(tables.settings, drafts, len(read_seals(tables.settings)), CLOSED_AT)
    tables.publish(tables.write_final(rows or []))


def _clicks_by_hour(rows: Sequence[Clicks]) -> Counter[datetime]:
    clicks: Counter[datetime] = Counter()
    for row in rows:
        clicks[hour_of(row.at)] += row.clicks
    return clicks


def settle_quiet_month(tables: CountsTables, period: Period) -> None:
    """Seals and publishes all hours of a month without a click, so that each of them recounts."""
    nothing = {"raw_clicks": 0, "billable_clicks": 0, "excluded_clicks": {}, "digest": "0" * 64, "cut": {}}
    said = nothing | {"rule_version": RULE_VERSION}
    drafts = [seal_draft(hour=hour, attempt=f"attempt-{hour:%Y%m%dT%H}", **said) for hour in period.hours]
    append_seals(tables.settings, drafts, len(read_seals(tables.settings)), CLOSED_AT)
    tables.publish(tables.write_final([]))


def _draft(hour: datetime, clicks: Counter[datetime] | None) -> SealDraft:
    counts = {}
    if clicks is not None:
        counts = {"raw_clicks": clicks[hour], "billable_clicks": clicks[hour], "excluded_clicks": {}}
    return seal_draft(hour=hour, attempt=f"attempt-{hour:%Y%m%dT%H}", **counts)


def close_month(settings: Settings, period: Period = NOVEMBER, at: datetime = CLOSED_AT) -> PeriodClose:
    """Closes a settled month."""
    return close_period(settings, period, "ada", lambda: at)
