"""``tallystick quality``: judges measured hours, shows what holds one back, and takes down what people decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from cli.console import note, print_json, print_table, warn
from cli.files import check_writable, write_whole
from cli.hours import FirstHour, RangeEnd, hours_asked_for, whole_hour
from domain.buckets import format_utc, hours_by_day
from domain.errors import UsageError
from domain.texts import hours_text
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.quality_verdicts import Verdict

app = typer.Typer(
    help="What is wrong with an hour, and what holds it back.", no_args_is_help=True, add_completion=False
)
HourArgument = Annotated[str, typer.Argument(metavar="HOUR", help="UTC, such as 2026-01-31T13:00Z.")]
RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="The rule, as `show` names it.")]
Actor = Annotated[str, typer.Option(help="Who decides.")]
Reason = Annotated[str, typer.Option(help="Why, in one line.")]
PAGE = "index.html"
COLUMNS = ("hour", "table", "rule", "group", "outcome", "blocks", "observed", "expected", "tolerance", "why")


@app.command()
def judge(
    from_: FirstHour,
    to: RangeEnd = None,
    *,
    is_plan: Annotated[bool, typer.Option("--plan", help="Say which hours would be judged, and judge none.")] = False,
) -> None:
    """Judge hours that were measured, and write the verdicts, a day at a time."""
    from quality.judging import Judging, judge_measured
    from warehouse.create import create_missing_tables
    from warehouse.measured_hours import newest_attempts
    from warehouse.quality_verdicts import append_verdicts

    settings, hours = load_settings(), hours_asked_for(from_, to)
    create_missing_tables(settings)
    attempts = newest_attempts(settings, hours)
    if is_plan:
        print_table(("hour", "attempt"), [(hour, attempts.get(hour)) for hour in hours])
        return
    counts: Counter[str] = Counter()
    judging = Judging(f"judge-{uuid4()}", now())
    for hours_of_day in hours_by_day(sorted(attempts)).values():
        verdicts = judge_measured(settings, hours_of_day, judging)
        append_verdicts(settings, verdicts)
        _print_verdicts(one for one in verdicts if one.outcome in {"fail", "error"})
        counts.update(one.outcome for one in verdicts)
    said = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    note(f"{hours_text(len(attempts))} judged: {said or 'nothing'}")
    if len(attempts) < len(hours):
        note(f"{hours_text(len(hours) - len(attempts))} never measured: an hour is measured when it is reconciled")


@app.command()
def show(
    hour: HourArgument, is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False
) -> None:
    """Show the verdicts of an hour that count, and what holds it back."""
    from domain.quality_verdicts import blocking, newest
    from domain.seals import current_seals
    from warehouse.create import create_missing_tables
    from warehouse.quality_verdicts import read_overrides, read_verdicts
    from warehouse.seals import read_seals

    settings, at = load_settings(), whole_hour("HOUR", hour)
    create_missing_tables(settings)
    verdicts = newest(read_verdicts(settings, [at]))
    if is_json:
        for one in verdicts:
            print_json(asdict(one) | {"is_blocking": one.is_blocking})
        return
    _print_verdicts(verdicts)
    if not verdicts:
        note(f"hour {format_utc(at)} was never judged")
    seal = current_seals(read_seals(settings)).get(at)
    if seal is not None:
        note(f"hour {format_utc(at)} is sealed, by attempt {seal.attempt}")
        return
    for hold in blocking(verdicts, read_overrides(settings)):
        warn(f"held back by attempt {hold.verdict.attempt}: {hold.why}")


@app.command()
def override(hour: HourArgument, rule: RuleArgument, *, actor: Actor, reason: Reason) -> None:
    """Let an hour be sealed although a rule holds it back, as long as it observes what it observed."""
    from warehouse.create import create_missing_tables
    from warehouse.quality_verdicts import release

    settings, at = load_settings(), whole_hour("HOUR", hour)
    create_missing_tables(settings)
    for one in release(settings, at, rule, actor=actor, reason=reason, at=now()):
        note(f"hour {format_utc(at)}: {one.rule} of {one.group or 'the whole'} no longer holds it: {one.observed}")


@app.command("accept-level")
def accept_level(
    hour: HourArgument,
    rule: RuleArgument,
    *,
    group: Annotated[str, typer.Option(help="Of which group, such as an advertiser; left out, the whole.")] = "",
    actor: Actor,
    reason: Reason,
) -> None:
    """Say that the level which a rule complains of is the right one from this hour on."""
    from warehouse.create import create_missing_tables
    from warehouse.quality_verdicts import accept_level as write_level

    settings, at = load_settings(), whole_hour("HOUR", hour)
    create_missing_tables(settings)
    write_level(settings, at, rule, group, actor=actor, reason=reason, at=now())
    note(f"from hour {format_utc(at)} on the level of {group or 'the whole'} is accepted")


@app.command()
def docs(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="An existing folder.")]) -> None:
    """Write a page about every rule and its newest verdicts, which opens without a network."""
    from quality.rule_page import rule_page
    from warehouse.create import create_missing_tables

    settings, page = load_settings(), folder / PAGE
    check_writable(page)
    create_missing_tables(settings)
    write_whole(page, rule_page(settings).encode())
    note(f"{page} is written")


@app.command()
def report(
    day: Annotated[str, typer.Argument(metavar="DATE", help="A UTC day, such as 2026-01-31.")],
    folder: Annotated[Path, typer.Option(help="An existing folder.")] = Path(),
) -> None:
    """Write a page about a day: what was judged, what drifted, what was held back, who let it go."""
    from quality.day_report import day_report
    from warehouse.create import create_missing_tables

    try:
        asked = date.fromisoformat(day)
    except ValueError as error:
        raise UsageError(f"DATE is {day!r}", "a day such as 2026-01-31", "correct it") from error
    settings, page = load_settings(), folder / f"quality-{asked}.html"
    check_writable(page)
    create_missing_tables(settings)
    write_whole(page, day_report(settings, asked).encode())
    note(f"{page} is written")


def _print_verdicts(verdicts: Iterable[Verdict]) -> None:
    rows = [
        (
            one.hour,
            one.table_name,
            one.rule,
            one.group,
            one.outcome,
            one.is_blocking,
            one.observed,
            one.expected,
            one.tolerance,
            one.tolerance_reason,
        )
        for one in verdicts
    ]
    print_table(COLUMNS, rows)
