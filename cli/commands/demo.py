"""``tallystick demo``: the whole story on generated traffic, from a click to a sealed number, in its own folder."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, out, print_table, working
from domain.buckets import HOUR, format_utc, hour_of, hours_between
from domain.counting import EXCLUSION_REASONS
from domain.errors import IntegrityError
from domain.settings import Settings
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.params import ReconcileReceipt
    from traffic.truth import Truth

FOLDER = "demo"
HOURS = 3


def demo(
    clicks: Annotated[int, typer.Option(min=1_000, help="Billable clicks to send.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Another seed, another traffic.")] = 7,
) -> None:
    """Send clicks, count them live, reconcile and seal their hours, verify; ends with a summary."""
    from clicklog.broker import start_broker
    from clicklog.topics import ensure_topics
    from warehouse.spark.session import spark_session

    settings = _fresh(load_settings())
    first_hour = hour_of(now()) - HOURS * HOUR
    _chapter(1, "A Kafka broker starts, with the topics for clicks, edge counts and watermarks.")
    with start_broker(settings, note) as broker:
        settings = replace(settings, kafka_bootstrap=broker.bootstrap)
        ensure_topics(settings)
        _chapter(
            2, f"{clicks:,} clicks of the last {HOURS} hours are sent, with everything that goes wrong in real life."
        )
        truth = _send(settings, clicks, seed, first_hour)
        _chapter(3, "The stream archives every record and counts each click once, within seconds.")
        with working("starting Spark"):
            spark = spark_session(settings, "tallystick-demo")
        _stream(settings, spark)
        _chapter(4, "The batch counts the same hours again from the raw log, compares, seals and publishes.")
        receipt = _reconcile(settings, spark, first_hour)
        spark.stop()
        _chapter(5, "Another engine recounts from the raw log alone, sharing no counting code.")
        agrees = _verify(settings, first_hour)
    _summary(settings, truth, receipt, agrees)


def _fresh(settings: Settings) -> Settings:
    """A home of its own, emptied: each demo is the same story."""
    home = settings.home / FOLDER
    if home.exists():
        shutil.rmtree(home)
    return replace(settings, home=home, tables="", kafka_bootstrap="", grace_seconds=0)


def _chapter(number: int, text: str) -> None:
    out.print(f"\n[bold]{number}. {text}[/bold]")


def _send(settings: Settings, clicks: int, seed: int, first_hour: datetime) -> Truth:
    from traffic.options import Shares, TrafficOptions
    from traffic.run import generate

    options = TrafficOptions(
        clicks_count=clicks,
        seed=seed,
        start_at=first_hour,
        end_at=first_hour + HOURS * HOUR,
        late_bound_seconds=settings.late_bound_seconds,
        ads_count=60,
        advertisers_count=5,
        hot_share=0.3,
        shares=Shares(),
    )
    with working(f"sending to {settings.bootstrap}"):
        receipt = generate(settings, options, now(), lambda _: None)
    odd = {name: count for name, count in receipt.truth.made.items() if count}
    note("among them: " + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in odd.items()))
    return receipt.truth


def _stream(settings: Settings, spark: SparkSession) -> None:
    from spark_jobs.stream import run_stream
    from spark_jobs.stream_params import StreamParams

    with working("catching up with the log"):
        receipt = run_stream(settings, spark, StreamParams(is_once=True))
    note(
        f"archived {receipt.raw_rows:,}, quarantined with a reason {receipt.quarantined_rows:,}, "
        f"counted live {receipt.live_counted_count:,}, refused as late {receipt.live_late_count:,}"
    )


def _reconcile(settings: Settings, spark: SparkSession, first_hour: datetime) -> ReconcileReceipt:
    from spark_jobs.params import ReconcileParams
    from spark_jobs.reconcile import reconcile

    params = ReconcileParams(first_hour, first_hour + HOURS * HOUR, "demo")
    return reconcile(settings, spark, params, now, progress=note)


def _verify(settings: Settings, first_hour: datetime) -> bool:
    from quality.recount import verify

    verdicts = list(verify(settings, list(hours_between(first_hour, first_hour + HOURS * HOUR)), on_progress=note))
    for verdict in verdicts:
        note(f"{'agrees' if verdict.is_agreeing else 'DIFFERS'}: {verdict.subject}: {verdict.found}")
    return all(verdict.is_agreeing for verdict in verdicts)


def _summary(settings: Settings, truth: Truth, receipt: ReconcileReceipt, agrees: bool) -> None:
    """The equation, live against final, and whether all of it is what the generator says it must be."""
    by_advertiser = _figures_by_advertiser(settings)
    columns = (
        "advertiser",
        "raw",
        "= billable",
        *(f"+ {reason}" for reason in EXCLUSION_REASONS),
        "live",
        "live - final",
    )
    rows = [_row(f"{advertiser}", figures) for advertiser, figures in sorted(by_advertiser.items())]
    rows.append(_row("all", sum(by_advertiser.values(), Counter())))
    out.print()
    print_table(columns, rows, title="raw = billable + excluded by reason; live against final")
    final_until = receipt.final_until
    out.print(f"final_until: {format_utc(final_until) if final_until else 'nothing is sealed'}")
    judgements = {
        "final equals the truth that the generator wrote down": _rows(settings, "final_clicks_minute")
        == truth.final_rows(),
        "live equals the truth": _rows(settings, "live_clicks_minute") == truth.live_rows(),
        "the recount from raw agrees with the seals": agrees,
        "all hours are sealed and published": len(receipt.of("seal")) == HOURS,
    }
    for text, is_so in judgements.items():
        out.print(f"  [{'green' if is_so else 'bold red'}]{'yes' if is_so else 'NO'}[/]  {text}")
    _where_next(settings, receipt)
    if not all(judgements.values()):
        raise IntegrityError(
            "; ".join(f"not so: {text}" for text, is_so in judgements.items() if not is_so),
            "the story above, to the last click",
            f"look into {settings.home} and report it",
        )


def _figures_by_advertiser(settings: Settings) -> dict[int, Counter[str]]:
    from warehouse.layout import open_table, rows_of

    figures: dict[int, Counter[str]] = {}
    for row in rows_of(open_table(settings, "drift")).to_pylist():
        counts = figures.setdefault(row["advertiser_id"], Counter())
        counts.update({"raw": row["raw_clicks"], "billable": row["final_clicks"], "live": row["live_clicks"]})
    for row in rows_of(open_table(settings, "click_exclusions")).to_pylist():
        figures[row["advertiser_id"]][row["reason"]] += 1
    return figures


def _row(name: str, figures: Counter[str]) -> tuple[Any, ...]:
    difference = figures["live"] - figures["billable"]
    return (
        name,
        figures["raw"],
        figures["billable"],
        *(figures[reason] for reason in EXCLUSION_REASONS),
        figures["live"],
        difference,
    )


def _rows(settings: Settings, table: str) -> dict[tuple[Any, ...], int]:
    from warehouse.layout import open_table, rows_of
    from warehouse.tables import LIVE_CLICKS_MINUTE

    rows = rows_of(open_table(settings, table)).to_pylist()
    return {tuple(row[name] for name in LIVE_CLICKS_MINUTE.key): row["clicks"] for row in rows}


def _where_next(settings: Settings, receipt: ReconcileReceipt) -> None:
    out.print("\nWhere to look next:")
    home = f"TALLYSTICK_HOME={settings.home}"
    start, end = format_utc(receipt.hours[0].hour), format_utc(receipt.hours[-1].hour + HOUR)
    for command in (
        f"{home} tallystick final-until",
        f"{home} tallystick counts --granularity hour --group-by campaign --from {start} --to {end}",
        "make up, then the Dagster page on http://127.0.0.1:18300",
        "README.md: the path of one click",
    ):
        out.print(f"  {command}", markup=False)
