"""What is proposed of sealed hours: revisions where the period is open, where it is closed adjustments with lines.

Belongs here: counting a closed hour again by the independent recount, and setting that against what was closed and
adjusted. What was found is ``warehouse/hour_findings.py``, the arithmetic ``domain/proposals.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

import pyarrow.dataset as ds

from domain.adjustments import AdjustmentLine
from domain.buckets import format_utc
from domain.errors import IntegrityError
from domain.proposals import ChargeKey, Findings, Proposal, delta_lines
from domain.seals import Seal, current_seals
from domain.settings import Settings
from quality.raw_recount import RawRecount
from quality.slices import in_hours
from warehouse.adjustments import read_adjustments
from warehouse.hour_findings import read_findings
from warehouse.layout import dataset_of, open_table
from warehouse.logs import read_logs
from warehouse.marks import ARCHIVE_QUERY, reached_offsets
from warehouse.periods import read_closed
from warehouse.seals import read_seals


def read_proposals(
    settings: Settings,
    hours: Collection[datetime] | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> list[Proposal]:
    """What is proposed of all sealed hours, or of those among ``hours``, ascending. Reads only.

    An hour of a closed period is recounted, and left out if nothing is left to bill. ``IntegrityError`` if it no longer
    recounts to its seal: what raw has lost is nobody's credit.
    """
    findings, closed = read_findings(settings, hours), read_closed(settings)
    of_closed = [one for one in findings if closed.holds(one.hour)]
    lines = _lines(settings, of_closed, on_progress) if of_closed else {}
    proposals = [
        Proposal("adjustment", one, lines[one.hour]) if one.hour in lines else Proposal("revision", one)
        for one in findings
    ]
    return [one for one in proposals if one.kind == "revision" or one.lines]


def _lines(
    settings: Settings, findings: Collection[Findings], on_progress: Callable[[str], None]
) -> dict[datetime, tuple[AdjustmentLine, ...]]:
    held, adjusted = current_seals(read_seals(settings)), read_adjustments(settings)
    reached = _archive_ends(settings)
    lines = {}
    with RawRecount(settings, on_progress) as recount:
        for one in findings:
            seal = held[one.hour]
            _refuse_damage(recount, seal)
            cut = _present_cut(seal, reached, one)
            recount.recount(seal.hour, cut, timedelta(days=seal.horizon_days), recount.newest_verdict_set)
            recounted = {ChargeKey(*key): clicks for *key, clicks in recount.key_counts()}
            lines[one.hour] = delta_lines(one.hour, recounted, _closed_counts(settings, seal), adjusted)
    return lines


def _refuse_damage(recount: RawRecount, seal: Seal) -> None:
    found = recount.recount(seal.hour, seal.cut, timedelta(days=seal.horizon_days), seal.verdict_set)
    if (found.raw_clicks, found.digest) != (seal.raw_clicks, seal.digest):
        raise IntegrityError(
            f"hour {format_utc(seal.hour)} recounts to {found.raw_clicks:,} raw clicks, digest {found.digest}",
            f"{seal.raw_clicks:,} and {seal.digest}, as seal {seal.number} says",
            "run `tallystick verify` of the hour and find the cause before anything is adjusted",
        )


def _archive_ends(settings: Settings) -> dict[str, int]:
    return {
        f"{row.log}:{partition}": end
        for row in read_logs(settings)
        for partition, end in reached_offsets(settings, ARCHIVE_QUERY, row.log).items()
    }


def _present_cut(seal: Seal, reached: Mapping[str, int], findings: Findings) -> dict[str, int]:
    """All that is archived by now: never less than what was sealed, never without what was found."""
    cut = dict(seal.cut)
    late = ((f"{one.log}:{one.partition}", one.offset + 1) for one in findings.late)
    for place, end in (*reached.items(), *late):
        cut[place] = max(end, cut.get(place, 0))
    return cut


def _closed_counts(settings: Settings, seal: Seal) -> dict[ChargeKey, int]:
    """By key the clicks of the attempt that was closed."""
    rows = dataset_of(open_table(settings, "reconciled_clicks_minute")).to_table(
        columns=[*ChargeKey._fields, "clicks"], filter=in_hours([seal.hour]) & (ds.field("attempt") == seal.attempt)
    )
    summed = rows.group_by(list(ChargeKey._fields)).aggregate([("clicks", "sum")]).to_pylist()
    return {ChargeKey(*(row[name] for name in ChargeKey._fields)): row["clicks_sum"] for row in summed}
