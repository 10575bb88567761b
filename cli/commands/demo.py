"""``tallystick demo``: the whole story on generated traffic, from a click to an adjustment, in its own folder.

Belongs here: the chapters in their order, up to sealed and recounted hours. What finance and an auditor do with them is
``cli/demo_books.py``, the summary ``cli/demo_summary.py``.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, out, working
from domain.buckets import HOUR, hours_between
from domain.periods import Period, period_of
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
    """Send clicks, count them live, seal their hours, answer a dispute, close the month; ends with a summary."""
    from cli.demo_books import Books
    from cli.demo_summary import Story, print_summary
    from clicklog.broker import start_broker
    from clicklog.topics import ensure_topics
    from warehouse.spark.session import spark_session

    settings = _fresh(load_settings())
    period = _last_month(now())
    first_hour = period.end - HOURS * HOUR
    story = Story(settings, hours=list(hours_between(first_hour, period.end)))
    _chapter(1, "A Kafka broker starts, with the topics for clicks, edge counts and watermarks.")
    with start_broker(settings, note) as broker:
        settings = replace(settings, kafka_bootstrap=broker.bootstrap)
        ensure_topics(settings)
        _chapter(2, f"{clicks:,} clicks of the last {HOURS} hours of {period} are sent, with all that goes wrong.")
        truth = _send(settings, clicks, seed, first_hour)
        _chapter(3, "The stream archives every record and counts each click once, within seconds.")
        with working("starting Spark"):
            spark = spark_session(settings, "tallystick-demo")
        _stream(settings, spark)
        _chapter(4, "The batch counts the same hours again from the raw log, compares, seals and publishes.")
        receipt = _reconcile(settings, spark, first_hour)
        story.check_counts(truth, receipt)
        _chapter(5, "Another engine recounts from the raw log alone, sharing no counting code.")
        story.check_recount(_verify(settings, story.hours))
        books = Books(settings, period, note)
        _chapter(6, "Some clicks turn out to be fraud: their hour is revised under a case, and its first seal stays.")
        story.check_revision(*books.revise_for_fraud(spark, story.hours[0]))
        spark.stop()
    _chapter(7, "An advertiser disputes an hour, and gets a pack that recounts itself without a line of our code.")
    story.check_pack(books.dispute())
    _chapter(8, f"{period} is closed for ever, once every hour of it has been recounted.")
    story.check_close(books.close())
    _chapter(9, "More fraud is found. The closed month stays as it is; two people approve an adjustment.")
    story.check_adjustment(*books.adjust_for_fraud(story.hours[1]))
    story.check_recount(_verify(settings, story.hours))
    print_summary(story)


def _last_month(at: datetime) -> Period:
    """The only one whose books can be closed today."""
    return period_of(period_of(at).start - HOUR)


def _fresh(settings: Settings) -> Settings:
    """A home of its own, emptied: each demo is the same story. No click is spooled because the machine is busy: it
    would be logged twice, and the truth about the traffic does not know of that copy.
    """
    home = settings.home / FOLDER
    if home.exists():
        shutil.rmtree(home)
    return replace(settings, home=home, tables="", kafka_bootstrap="", grace_seconds=0, log_budget_ms=5_000)


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


def _verify(settings: Settings, hours: list[datetime]) -> bool:
    from quality.recount import verify

    verdicts = list(verify(settings, hours, on_progress=note))
    for verdict in verdicts:
        note(f"{'agrees' if verdict.is_agreeing else 'DIFFERS'}: {verdict.subject}: {verdict.found}")
    return all(verdict.is_agreeing for verdict in verdicts)
