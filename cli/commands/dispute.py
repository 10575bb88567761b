"""``tallystick dispute``: opens disputes, shows what they rest on, packs the evidence, and ends them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note as say
from cli.console import out, print_json, print_table, warn
from cli.files import check_writable, whole_file
from cli.hours import instant
from domain.buckets import format_utc
from domain.disputes import OUTCOMES, Claim, Dispute, Resolution
from domain.errors import IntegrityError
from domain.events import MAX_INT64
from domain.prices import amount_text, amounts_text
from domain.texts import hours_text
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.settings import Settings
    from warehouse.pack.files import PackReceipt
    from warehouse.pack.report import DisputeReport

app = typer.Typer(help="Disputes about billed clicks.", no_args_is_help=True, add_completion=False)

CaseId = Annotated[str, typer.Argument(metavar="ID", help="The dispute, such as D-1.")]
Actor = Annotated[str, typer.Option(help="Who does it.")]
IsJson = Annotated[bool, typer.Option("--json", help="A JSON object a line.")]
FINDINGS_SHOWN = 20
CLICK_COLUMNS = ("clicked_at", "impression_id", "ad_id", "kind", "outcome", "reason", "why")


@app.command("open")
def open_(
    *,
    advertiser: Annotated[int, typer.Option(min=1, max=MAX_INT64, help="Whose clicks.")],
    from_: Annotated[str, typer.Option("--from", help="Start, a UTC minute such as 2026-01-31T13:00Z.")],
    to: Annotated[str, typer.Option("--to", help="End, not part of the range.")],
    claim: Annotated[str, typer.Option(help="What the advertiser says, in one line.")],
    actor: Actor,
    claimed_clicks: Annotated[int | None, typer.Option(min=0, help="How many clicks there should be.")] = None,
) -> None:
    """Open a dispute and print its id. From now on its hours are held."""
    from warehouse.create import create_missing_tables
    from warehouse.disputes import open_dispute

    expected = "a UTC minute such as 2026-01-31T13:00Z"
    start, end = instant("--from", from_, expected), instant("--to", to, expected)
    asked = Claim(
        advertiser_id=advertiser,
        start=start,
        end=end,
        claim=claim,
        actor=actor,
        claimed_clicks=claimed_clicks,
        opened_at=now(),
    )
    settings = load_settings()
    create_missing_tables(settings)
    dispute = open_dispute(settings, asked)
    out.print(dispute.case_id)
    held = hours_text(len(dispute.hours))
    say(f"dispute {dispute.case_id} is open: {held} held until it is resolved, and beyond")


@app.command("list")
def list_disputes(
    is_only_open: Annotated[bool, typer.Option("--open", help="Only those that are open.")] = False,
    is_json: IsJson = False,
) -> None:
    """List disputes, oldest first."""
    from warehouse.disputes import read_disputes

    found = [one for one in read_disputes(load_settings()).values() if one.is_open or not is_only_open]
    if is_json:
        for dispute in found:
            print_json(_document(dispute))
        return
    columns = ("case", "state", "advertiser", "from", "to", "claimed clicks", "claim", "opened", "by")
    rows = [
        (
            d.case_id,
            _state(d),
            str(d.advertiser_id),
            d.start,
            d.end,
            d.claimed_clicks,
            d.claim,
            d.opened_at,
            d.opened_by,
        )
        for d in found
    ]
    print_table(columns, rows)


@app.command()
def show(case_id: CaseId, is_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """Show what a dispute rests on: clicks by hour and ad, seals and revisions, adjustments, what happened."""
    from warehouse.disputes import read_dispute
    from warehouse.pack.report import read_report

    settings = load_settings()
    report = read_report(settings, read_dispute(settings, case_id))
    if is_json:
        print_json(_report_document(report))
    else:
        _print_report(report)


@app.command()
def clicks(case_id: CaseId, is_json: IsJson = False) -> None:
    """Print each click event of the hours of a dispute, with its outcome and why."""
    from warehouse.disputes import read_dispute
    from warehouse.pack.evidence import Evidence

    settings = load_settings()
    with Evidence(settings, read_dispute(settings, case_id)) as evidence:
        found = (row for batch in evidence.clicks() for row in batch.to_pylist() if row["outcome"] != "look_back")
        if not is_json:
            print_table(("position", *CLICK_COLUMNS), map(_click_cells, found))
            return
        for row in found:
            print_json(row)


@app.command("note")
def add_note(case_id: CaseId, text: Annotated[str, typer.Argument(help="One line.")], actor: Actor) -> None:
    """Add a note to a dispute."""
    from warehouse.disputes import add_note as write_note

    write_note(load_settings(), case_id, actor, text, now())
    say(f"dispute {case_id}: noted")


@app.command()
def resolve(
    case_id: CaseId,
    *,
    outcome: Annotated[str, typer.Option(help=f"{', '.join(OUTCOMES)}.")],
    reason: Annotated[str, typer.Option(help="Why, in one line.")],
    actor: Actor,
    adjustment_case: Annotated[str | None, typer.Option(help="The adjustments that correct it.")] = None,
) -> None:
    """End a dispute: the claim is upheld, or rejected, or the figures were adjusted."""
    from warehouse.disputes import resolve_dispute

    asked = Resolution(
        outcome=outcome, reason=reason, actor=actor, resolved_at=now(), adjustment_case_id=adjustment_case
    )
    settings = load_settings()
    resolve_dispute(settings, case_id, asked)
    say(f"dispute {case_id} is {outcome}; its hours are held for {settings.dispute_hold_days} days more")


@app.command()
def pack(
    case_id: CaseId,
    to: Annotated[Path, typer.Option(metavar="FILE", help="A zip; a file of that name is replaced.")],
) -> None:
    """Pack the evidence of a dispute into a zip that anybody can recount with Python and DuckDB.

    Ends with 4 if the pack, recounted by its own script, does not match; it is written all the same.
    """
    receipt = pack_to(load_settings(), case_id, to)
    for hour in receipt.incomplete_hours:
        warn(f"hour {format_utc(hour)}: raw events are gone, the pack says so and proves nothing of it")
    say(f"{to}: {receipt.event_count:,} click events, {receipt.billable_clicks:,} billable clicks in the range")
    for finding in receipt.findings[:FINDINGS_SHOWN]:
        warn(f"- {finding}")
    if receipt.findings:
        raise IntegrityError(
            f"the pack {to} differs in {len(receipt.findings)} places from itself or from what was sealed",
            "evidence that recounts to the seals",
            "look at the lines above, and at `tallystick verify` of its hours",
        )


def pack_to(settings: Settings, case_id: str, path: Path) -> PackReceipt:
    """Writes the pack of a dispute to a file: whole, or not at all."""
    from warehouse.pack.files import write_pack

    check_writable(path)
    with whole_file(path) as file:
        return write_pack(settings, case_id, file)


def _state(dispute: Dispute) -> str:
    ended = dispute.resolution
    return "open" if ended is None or ended.outcome is None else ended.outcome


def _document(dispute: Dispute) -> dict[str, Any]:
    said = {name: value for name, value in vars(dispute).items() if name != "events"}
    return said | {"state": _state(dispute), "events": [vars(event) for event in dispute.events]}


def _click_cells(row: dict[str, Any]) -> tuple[object, ...]:
    """An id is a name: it gets no thousands separators."""
    position = f"{row['log']}:{row['partition']}:{row['offset']}"
    shown = row | {"ad_id": str(row["ad_id"])}
    return position, *(shown[name] for name in CLICK_COLUMNS)


def _report_document(report: DisputeReport) -> dict[str, Any]:
    hours = [{"hour": hour, "ad_id": ad_id} | vars(one) for (hour, ad_id), one in report.hours.items()]
    adjustments = [
        vars(one.adjustment) | {name: value for name, value in one._asdict().items() if name != "adjustment"}
        for one in report.adjustments
    ]
    return _document(report.dispute) | {
        "billable_clicks": report.billable_clicks,
        "amounts_micros": report.amounts_micros,
        "hours": hours,
        "seals": [seal.columns() for seal in report.seals],
        "adjustments": adjustments,
        "missing_hours": report.missing_hours,
        "incomplete_hours": report.incomplete_hours,
    }


def _print_report(report: DisputeReport) -> None:
    dispute = report.dispute
    claimed = "" if dispute.claimed_clicks is None else f", claimed {dispute.claimed_clicks:,}"
    counts = f"{report.billable_clicks:,} billable clicks{claimed}"
    total = ", ".join(filter(None, (counts, amounts_text(report.amounts_micros))))
    where = f"advertiser {dispute.advertiser_id}, {format_utc(dispute.start)} to {format_utc(dispute.end)}"
    out.print(f"{dispute.case_id}, {_state(dispute)}: {where}: {total}", markup=False)
    for hour in report.missing_hours:
        warn(f"hour {format_utc(hour)} is not sealed and published yet: its clicks are in no figure")
    for hour in report.incomplete_hours:
        warn(f"hour {format_utc(hour)}: raw events are gone, so excluded clicks may be missing below")
    print_table(
        ("hour", "ad", "billable", "amount", "not billable"),
        [
            (
                hour,
                str(ad_id),
                one.billable_clicks,
                amounts_text(one.amounts_micros) or None,
                _counts(one.excluded_clicks),
            )
            for (hour, ad_id), one in report.hours.items()
        ],
        title="Clicks",
    )
    print_table(
        ("hour", "seal", "revision", "sealed", "by", "case", "reason", "rule", "verdict set", "digest"),
        [
            (
                *(s.hour, s.seal_number, s.revision, s.sealed_at, s.actor, s.case_id, s.reason),
                *(s.rule_version, s.verdict_set, s.digest),
            )
            for s in report.seals
        ],
        title="Seals",
    )
    print_table(
        ("case", "line", "charge hour", "ad", "clicks", "amount", "billed in", "reason"),
        [
            (
                *(one.case_id, one.line_number, one.charge_hour, str(one.ad_id), one.delta_clicks),
                None if micros is None or currency is None else amount_text(micros, currency),
                *(str(one.billing_period), one.reason),
            )
            for one, _, currency, micros in report.adjustments
        ],
        title="Adjustments",
    )
    print_table(
        ("when", "what", "who", "outcome", "says", "adjustments"),
        [(e.recorded_at, e.kind, e.actor, e.outcome, e.reason, e.adjustment_case_id) for e in dispute.events],
        title="Case",
    )


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(counted.items()))
