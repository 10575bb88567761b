"""``tallystick import-log``: clicks that another program has logged, sent the way of all clicks, or only looked at."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated

import typer

from cli.console import note, print_json, print_table, working
from cli.files import whole_file
from clicklog.topics import check_topics, ensure_topics
from domain.buckets import format_utc
from domain.errors import UsageError
from domain.settings import Settings
from services.imports.formats import FORMATS, Format, read_rows
from services.imports.judge import Import, Judge, Refused, Tally
from services.imports.mapping import parse_conditions, parse_map
from services.imports.send import send_events
from warehouse.ads import read_ads
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.finality import published_seals
from warehouse.periods import read_closed
from warehouse.settings import load_settings

ID_CHARACTERS = 12
HOURS_SHOWN = 48


def import_log(
    file: Annotated[Path, typer.Argument(help="The log.")],
    given: Annotated[str, typer.Option("--format", help="combined, jsonl, csv or parquet.")],
    *,
    fields: Annotated[
        list[str] | None, typer.Option("--map", help="FIELD=COLUMN, FIELD=COLUMN~REGEX or FIELD=:TEXT; repeatable.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Rows that are clicks: COLUMN=TEXT or COLUMN~REGEX; repeatable.")
    ] = None,
    is_dry: Annotated[bool, typer.Option("--dry-run", help="Show what would happen; send nothing.")] = False,
    is_late: Annotated[
        bool, typer.Option("--late", help="Also where hours are sealed: that leads to revisions or adjustments.")
    ] = False,
    rejects: Annotated[
        Path | None, typer.Option("--rejects", help="Write each refused row with its reason here.")
    ] = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Bring the clicks of an existing log into ours. Every row is counted, left out or refused with a reason."""
    settings, at = load_settings(), now()
    create_missing_tables(settings)
    asked = Import(
        sources=parse_map(fields or [], is_combined=given == "combined"),
        conditions=parse_conditions(only or []),
        ads=read_ads(settings),
        server_id=f"import-{_digest_of(file)[:ID_CHARACTERS]}",
        at=at,
    )
    with working(f"reading {file.name}"):
        tally = _judged(file, _format(given), asked, rejects)
    states = _states(settings, tally)
    _show(tally, states, is_json)
    if is_dry or not tally.event_count:
        note(f"nothing was sent: {'a dry run' if is_dry else 'no row is a click'}")
        return
    _refuse_sealed(states, is_late)
    if settings.is_broker_embedded:
        ensure_topics(settings)
    check_topics(settings)
    with working(f"sending {tally.event_count:,} events"):
        events = Judge(asked, lambda _: None).events(read_rows(file, _format(given)))
        count = send_events(settings, events, asked.server_id, tally.first_clicked_at or at, at)
    note(f"{count:,} events are in the log, as those of server {asked.server_id}; reconcile the hours above")


def _format(text: str) -> Format:
    for each in FORMATS:
        if text == each:
            return each
    raise UsageError(f"--format {text!r}", f"one of {', '.join(FORMATS)}", "correct it")


def _digest_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "a file that can be read", "correct the name") from error


def _judged(path: Path, given: Format, asked: Import, rejects: Path | None) -> Tally:
    with _rejects(rejects) as refused_rows:

        def keep(refused: Refused) -> None:
            if refused_rows is not None:
                line = {"row": refused.number, "reason": refused.reason, "text": refused.text}
                refused_rows.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")

        judge = Judge(asked, keep)
        for _ in judge.events(read_rows(path, given)):
            pass
        return judge.tally


@contextmanager
def _rejects(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
    else:
        with whole_file(path) as file:
            yield file


def _states(settings: Settings, tally: Tally) -> dict[datetime, str]:
    sealed, closed_until = published_seals(settings), read_closed(settings).closed_until
    return {
        hour: "closed" if closed_until and hour < closed_until else "sealed" if hour in sealed else "open"
        for hour in sorted(tally.by_hour)
    }


def _refuse_sealed(states: dict[datetime, str], is_late: bool) -> None:
    late = [hour for hour, state in states.items() if state != "open"]
    if late and not is_late:
        raise UsageError(
            f"{len(late):,} of the hours are sealed or closed, the first {format_utc(late[0])}",
            "clicks of hours that are open, or --late",
            "with --late they become revisions of sealed hours, and proposed adjustments of closed ones",
        )


def _show(tally: Tally, states: dict[datetime, str], is_json: bool) -> None:
    by_state = Counter[str]()
    for hour, state in states.items():
        by_state[state] += tally.by_hour[hour]
    if is_json:
        print_json(
            {
                "rows": tally.row_count,
                "left_out": tally.left_out_count,
                "events": dict(tally.by_kind),
                "copies": tally.copy_count,
                "refused": dict(tally.by_reason),
                "events_by_state_of_hour": dict(by_state),
                "events_by_hour": {format_utc(hour): tally.by_hour[hour] for hour in states},
            }
        )
        return
    shown = list(states)[:HOURS_SHOWN]
    print_table(("hour", "events", "is"), [(hour, tally.by_hour[hour], states[hour]) for hour in shown])
    if len(states) > HOURS_SHOWN:
        note(f"and {len(states) - HOURS_SHOWN:,} more hours; --json shows all of them")
    clicks = tally.by_kind["click"]
    rows = [
        ("rows", tally.row_count),
        ("left out by --only", tally.left_out_count),
        ("clicks that would be counted, copies in the log aside", clicks - tally.copy_count),
        ("excluded: copies of a click of this file", tally.copy_count),
        *((f"excluded: {kind}", count) for kind, count in sorted(tally.by_kind.items()) if kind != "click"),
        *((f"refused: {reason}", count) for reason, count in sorted(tally.by_reason.items())),
    ]
    print_table(("of this file", "count"), rows)
    for one in tally.examples:
        note(f"row {one.number}: {one.reason}: {one.text[:120]}")
