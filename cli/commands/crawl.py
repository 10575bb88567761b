"""``tallystick crawl``: seeds, a worker, how a domain stands, why a URL was not fetched, switches, traps, receipts."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.console import SECONDS_BETWEEN_LINES, note, out, print_json, print_table, warn
from cli.crawl_tables import deliver, near_duplicates, relay, reparse, retain
from cli.hours import instant
from domain.buckets import format_utc, from_unix_micros, to_unix_micros
from domain.class_shares import CLASS_SHARES, DEFAULT_CLASS
from domain.errors import UsageError
from domain.suppressions import SuppressionKind
from domain.traps import TRAP_REASONS
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from crawler.frontier.database import Frontier
    from crawler.worker import CrawlReceipt, Progress, Show

app = typer.Typer(help="The crawl.", no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(metavar="NAME", help="An origin (https://example.org), host or domain.")]
Reason = Annotated[str, typer.Option(help="Why, in one line; it is kept.")]
Actor = Annotated[str, typer.Option(help="Who does it; it is kept.")]
IsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@app.command()
def seeds(
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...", help="URLs to begin with.")] = None,
    *,
    actor: Actor,
    file: Annotated[Path | None, typer.Option(help="A file with a URL a line.", exists=True, dir_okay=False)] = None,
    priority: Annotated[int, typer.Option(min=0, max=1_000, help="Worth as many minutes of waiting.")] = 0,
    class_name: Annotated[str, typer.Option("--class", help=f"{', '.join(CLASS_SHARES)}.")] = DEFAULT_CLASS,
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a URL.")] = False,
) -> None:
    """Add URLs. Bad ones are refused, each with its reason, the others taken in; ends with 1 if all were refused."""
    from crawler.seeding import add_seeds

    lines = file.read_text(encoding="utf-8").splitlines() if file is not None else []
    named = [*(urls or ()), *(line.strip() for line in lines if line.strip())]
    if not named:
        raise UsageError("no URL", "URLs, or a file of them", "give some")
    with _frontier() as frontier:
        done = add_seeds(frontier, named, actor, priority, class_name)
    if is_json:
        for one in done:
            print_json(one._asdict())
    else:
        print_table(("url", "outcome", "reason"), [(one.url, one.outcome, one.reason or None) for one in done])
    if all(one.outcome == "refused" for one in done):
        raise typer.Exit(1)


@app.command()
def run(
    workers: Annotated[int, typer.Option(min=1, max=1_000, help="Most pages in hand at a time.")] = 16,
    until_idle: Annotated[
        bool, typer.Option(help="End once nothing is left but what waits for its time or for an origin's rest.")
    ] = False,
    is_json: IsJson = False,
) -> None:
    """Crawl what is due, politely; any number of these may run beside each other, and be killed at any moment."""
    import asyncio

    last_seconds = 0.0

    def show(progress: Progress) -> None:
        nonlocal last_seconds
        if time.monotonic() - last_seconds >= SECONDS_BETWEEN_LINES:
            last_seconds = time.monotonic()
            note(f"{progress.request_count:,} requests, {progress.in_hand_count} in hand: {_counts(progress.counts)}")

    made = asyncio.run(_crawled(workers, until_idle, show))
    if is_json:
        print_json(asdict(made))
        return
    print_table(("lease ended", "times"), made.counts.items(), title=f"{made.owner}: {made.lease_count:,} leases")
    seconds = (made.ended_at - made.started_at).total_seconds()
    note(f"{made.request_count:,} requests in {seconds:.1f} s, {made.added_count:,} URLs were new")
    if made.resting_count:
        note(f"{made.resting_count:,} URLs wait for origins that asked for rest")


@app.command()
def status(name: Name, is_json: IsJson = False) -> None:
    """Show how an origin, host or domain stands: URLs by state, its gap, its switch, its suppressions."""
    from crawler.frontier.reading import status_of
    from crawler.telling import status_object

    with _frontier() as frontier:
        found = status_of(frontier, name)
    if is_json:
        print_json(status_object(found))
        return
    rows = [
        (
            *(one.origin, one.switch, one.class_name, _counts(one.url_counts)),
            f"{one.in_flight_count} of {one.in_flight_cap}",
            *(_seconds(one.gap_micros), _at(one.claimable_at), _at(one.oldest_ready_at), one.failure_count),
        )
        for one in found.origins
    ]
    columns = ("origin", "switch", "class", "urls", "in flight", "gap s", "next", "oldest ready", "throttled")
    print_table(columns, rows)
    stages = [
        (one.origin, stage, _counts(reasons)) for one in found.origins for stage, reasons in one.stage_counts.items()
    ]
    print_table(("origin", "stage", "ended with"), stages, title="Stages")
    cuts = [
        (one.origin, cut["reason"], cut["cut_count"], _at(cut["last_cut_at"]), "\n".join(cut["samples"]))
        for one in found.origins
        for cut in one.cuts
    ]
    if cuts:
        print_table(("origin", "reason", "times", "last", "samples"), cuts, title="Cut as traps")
    if found.suppressions:
        _print_suppressions(found.suppressions)
    for one in found.origins:
        if one.distrusted_at:
            warn(f"{one.origin}: asked without validators since {format_utc(from_unix_micros(one.distrusted_at))}")
    for alert in found.alerts:
        raised_at = format_utc(from_unix_micros(alert["raised_at"]))
        warn(f"alert {alert['kind']} of {alert['subject']} since {raised_at}: {alert['detail']}")
    if found.stale_commit_count:
        warn(f"{found.stale_commit_count:,} commits came too late and changed nothing")


@app.command()
def why(url: Annotated[str, typer.Argument(metavar="URL")], is_json: IsJson = False) -> None:
    """Explain one URL: what keeps it from being fetched now, and everything that happened to it."""
    from crawler.frontier.reading import why as explain
    from crawler.telling import why_object
    from crawler.urls import normalise

    with _frontier() as frontier:
        told = explain(frontier, normalise(url))
    if is_json:
        print_json(why_object(told))
        return
    out.print(f"{told.url}: {told.state or 'not known'}", markup=False)
    for obstacle in told.obstacles:
        out.print(f"  {obstacle}", markup=False)
    if told.state in {"ready", "waiting"} and not told.obstacles:
        out.print("  nothing: the next claim may take it", markup=False)
    rows = [(_at(e["happened_at"]), e["state"], e["reason"], e["actor"], e["fence"], e["detail"]) for e in told.events]
    print_table(("when", "became", "why", "by", "fence", "detail"), rows, title="URL")
    origin_rows = [
        (_at(e["happened_at"]), e["event"], e["reason"], e["actor"], _at(e["until_at"])) for e in told.origin_events
    ]
    print_table(("when", "what", "why", "by", "until"), origin_rows, title="Origin")
    if told.refusals:
        refused = [(_at(e["refused_at"]), e["reason"], e["source"], e["suppression_id"]) for e in told.refusals]
        print_table(("when", "why", "named by", "suppression"), refused, title="Refused")
    if told.suppressions:
        _print_suppressions(told.suppressions)


@app.command()
def pause(name: Name, reason: Reason, actor: Actor) -> None:
    """Claim nothing more of an origin, host or domain; what is in flight ends."""
    _switch(name, "paused", reason, actor)


@app.command()
def resume(name: Name, reason: Reason, actor: Actor) -> None:
    """Take back a pause, a kill or a parking for a long Crawl-delay, which still holds."""
    _switch(name, "open", reason, actor)


@app.command()
def kill(name: Name, reason: Reason, actor: Actor) -> None:
    """Stop an origin, host or domain at once: leases are taken away too, and commit nothing."""
    _switch(name, "killed", reason, actor)


@app.command()
def allow(
    origin: Annotated[str, typer.Argument(metavar="ORIGIN", help="Such as https://example.org.")],
    trap: Annotated[str, typer.Argument(metavar="TRAP", help=f"{', '.join(TRAP_REASONS)}, or validators.")],
    *,
    limit: Annotated[int | None, typer.Option(min=1, help="The new limit; without it there is none.")] = None,
    reason: Reason,
    actor: Actor,
) -> None:
    """Let an origin go beyond a limit against traps, or believe its validators again; the limit holds from now on."""
    from crawler.frontier.budgets import allow as write

    with _frontier() as frontier:
        write(frontier, origin, trap, limit, reason=reason, actor=actor)
    note(f"{origin} is allowed {trap}{'' if limit is None else f' up to {limit:,}'}")


@app.command()
def suppress(
    kind: Annotated[SuppressionKind, typer.Argument(metavar="KIND", help="url, prefix, host, registrable_domain.")],
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="What opted out.")],
    *,
    reason: Reason,
    verification: Annotated[str, typer.Option(help="How it was verified that they may ask for it; it is kept.")],
    actor: Actor,
    is_deleting: Annotated[bool, typer.Option("--delete", help="Then delete all that is kept of it.")] = False,
) -> None:
    """Honour an opt-out: nothing that it covers is fetched from now on, for ever."""
    from crawler.deleting import delete_everywhere
    from crawler.frontier.suppressing import OptOut
    from crawler.frontier.suppressing import suppress as write
    from crawler.patterns import normal_pattern
    from crawler.store import store_of

    settings = load_settings()
    with _frontier() as frontier:
        opt_out = OptOut(kind, normal_pattern(kind, pattern), reason, verification, actor)
        suppression = write(frontier, opt_out)
        note(f"suppression {suppression.suppression_id}: {suppression.kind} {suppression.pattern}")
        if is_deleting:
            counts = delete_everywhere(frontier, store_of(settings), settings, suppression.suppression_id, actor)
            print_table(("data", "deleted"), counts.items())


@app.command()
def receipt(
    origin: Annotated[str, typer.Argument(metavar="ORIGIN", help="Such as https://example.org.")],
    from_: Annotated[str, typer.Option("--from", help="Start, such as 2026-01-31T13:00Z.")],
    to: Annotated[str, typer.Option("--to", help="End, not part of the window.")],
    is_json: IsJson = False,
) -> None:
    """Show how an origin was treated in a window, by the log of requests; ends with 1 if that was not polite."""
    from crawler.frontier.requests import receipt_of

    start, end = (instant(name, text, "2026-01-31T13:00Z") for name, text in (("--from", from_), ("--to", to)))
    with _frontier() as frontier:
        made = receipt_of(frontier, origin, to_unix_micros(start), to_unix_micros(end))
    figures = {
        "requests": made.request_count,
        "smallest_gap_seconds": _seconds(made.smallest_gap_micros),
        "gap_seconds": _seconds(made.gap_micros),
        "most_in_flight": made.most_in_flight_count,
        "in_flight_cap": made.in_flight_cap,
        "rate_per_mille_of_cap": made.rate_per_mille_of_cap,
        "answers_429": made.throttled_count,
        "answers_5xx": made.server_error_count,
        "no_answer": made.unanswered_count,
        "is_polite": made.is_polite,
    }
    if is_json:
        print_json({"origin": origin, "from": start, "to": end} | figures)
    else:
        print_table(("figure", "value"), figures.items(), title=f"{origin}, {format_utc(start)} to {format_utc(end)}")
    if not made.is_polite:
        raise typer.Exit(1)


@app.command()
def serve() -> None:
    """Answer the crawl API until Ctrl-C, to operators with a token; docs/crawl.md says how to ask."""
    from services.crawl.server import run_crawl_api

    settings = load_settings()
    note(f"crawl API on http://{settings.bind_address}:{settings.crawl_api_port}, Ctrl-C ends it")
    run_crawl_api(settings)


for command in (relay, retain, reparse, near_duplicates):
    app.command()(command)


async def _crawled(workers: int, until_idle: bool, show: Show) -> CrawlReceipt:
    """A worker that SIGTERM and Ctrl-C stop gently."""
    import asyncio

    from crawler.store import store_of
    from crawler.worker import params_from, run_worker

    settings = load_settings()
    owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    params = params_from(settings, owner, workers, until_idle)
    stop = asyncio.Event()

    def request_stop() -> None:
        note(f"stopping: what is in flight may end within {params.stop_seconds:.0f} s, the rest is given back")
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, request_stop)
    with _frontier() as frontier:
        made = await run_worker(frontier, store_of(settings), params, now, stop=stop, show=show)
        deliver(frontier, settings)
        return made


def _frontier() -> AbstractContextManager[Frontier]:
    from crawler.frontier.database import opened_frontier

    return opened_frontier(load_settings())


def _switch(name: str, switch: Literal["open", "paused", "killed"], reason: str, actor: str) -> None:
    from crawler.frontier.switches import set_switch

    with _frontier() as frontier:
        for origin in set_switch(frontier, name, switch, reason=reason, actor=actor):
            note(f"{origin} is {switch}")


def _print_suppressions(found: list[dict[str, Any]]) -> None:
    rows = [
        (
            *(one["suppression_id"], one["kind"], one["pattern"], one["reason"], one["verification"], one["actor"]),
            *(_at(one["suppressed_at"]), one["refused_count"], sum(row["row_count"] for row in one["deletions"])),
        )
        for one in found
    ]
    columns = ("id", "kind", "pattern", "reason", "verified by", "by", "when", "refused", "rows deleted")
    print_table(columns, rows, title="Suppressions")


def _at(micros: int | None) -> datetime | None:
    """An instant of the frontier; 0 is none."""
    return from_unix_micros(micros) if micros else None


def _seconds(micros: int | None) -> str | None:
    return None if micros is None else f"{micros / 1_000_000:.3f}"


def _counts(by_state: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in sorted(by_state.items()))
