"""How fresh live counts are under load: from the broker's append to visible in the answer that the metrics API gives.

`tallystick stream` runs as a process of its own. First it catches up with a backlog: the slower of its two queries,
without the batch in which its JVM compiles, is its sustained maximum. Then traffic comes evenly at half of that, and
every second a probe: a click on an ad that has no other. Probes are asked for through the answer engine of the metrics
API, all open ones in one question, again and again. The peer of the figures is the trigger: clicks cannot be fresher
than the pause between two batches. Prints what it does, and on its last line one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError, Message
from parts.contestant import ContestantError
from parts.figures import quantiles, sustained_rate
from parts.sending import send_variant, traffic_options
from parts.stream_process import stream_process

from cli.console import print_error
from clicklog.broker import start_broker
from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import ensure_topics
from domain.ads import Ad
from domain.buckets import MINUTE, minute_of
from domain.errors import TallystickError
from domain.settings import Settings
from traffic.catalogue import build_catalogue
from traffic.event import SECOND_US, Dimensions, microseconds
from traffic.impressions import fresh_id
from traffic.options import Shares
from traffic.plan import TrafficPlan
from traffic.register import register_ads
from traffic.visits import Visit, write_event
from warehouse.catch_up import QUERIES, lag
from warehouse.clock import now
from warehouse.counts import CountsReader
from warehouse.counts_query import CountsQuery

BROKER_PORT = 27_392
POLL_SECONDS = 0.2
SECONDS_BETWEEN_PROBES = 1
DRAIN_SECONDS = 180
CATCH_UP_SECONDS = 1_800
FLUSH_SECONDS = 30
MS_PER_SECOND = 1_000
ALLOWED_TRIGGERS = 2
"""p99 should stay under so many triggers."""
SHARES_SHOWN = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Size:
    """How much is run."""

    backlog_events: int
    batch_events: int
    minutes: int


FULL, QUICK = Size(1_000_000, 200_000, 5), Size(30_000, 10_000, 1)


@dataclass
class Probes:
    """``open`` has the append time of each probe that is not visible yet, by ad; ``seen_seconds`` how long others took.

    Opened by the sender's thread and closed by the watcher's; each ad has one probe.
    """

    ads: tuple[Ad, ...]
    open: dict[int, float] = field(default_factory=dict)
    seen_seconds: list[float] = field(default_factory=list)

    def open_at(self, ad_id: int) -> Any:
        """What the producer calls when the broker has appended the probe: the broker's own time counts."""

        def appended(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.open[ad_id] = message.timestamp()[1] / MS_PER_SECOND

        return appended

    def watch(self, settings: Settings, since: datetime, stop: Event) -> None:
        """Ask for all open probes until told to stop."""
        reader = CountsReader(settings)
        while not stop.is_set():
            asked = frozenset(self.open)
            if asked:
                query = CountsQuery(since, minute_of(now()) + MINUTE, "minute", ("ad",), asked)
                visible = {row["ad_id"] for row in reader.answer(query).rows}
                at = now().timestamp()
                self.seen_seconds += [at - self.open.pop(ad_id) for ad_id in visible]
            stop.wait(POLL_SECONDS)


def main(size: Size) -> dict[str, Any]:
    """Finds the sustained maximum, then probes at half of it; returns the figures."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="tallystick-bench-")))
        settings = Settings(home=home, broker_port=BROKER_PORT, max_batch_events=size.batch_events)
        stack.enter_context(start_broker(settings, print))
        ensure_topics(settings)
        send_variant(settings, size.backlog_events, "uniform")
        probes = Probes(probe_ads(settings, size.minutes * 60 // SECONDS_BETWEEN_PROBES))
        stack.enter_context(stream_process(settings))
        maximum = catch_up(settings)
        print(f"sustained maximum {maximum:,.0f} events/s; probing at half of it for {size.minutes} min", flush=True)
        sent = probe(settings, probes, maximum / 2, size.minutes)
    p = quantiles(probes.seen_seconds, SHARES_SHOWN)
    print(f"{len(probes.seen_seconds)} probes, seconds until visible: {p}")
    return {
        "sustained_events_per_second": round(maximum),
        "sent_events_per_second": round(sent),
        "probes": len(probes.seen_seconds),
        "trigger_seconds": settings.trigger_seconds,
        "freshness_seconds": p,
        "p99_ratio_to_allowed": round(p["p99"] / (ALLOWED_TRIGGERS * settings.trigger_seconds), 3),
    }


def probe_ads(settings: Settings, count: int) -> tuple[Ad, ...]:
    """Ads that the generator never sends a click to, registered."""
    options = traffic_options(settings, 1, 0.0, Shares.none())
    catalogue = build_catalogue(replace(options, ads_count=options.ads_count + count))
    register_ads(settings, catalogue, now())
    return catalogue.ads[options.ads_count :]


def catch_up(settings: Settings) -> float:
    """Waits until the stream is level with the log; returns the rate of the slower query."""
    ends = end_offsets(settings, settings.clicks_topic)
    started_at = time.perf_counter()
    seen: dict[str, list[tuple[float, int]]] = {query: [] for query in QUERIES}
    while not all(points and points[-1][1] == 0 for points in seen.values()):
        if time.perf_counter() - started_at > CATCH_UP_SECONDS:
            raise ContestantError("the stream is still behind", f"level in {CATCH_UP_SECONDS} s", "read its log")
        for query, points in seen.items():
            behind = sum(lag(settings, query, ends).values())
            if not points or points[-1][1] != behind:
                points.append((time.perf_counter(), behind))
                print(f"{query} is {behind:,} events behind", flush=True)
        time.sleep(POLL_SECONDS)
    return min(sustained_rate(points) for points in seen.values())


def probe(settings: Settings, probes: Probes, rate: float, minutes: int) -> float:
    """Sends traffic and probes at an even rate, then waits for the last probes; returns the rate that was reached.

    A probe that stays invisible is an error: left out, it would make the rest look fresh.
    """
    start = minute_of(now())
    stop = Event()
    watcher = Thread(target=probes.watch, args=(settings, start, stop))
    watcher.start()
    try:
        sent = send_evenly(settings, probes, start, rate, minutes)
        deadline = time.perf_counter() + DRAIN_SECONDS
        while probes.open and time.perf_counter() < deadline and watcher.is_alive():
            time.sleep(POLL_SECONDS)
    finally:
        stop.set()
        watcher.join()
    if probes.open:
        raise ContestantError(
            f"{len(probes.open)} probes are not visible {DRAIN_SECONDS} s after the last", "every probe", "read its log"
        )
    return sent


def send_evenly(settings: Settings, probes: Probes, start: datetime, rate: float, minutes: int) -> float:
    """Clicks as their time comes, which runs behind the clock by less than a minute since a plan has whole minutes."""
    clicks = max(round(rate * minutes * 60), 1)
    options = traffic_options(settings, clicks, 0.0, Shares.none())
    options = replace(options, seed=2, start_at=start, end_at=start + timedelta(minutes=minutes))
    producer = ClickProducer(settings)
    behind_us = microseconds(now()) - microseconds(start)
    next_probe_us = microseconds(start)
    waiting = iter(probes.ads)
    started_at = time.perf_counter()
    for event in TrafficPlan(options).events():
        while (ahead_us := event.clicked_us + behind_us - microseconds(now())) > 0:
            producer.poll(min(ahead_us / SECOND_US, POLL_SECONDS))
        producer.send(event.key, event.value)
        if event.clicked_us >= next_probe_us and (ad := next(waiting, None)) is not None:
            send_probe(producer, probes, ad)
            next_probe_us += SECONDS_BETWEEN_PROBES * SECOND_US
    seconds = time.perf_counter() - started_at
    producer.flush(FLUSH_SECONDS)
    return clicks / seconds


def send_probe(producer: ClickProducer, probes: Probes, ad: Ad) -> None:
    """One click, now, on an ad of its own."""
    clicked_us = microseconds(now())
    impression_id = fresh_id(Random(ad.ad_id), clicked_us)
    dimensions = Dimensions(ad.advertiser_id, ad.campaign_id, ad.ad_id, "ZZ", "other")
    visit = Visit(impression_id, dimensions, clicked_us, "198.18.0.1", "probe", "probe", ad.ad_id)
    producer.send(impression_id.encode(), write_event(visit), probes.open_at(ad.ad_id))


def command(
    is_quick: Annotated[bool, typer.Option("--quick", help="Little data, one minute of probes.")] = False,
) -> None:
    """Probe a stream under load and print how fresh its counts were."""
    try:
        figures = main(QUICK if is_quick else FULL)
    except TallystickError as error:
        print_error(error)
        sys.exit(error.exit_code)
    print(json.dumps(figures))


if __name__ == "__main__":
    typer.run(command)
