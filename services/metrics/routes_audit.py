"""Views for auditors: an hour with its equation, and disputes with what they rest on, their clicks and their pack.

Belongs here: shaping answers. The law of the equation is ``domain/conservation.py``; the evidence of a dispute,
``warehouse/pack/``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from typing import Any

from domain.conservation import HourTally, conservation_violations
from domain.disputes import Dispute
from domain.settings import Settings
from quality.outcomes import read_hour_outcomes
from services.metrics.routes_books import MAX_FINDINGS, seal_document
from services.metrics.views import AUDITORS, MAX_ROWS, PAGING, Asked, Download, View, paged
from warehouse.disputes import read_dispute, read_disputes
from warehouse.duck_engine import scratch_folder
from warehouse.pack.evidence import Evidence
from warehouse.pack.files import write_pack
from warehouse.pack.report import read_report
from warehouse.seals import read_seals

LOOK_BACK = "look_back"
"""An earlier copy of a click, shown in a pack as evidence only."""
CLICK_COLUMNS = ("log", "partition", "offset", "clicked_at", "impression_id", "ad_id", "kind", "outcome", "reason")


def hour(settings: Settings, asked: Asked) -> dict[str, Any]:
    """An hour, advertiser by advertiser: raw, billable, excluded by reason, and whether it adds up; and its seals."""
    at = asked.hour("hour")
    found = read_hour_outcomes(settings, [at], asked.id("advertiser_id"))
    held = [seal for seal in read_seals(settings) if seal.hour == at]
    page = paged(list(found.tallies), asked)
    return page | {
        "hour": at,
        "is_final": not found.not_final,
        "violations": found.violations[:MAX_FINDINGS],
        "seals": [seal_document(seal) for seal in reversed(held)],
        "rows": [_equation(tally) for tally in page["rows"]],
    }


def _equation(tally: HourTally) -> dict[str, Any]:
    return vars(tally) | {"is_conserved": not conservation_violations([tally])}


def disputes(settings: Settings, asked: Asked) -> dict[str, Any]:
    """All disputes, newest first."""
    return paged([_dispute(one) for one in reversed(read_disputes(settings).values())], asked)


def _dispute(one: Dispute) -> dict[str, Any]:
    ended = one.resolution
    said = {name: value for name, value in vars(one).items() if name != "events"}
    return said | {"state": "open" if ended is None else ended.outcome, "events": [vars(event) for event in one.events]}


def dispute(settings: Settings, asked: Asked) -> dict[str, Any]:
    """What a dispute rests on: clicks by hour and ad, seals, adjustments, what happened."""
    report = read_report(settings, read_dispute(settings, asked.required("case_id")))
    hours = [{"hour": at, "ad_id": ad_id} | vars(one) for (at, ad_id), one in report.hours.items()]
    return {
        "dispute": _dispute(report.dispute),
        "billable_clicks": report.billable_clicks,
        "amounts_micros": report.amounts_micros,
        "missing_hours": report.missing_hours[:MAX_ROWS],
        "incomplete_hours": report.incomplete_hours[:MAX_ROWS],
        "seals": [seal_document(seal) for seal in report.seals[:MAX_ROWS]],
        "adjustments": [
            {"case_id": one.adjustment.case_id, "charge_hour": one.adjustment.charge_hour}
            | {"ad_id": one.adjustment.ad_id, "delta_clicks": one.adjustment.delta_clicks}
            | {"currency": one.currency, "amount_micros": one.amount_micros, "reason": one.adjustment.reason}
            for one in report.adjustments[:MAX_ROWS]
        ],
    } | paged(hours, asked)


def dispute_clicks(settings: Settings, asked: Asked) -> dict[str, Any]:
    """Each click event of the hours of a dispute, with its outcome and why; ``has_more`` if others follow."""
    page = asked.page()
    with Evidence(settings, read_dispute(settings, asked.required("case_id"))) as evidence:
        rows = list(islice(_clicks(evidence), page.start, page.stop + 1))
    wanted = page.stop - page.start
    return {"rows": rows[:wanted], "offset": page.start, "has_more": len(rows) > wanted}


def _clicks(evidence: Evidence) -> Iterator[dict[str, Any]]:
    for batch in evidence.clicks():
        for row in batch.to_pylist():
            if row["outcome"] != LOOK_BACK:
                yield {name: row[name] for name in (*CLICK_COLUMNS, "why")}


def dispute_pack(settings: Settings, asked: Asked) -> Download:
    """The evidence of a dispute as a zip that anybody can recount."""
    case_id = asked.required("case_id")
    file = tempfile.TemporaryFile(dir=scratch_folder(settings))  # noqa: SIM115 (it is closed once it was sent)
    write_pack(settings, case_id, file)
    return Download(f"dispute-{case_id}.zip", "application/zip", file)


AUDIT_VIEWS = (
    View(
        "/v1/hours/{hour}",
        "an hour: raw = billable + excluded by reason for each advertiser, and its seals",
        AUDITORS,
        hour,
        PAGING | {"advertiser_id": "this advertiser only"},
    ),
    View("/v1/disputes", "disputes, newest first", AUDITORS, disputes, PAGING),
    View("/v1/disputes/{case_id}", "what a dispute rests on", AUDITORS, dispute, PAGING),
    View(
        "/v1/disputes/{case_id}/clicks",
        "the clicks of a dispute, each with its outcome",
        AUDITORS,
        dispute_clicks,
        PAGING,
    ),
    View("/v1/disputes/{case_id}/pack", "the evidence of a dispute as a zip", AUDITORS, dispute_pack),
)
