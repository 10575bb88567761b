"""What another horizon, other verdicts or a reason left out would have changed on hours that are sealed.

Belongs here: the same hour judged twice by the independent recount, as sealed and as supposed, and the sums of both.
Reads only: nothing that is supposed is kept. An hour is cut as it was sealed, so late arrivals change nothing here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

from domain.buckets import format_utc
from domain.errors import IntegrityError, UsageError
from domain.identity import LogPosition
from domain.seals import Seal, current_seals
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from quality.raw_recount import COUNTED_KINDS, VERDICT_COLUMNS, RawRecount
from quality.recount import KNOWN_RULE_VERSIONS, applied_set
from warehouse.lost_raw import NO_LONGER_VERIFIABLE, LostRaw
from warehouse.prices import PRICED_JOIN, prices_by_minute
from warehouse.schema import arrow_schema
from warehouse.seals import read_seals
from warehouse.tables import TABLES

BILLABLE = "billable"
KIND_REASONS = ("head", "prefetch")
"""Left out, such an event is a click: it takes part in deduplication, too."""
COPY_REASONS = ("duplicate", "conflicting_duplicate")
"""Left out, such a copy is billable unless it was judged fraud."""
REASONS = (*KIND_REASONS, *COPY_REASONS, "fraud")
OUTCOMES_SQL = f"""
WITH judged AS (
    SELECT own.advertiser_id, own.ad_id, own.clicked_us // 60000000 * 60000000 AS minute_us, coalesce(
        CASE WHEN NOT list_contains($left_out::VARCHAR[], own.reason) THEN own.reason
             WHEN coalesce(of_click.verdict_id, of_place.verdict_id) IS NOT NULL THEN 'fraud' END,
        '{BILLABLE}') AS outcome
    FROM outcomes AS own
    LEFT JOIN fraud AS of_click ON own.impression_id = of_click.impression_id AND own.ad_id = of_click.ad_id
    LEFT JOIN fraud AS of_place
        ON own.log = of_place.log AND own.partition = of_place.partition AND own."offset" = of_place."offset"
), prices AS (FROM every_price SEMI JOIN judged USING (advertiser_id, ad_id))
SELECT advertiser_id, outcome, currency, count(*), coalesce(sum(price_micros), 0)::BIGINT
FROM judged {PRICED_JOIN}
GROUP BY ALL
"""  # noqa: S608 (made of constants)
"""Clicks of the hour recounted last by what became of them, with the price in force at the start of their minute."""


@dataclass(frozen=True)
class Supposition:
    """What is supposed to be otherwise; None and nothing stand for "as sealed".

    ``verdicts`` are some that were not taken in yet, as if they were the next set; ``verdict_set`` is a set that was,
    0 for none at all. ``left_out`` are reasons for which no click is to be excluded.
    """

    horizon_days: int | None = None
    verdict_set: int | None = None
    verdicts: Sequence[FraudVerdict] = ()
    left_out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(self.left_out - set(REASONS))
        if unknown:
            raise UsageError(f"reason {', '.join(unknown)}", f"any of {', '.join(REASONS)}", "correct it")
        if self.verdicts and self.verdict_set is not None:
            raise UsageError("a set of verdicts and other verdicts", "one of the two", "leave one out")
        if self.horizon_days is None and self.verdict_set is None and not self.verdicts and not self.left_out:
            raise UsageError(
                "nothing is supposed", "another horizon, other verdicts or a reason left out", "give one of the options"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of which kinds a click may be billable."""
        return (*COUNTED_KINDS, *sorted(self.left_out.intersection(KIND_REASONS)))

    @property
    def copies_left_out(self) -> list[str]:
        """The reasons of copies that are to be no reason."""
        return sorted(self.left_out.intersection(COPY_REASONS))


class Sum(NamedTuple):
    """Clicks of one advertiser with one outcome, and what they cost where the ad has a price (else no currency, 0)."""

    advertiser_id: int
    outcome: str
    currency: str | None
    clicks: int
    amount_micros: int


@dataclass(frozen=True)
class HourEffect:
    """What one sealed hour holds, and what it would."""

    hour: datetime
    now: Sequence[Sum]
    then: Sequence[Sum]


@dataclass
class Change:
    """A figure as sealed and as supposed."""

    now: int = 0
    then: int = 0

    @property
    def difference(self) -> int:
        return self.then - self.now


@dataclass
class AdvertiserEffect:
    """All hours of one advertiser: billable clicks, excluded ones by reason, and by currency what the billable cost."""

    billable_clicks: Change = field(default_factory=Change)
    excluded_clicks: defaultdict[str, Change] = field(default_factory=lambda: defaultdict(Change))
    amounts_micros: defaultdict[str, Change] = field(default_factory=lambda: defaultdict(Change))

    def add(self, effect: AdvertiserEffect) -> None:
        """Takes another's figures in."""
        pairs = [(self.billable_clicks, effect.billable_clicks)]
        pairs += [(self.excluded_clicks[reason], change) for reason, change in effect.excluded_clicks.items()]
        pairs += [(self.amounts_micros[currency], change) for currency, change in effect.amounts_micros.items()]
        for own, more in pairs:
            own.now, own.then = own.now + more.now, own.then + more.then


class Effects:
    """The sums over hours, by advertiser."""

    def __init__(self) -> None:
        self._of: defaultdict[int, AdvertiserEffect] = defaultdict(AdvertiserEffect)

    def add(self, effect: HourEffect) -> None:
        """Takes an hour in."""
        for side, sums in (("now", effect.now), ("then", effect.then)):
            for one in sums:
                self._add(side, one)

    def by_advertiser(self) -> dict[int, AdvertiserEffect]:
        """Every advertiser with a click in these hours, ascending."""
        return dict(sorted(self._of.items()))

    def total(self) -> AdvertiserEffect:
        """All advertisers together."""
        total = AdvertiserEffect()
        for effect in self._of.values():
            total.add(effect)
        return total

    def _add(self, side: str, one: Sum) -> None:
        of = self._of[one.advertiser_id]
        is_billable = one.outcome == BILLABLE
        changes = [(of.billable_clicks if is_billable else of.excluded_clicks[one.outcome], one.clicks)]
        if is_billable and one.currency is not None:
            changes.append((of.amounts_micros[one.currency], one.amount_micros))
        for change, more in changes:
            setattr(change, side, getattr(change, side) + more)


def sealed_among(settings: Settings, hours: Iterable[datetime]) -> list[Seal]:
    """The seals that hold for these hours; hours without one are left out. ``UsageError`` if none is sealed."""
    current = current_seals(read_seals(settings))
    seals = [current[hour] for hour in hours if hour in current]
    if not seals:
        raise UsageError("no hour of the range is sealed", "sealed hours", "reconcile them, or ask for others")
    return seals


def countable_among(settings: Settings, seals: Iterable[Seal], supposition: Supposition) -> list[Seal]:
    """Those whose hours can still be counted, under the supposition too. ``UsageError`` if there is none."""
    lost = LostRaw(settings)
    countable = [
        seal for seal in seals if not lost.touches(seal.hour, max(seal.horizon_days, supposition.horizon_days or 0))
    ]
    if not countable:
        raise UsageError(
            f"no hour of the range can be counted: each is {NO_LONGER_VERIFIABLE}",
            "hours whose raw clicks, and those before them, are kept",
            "ask for later hours, or a shorter horizon",
        )
    return countable


def what_if(
    settings: Settings,
    seals: Sequence[Seal],
    supposition: Supposition,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Iterator[HourEffect]:
    """The effect on the hour of each seal, as they come. Memory is bounded; what does not fit goes to a temporary
    folder. ``IntegrityError`` if an hour does not recount to its seal: then there is nothing to compare with.
    """
    with RawRecount(settings, on_progress) as recount:
        recount.know("every_price", prices_by_minute(settings))
        verdict_set = _verdict_set(recount, supposition)
        for seal in seals:
            now = _as_sealed(recount, seal)
            days = seal.horizon_days if supposition.horizon_days is None else supposition.horizon_days
            of_set = seal.verdict_set if verdict_set is None else verdict_set
            recount.recount(seal.hour, seal.cut, timedelta(days=days), of_set, supposition.kinds)
            yield HourEffect(seal.hour, now, _sums(recount, supposition.copies_left_out))


def _verdict_set(recount: RawRecount, supposition: Supposition) -> int | None:
    """The set to judge by; None for that of each seal."""
    if "fraud" in supposition.left_out:
        return 0
    if supposition.verdicts:
        return recount.suppose(_verdict_rows(supposition.verdicts))
    newest = recount.newest_verdict_set
    if supposition.verdict_set is not None and supposition.verdict_set > newest:
        raise UsageError(
            f"verdict set {supposition.verdict_set}", f"a set up to {newest}, the newest one", "name one of them"
        )
    return supposition.verdict_set


def _as_sealed(recount: RawRecount, seal: Seal) -> list[Sum]:
    if seal.rule_version not in KNOWN_RULE_VERSIONS:
        found = f"seal {seal.number} follows rule version {seal.rule_version}"
        known = " or ".join(map(str, KNOWN_RULE_VERSIONS))
        raise IntegrityError(found, f"rule version {known}", "leave its hour out")
    found = recount.recount(seal.hour, seal.cut, timedelta(days=seal.horizon_days), applied_set(seal))
    excluded = {reason: count for reason, count in seal.excluded_clicks.items() if count}
    if (found.digest, found.excluded_clicks) != (seal.digest, excluded):
        raise IntegrityError(
            f"hour {format_utc(seal.hour)} does not recount to its seal {seal.number}",
            "the sealed figures, to compare with",
            "see `tallystick verify` of the hour",
        )
    return _sums(recount, [])


def _sums(recount: RawRecount, left_out: Sequence[str]) -> list[Sum]:
    return [Sum(*row) for row in recount.rows(OUTCOMES_SQL, left_out=list(left_out))]


def _verdict_rows(verdicts: Sequence[FraudVerdict]) -> pa.Table:
    no_target: Mapping[str, Any] = dict.fromkeys((*ClickTarget._fields, *LogPosition._fields))
    said = ("verdict_id", "verdict", "decided_at")
    rows = [
        {**no_target, **one.target._asdict(), **{name: getattr(one, name) for name in said}, "set_version": 0}
        for one in verdicts
    ]
    schema = arrow_schema(TABLES["fraud_verdicts"])
    return pa.Table.from_pylist(rows, pa.schema([schema.field(name) for name in VERDICT_COLUMNS]))
