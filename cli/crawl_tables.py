"""Commands of ``tallystick crawl`` about what the crawl keeps: delivering it, deleting what is over, parsing it again.

Belongs here: what an operator types and reads. They are registered by ``cli/commands/crawl.py``.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, print_json, print_table, warn
from domain.errors import UsageError, WriterBusyError
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from crawler.frontier.database import Frontier
    from domain.settings import Settings

POLL_SECONDS = 1.0
DEFAULT_ACTOR = "tallystick crawl retain"
IsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def deliver(frontier: Frontier, settings: Settings) -> None:
    """The last step of a worker: into the tables, unless another process does it already."""
    from crawler.relay import relay as relay_all

    try:
        done = relay_all(frontier, settings, wait_seconds=0)
    except WriterBusyError as busy:
        note(f"what was fetched waits in the outbox: {busy.found}")
    else:
        note(f"{done.event_count:,} outcomes delivered to the tables")


def relay(
    until_empty: Annotated[bool, typer.Option(help="End once everything is delivered.")] = False,
    is_json: IsJson = False,
) -> None:
    """Deliver what was fetched into the tables documents, links and fetch_log; may be killed at any moment."""
    from crawler.frontier.database import opened_frontier
    from crawler.relay import relay as relay_all

    settings = load_settings()
    with opened_frontier(settings) as frontier:
        while True:
            done = relay_all(frontier, settings)
            if is_json and (done.event_count or until_empty):
                print_json(asdict(done))
            elif done.event_count or until_empty:
                documents = f"{done.document_count:,} documents, {done.link_count:,} links"
                note(
                    f"{done.event_count:,} outcomes delivered, with {documents}, in {done.batch_count} commits a table"
                )
            if until_empty:
                return
            time.sleep(POLL_SECONDS)


def retain(
    actor: Annotated[str, typer.Option(help="Who asks; it is kept.")] = DEFAULT_ACTOR, is_json: IsJson = False
) -> None:
    """Delete bodies, documents, links and outcomes whose time is over."""
    from crawler.frontier.database import opened_frontier
    from crawler.retaining import retain as delete_old
    from crawler.store import store_of

    settings = load_settings()
    with opened_frontier(settings) as frontier:
        done = delete_old(frontier, store_of(settings), settings, actor, now)
    if is_json:
        print_json(asdict(done))
        return
    rows = [("bodies", done.body_count), ("frontier's documents", done.document_count), *done.row_counts.items()]
    print_table(("data", "deleted"), rows)
    note(f"{done.body_bytes:,} bytes of bodies")


def reparse(
    from_: Annotated[str, typer.Option("--from", help="First date of fetching, such as 2026-01-31.")],
    to: Annotated[str, typer.Option("--to", help="Last date, included.")],
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a date.")] = False,
) -> None:
    """Parse stored bodies again, without the network, and replace the rows of documents and links that differ."""
    from crawler.parse_worker import ParseWorker
    from crawler.reparsing import reparse as parse_again
    from crawler.store import store_of

    settings = load_settings()
    dates = _date("--from", from_), _date("--to", to)
    with ParseWorker() as parser:
        for one in parse_again(settings, store_of(settings), parser.parse, *dates):
            if is_json:
                print_json(asdict(one))
            else:
                note(f"{one.fetch_date}: {one.document_count:,} documents, {one.changed_count:,} changed")
            if one.missing_count:
                warn(f"{one.fetch_date}: {one.missing_count:,} bodies are kept no longer; their rows stay")


def near_duplicates(
    day: Annotated[str, typer.Argument(metavar="DATE", help="Date of fetching, such as 2026-01-31.")],
    bits: Annotated[int, typer.Option(min=0, max=3, help="In how many of 64 bits they may differ.")] = 3,
    is_json: IsJson = False,
) -> None:
    """Label documents of a date that say nearly the same, in table near_duplicates; starts Spark."""
    from spark_jobs.near_duplicates import NearDuplicatesParams, label_near_duplicates
    from warehouse.spark.session import spark_session

    settings = load_settings()
    params = NearDuplicatesParams(_date("DATE", day), bits)
    spark = spark_session(settings, "near-duplicates")
    try:
        done = label_near_duplicates(spark, settings, params)
    finally:
        spark.stop()
    if is_json:
        print_json(asdict(done))
    else:
        note(f"{done.fetch_date}: {done.row_count:,} documents by URL have {done.label_count:,} labels")


def _date(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{name} {text!r}", "a date such as 2026-01-31", "correct it") from None
