"""``tallystick verify``: whether seals and published figures are what raw_clicks, counted anew, says.

Belongs here: comparing, and saying where it differs. The recount itself is ``raw_recount.py``; the chain's arithmetic
is ``domain/chain.py``. docs/seals.md tells a stranger how to do all of this without us.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.buckets import day_of, format_utc
from domain.errors import IntegrityError
from domain.finality import final_until
from domain.heads import Head, Ledgers, missing_of
from domain.periods import PeriodClose, period_of
from domain.publications import Publication, check_publications
from domain.seals import Seal, check_chain
from domain.settings import Settings
from domain.texts import hours_text
from quality.adjusted import adjustment_differences
from quality.closed_periods import close_differences
from quality.published import PublishedFigures
from quality.raw_recount import HourRecount, RawRecount
from warehouse.heads import read_ledgers
from warehouse.lost_raw import LostRaw

RULE_WITHOUT_VERDICTS = 1
KNOWN_RULE_VERSIONS = (RULE_WITHOUT_VERDICTS, 2)
"""The rules that the recount knows; written down here again, not taken from the code that counts. The first had no
verdicts of fraud, and is else as the second."""


@dataclass(frozen=True)
class Verdict:
    """On the ledgers, an hour or a day: what was found, where it differs, and what is worth knowing beside.

    ``hour`` where it is on one. Where that hour has no seal, nothing of it is verified, and nothing needs to differ;
    where its raw clicks were deleted as their retention was over, it is no longer verifiable.
    """

    subject: str
    found: str
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hour: datetime | None = None
    is_sealed: bool = True
    is_verifiable: bool = True

    @property
    def is_agreeing(self) -> bool:
        return not self.differences


def verify(
    settings: Settings,
    hours: Sequence[datetime],
    kept_head: str | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
    head: Head | None = None,
) -> Iterator[Verdict]:
    """One verdict on the ledgers, one on the adjustments if there are any, one on each closed period, hour (start, UTC)
    and day in the range; as they come.

    ``kept_head`` is the hash of a seal that was kept elsewhere, ``head`` what was exported. Reads only.
    """
    ledgers = read_ledgers(settings)
    seals, publications = ledgers.seals, ledgers.publications
    yield _ledgers(ledgers, kept_head, head)
    if ledgers.adjustments:
        yield _adjusted(ledgers)
    for close in ledgers.closes:
        if close.period in {period_of(hour) for hour in hours}:
            yield _closed(close, seals)
    figures = PublishedFigures(settings, publications[-1]) if publications else None
    with RawRecount(settings, on_progress) as recount:
        lost = LostRaw(settings)
        for hour in hours:
            of_hour = [seal for seal in seals if seal.hour == hour]
            is_lost = lost.touches(hour, max((seal.horizon_days for seal in of_hour), default=0))
            yield _HourVerifier(recount, figures, hour, of_hour, is_lost=is_lost).verdict()
    for day in sorted({day_of(hour) for hour in hours}) if figures else []:
        differences = tuple(figures.violations("day", day)) if figures else ()
        yield Verdict(f"day {day.date()}", "published day = sum of its hours", differences)


def _ledgers(ledgers: Ledgers, kept_head: str | None, exported: Head | None) -> Verdict:
    seals, publications = ledgers.seals, ledgers.publications
    head = f"head {seals[-1].hash}" if seals else "no head"
    differences = [*check_chain(seals), *check_publications(publications)]
    if kept_head is not None and kept_head not in {seal.hash for seal in seals}:
        differences.append(f"no seal has the kept head {kept_head}: the tail was cut off or the chain written anew")
    if exported is not None:
        differences += missing_of(exported, ledgers)
    if publications:
        differences += _beyond_seals(seals, publications)
    return Verdict("ledgers", f"{len(seals)} seals, {len(publications)} publications, {head}", tuple(differences))


def _adjusted(ledgers: Ledgers) -> Verdict:
    lines = ledgers.adjustments
    found = f"{len(lines)} lines of {len({one.case_id for one in lines})} cases"
    differences = adjustment_differences(lines, ledgers.seals, ledgers.closes)
    return Verdict("adjustments", found, tuple(differences))


def _closed(close: PeriodClose, seals: Sequence[Seal]) -> Verdict:
    found = f"{hours_text(close.hour_count)}, {close.billable_clicks:,} billable, root digest {close.root_digest}"
    return Verdict(f"closed period {close.period}", found, tuple(close_differences(close, seals)))


def _beyond_seals(seals: Sequence[Seal], publications: Sequence[Publication]) -> list[str]:
    """What publications claim beyond what was sealed."""
    newest = publications[-1]
    differences = []
    if newest.seal_number > len(seals):
        differences.append(
            f"publication {newest.number} shows seals up to {newest.seal_number}, there are {len(seals)}"
        )
    known_until: datetime | None = None
    hours: set[datetime] = set()
    unseen = deque(seals)
    for publication in publications:
        while unseen and unseen[0].number <= publication.seal_number:
            hours.add(unseen.popleft().hour)
        sealed_until = final_until(hours, known_until)
        if publication.final_until != sealed_until:
            until = format_utc(sealed_until) if sealed_until else "nothing"
            differences.append(
                f"publication {publication.number} says final until {format_utc(publication.final_until)}, "
                f"its seals say {until}"
            )
        known_until = publication.final_until
    return differences


class _HourVerifier:
    """Everything that is said about one hour, ``seals`` being its own, ascending.

    ``is_lost``: raw no longer has what they rest on, by a retention step.
    """

    def __init__(
        self,
        recount: RawRecount,
        figures: PublishedFigures | None,
        hour: datetime,
        seals: Sequence[Seal],
        *,
        is_lost: bool,
    ) -> None:
        self._is_lost = is_lost and bool(seals)
        self._recount, self._figures, self._hour, self._seals = recount, figures, hour, seals
        self._found = "not sealed"
        self._differences: list[str] = []
        self._notes: list[str] = []

    def verdict(self) -> Verdict:
        try:
            self._judge()
        except IntegrityError as error:
            self._differences.append(str(error))
        return Verdict(
            f"hour {format_utc(self._hour)}",
            self._found,
            tuple(self._differences),
            tuple(self._notes),
            self._hour,
            bool(self._seals),
            not self._is_lost,
        )

    def _judge(self) -> None:
        if self._seals:
            self._judge_publication()
        if self._is_lost:
            self._judge_lost()
        elif self._seals:
            self._differences[:0] = self._recount.disagreements(self._hour)
            self._judge_seals()
        if self._figures:
            if self._published_seal() is None and self._figures.has_minutes(self._hour):
                self._differences.append("figures of it are published, though no seal of it is")
            self._differences += self._figures.violations("hour", self._hour)

    def _judge_lost(self) -> None:
        """What can be said without raw: whether the published minutes add up to what was sealed."""
        seal = self._published_seal()
        self._found = "no longer verifiable: raw clicks that it rests on were deleted, their retention was over"
        if seal is not None and self._figures:
            clicks = self._figures.clicks_of(self._hour)
            if clicks != seal.billable_clicks:
                sealed = f"{seal.billable_clicks:,} billable clicks sealed"
                self._differences.append(f"seal {seal.number}: {sealed}, its published minutes add up to {clicks:,}")

    def _judge_publication(self) -> None:
        published = self._published_seal()
        if published is not self._seals[-1]:
            shown = f"the published figures are those of seal {published.number}" if published else "nothing of it is"
            self._differences.append(f"seal {self._seals[-1].number} is not published; {shown}")

    def _judge_seals(self) -> None:
        published = self._published_seal()
        for seal in self._seals:
            if seal.rule_version not in KNOWN_RULE_VERSIONS:
                known = f"this recount knows {' and '.join(map(str, KNOWN_RULE_VERSIONS))} only"
                self._differences.append(f"seal {seal.number} follows rule version {seal.rule_version}, {known}")
                continue
            if seal.verdict_set > self._recount.newest_verdict_set:
                ends = f"table fraud_verdicts ends at {self._recount.newest_verdict_set}"
                self._differences.append(f"seal {seal.number} was counted with verdict set {seal.verdict_set}, {ends}")
            horizon = timedelta(days=seal.horizon_days)
            found = self._recount.recount(self._hour, seal.cut, horizon, applied_set(seal))
            self._differences += _differences_from_seal(seal, found)
            if seal is published and self._figures and (found.raw_clicks or self._figures.has_minutes(self._hour)):
                self._differences += self._recount.minute_differences(self._figures.minutes_of(self._hour))
            self._tell(seal, found)

    def _published_seal(self) -> Seal | None:
        shown_up_to = self._figures.publication.seal_number if self._figures else 0
        return next((seal for seal in reversed(self._seals) if seal.number <= shown_up_to), None)

    def _tell(self, seal: Seal, found: HourRecount) -> None:
        excluded = "".join(f" + {count:,} {reason}" for reason, count in sorted(found.excluded_clicks.items()))
        revision = f", revision {seal.revision}" if seal.revision else ""
        self._found = (
            f"seal {seal.number}{revision}: {found.raw_clicks:,} raw = {found.billable_clicks:,} billable{excluded}"
        )
        if found.late_count and seal is self._seals[-1]:
            self._notes.append(f"{found.late_count:,} raw clicks came after the cut and wait for a revision")


def applied_set(seal: Seal) -> int:
    """The set of verdicts that the rule of the seal applies; none by the rule that knew of no verdicts."""
    return 0 if seal.rule_version == RULE_WITHOUT_VERDICTS else seal.verdict_set


def _differences_from_seal(seal: Seal, found: HourRecount) -> list[str]:
    figures = [("raw clicks", seal.raw_clicks, found.raw_clicks)]
    figures.append(("billable clicks", seal.billable_clicks, found.billable_clicks))
    figures += [
        (f"clicks excluded as {reason}", seal.excluded_clicks.get(reason, 0), found.excluded_clicks.get(reason, 0))
        for reason in sorted(seal.excluded_clicks.keys() | found.excluded_clicks.keys())
    ]
    differences = [
        f"seal {seal.number}: {sealed:,} {what} sealed, {recounted:,} recounted"
        for what, sealed, recounted in figures
        if sealed != recounted
    ]
    if seal.digest != found.digest:
        differences.append(f"seal {seal.number}: digest {seal.digest} sealed, {found.digest} recounted")
    if found.unreadable_count:
        differences.append(f"{found.unreadable_count:,} raw rows hold no valid event")
    return differences
