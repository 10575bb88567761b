"""How fast the stream is beside real peers: the same topics, machine and run, each contestant in a warm process.

Ours runs as the product does, archive and live together, and live alone. The peers are plain Structured Streaming
(``peers/plain.py``), with and without an archive, and Flink SQL (``peers/flink.py``), which has no archive; like is
compared with like. Each run counts a topic from its first record into a fresh home, and must count exactly the clicks
that were sent. Contestants take turns, in turned order; figures are medians; a ratio above 1 means that ours is better.
Warm-up, a run of each contestant in a cold process, is shown apart. Prints what it does, and on its last line one JSON
object. The first run downloads Flink.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from parts.contestant import Contestant
from parts.figures import Cost, median_cost, ratios, stage_table
from parts.match import Match, MeasuredRun, Topic, on_topic, run_home
from parts.sending import send_variant
from peers.flink_home import flink_command

from cli.console import print_error, print_table
from clicklog.broker import start_broker
from clicklog.topics import ensure_topics
from domain.errors import TallystickError
from domain.settings import Settings
from warehouse.create import create_missing_tables

BROKER_PORT = 27_192
ENTRIES = {
    "ours_with_archive": ("ours", True),
    "ours_live_alone": ("ours", False),
    "plain_with_archive": ("plain", True),
    "plain_alone": ("plain", False),
    "flink": ("flink", False),
}
"""What is measured: whose process, and whether it archives beside counting."""
ALL, WITH_ARCHIVE_AND_FLINK = tuple(ENTRIES), ("ours_with_archive", "plain_with_archive", "flink")
PEERS = {
    "ours_with_archive": ("plain_with_archive", "flink"),
    "ours_live_alone": ("plain_alone", "flink"),
}
"""Who ours is compared with. Ours with its archive against Flink without one is unlike, and shown all the same."""
WARM_UP = ("ours_with_archive", "plain_with_archive", "flink")
"""The first run of each process; on the largest part of its code."""


@dataclass(frozen=True)
class Size:
    """How much is run. ``entries`` are those of each variant of the traffic."""

    warm_up_events: int
    events: int
    batch_events: int
    rounds: int
    entries: dict[str, tuple[str, ...]]


FULL = Size(
    200_000,
    600_000,
    200_000,
    3,
    {
        "uniform": ALL,
        "hot_30": WITH_ARCHIVE_AND_FLINK,
        "hot_60": WITH_ARCHIVE_AND_FLINK,
        "hot_90": WITH_ARCHIVE_AND_FLINK,
        "repeats_50": ALL,
    },
)
QUICK = Size(10_000, 20_000, 20_000, 1, {"uniform": ALL, "hot_90": ("ours_with_archive",)})


def main(size: Size, ivy_settings: Path | None) -> dict[str, Any]:
    """Sends each variant to a topic of its own, lets all run, returns the figures."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="tallystick-bench-")))
        settings = Settings(home=home, broker_port=BROKER_PORT, max_batch_events=size.batch_events)
        flink = flink_command(settings, ivy_settings, run_home(settings, "flink"))
        broker = stack.enter_context(start_broker(settings, print))
        create_missing_tables(settings)
        warm_up = sent(settings, "warm_up", size.warm_up_events, "uniform")
        topics = {variant: sent(settings, variant, size.events, variant) for variant in size.entries}
        commands = {"flink": flink}
        for name in ("ours", "plain"):
            commands[name] = [sys.executable, "-m", f"peers.{name}", run_home(settings, name)]
        contestants = {
            name: stack.enter_context(Contestant(name, command, home / f"{name}.log"))
            for name, command in commands.items()
        }
        match = Match(settings, broker.pid, contestants)
        figures: dict[str, Any] = {"warm_up": {entry: shown(match, entry, warm_up)[0] for entry in WARM_UP}}
        runs = {variant: play(match, size, variant, topic) for variant, topic in topics.items()}
    costs = {variant: costs_of(runs[variant], topics[variant].events) for variant in runs}
    figures |= {variant: variant_figures(costs[variant]) for variant in costs}
    figures["hot_ad"] = hot_ad_figures(costs)
    figures["resident_mib"] = {entry: max(run.run.resident_mib for run in of) for entry, of in runs["uniform"].items()}
    show(costs, figures)
    show_stages(runs["uniform"]["ours_with_archive"][-1], topics["uniform"].events)
    return figures


def sent(settings: Settings, name: str, events: int, variant: str) -> Topic:
    """A topic full of a variant of the traffic."""
    of_topic = on_topic(settings, f"clicks_{name}")
    ensure_topics(of_topic)
    records, clicks = send_variant(of_topic, events, variant)
    return Topic(of_topic.clicks_topic, records, clicks)


def play(match: Match, size: Size, variant: str, topic: Topic) -> dict[str, list[MeasuredRun]]:
    """All rounds of a variant; every other round in turned order, so that no entry always has the better place."""
    runs: dict[str, list[MeasuredRun]] = defaultdict(list)
    for number in range(size.rounds):
        entries = size.entries[variant]
        for entry in entries if number % 2 == 0 else reversed(entries):
            runs[entry].append(shown(match, entry, topic)[1])
    return runs


def shown(match: Match, entry: str, topic: Topic) -> tuple[dict[str, Any], MeasuredRun]:
    """A run and its figures, printed."""
    contestant, has_archive = ENTRIES[entry]
    measured = match.run(contestant, has_archive=has_archive, topic=topic)
    cost = median_cost([(measured.run.wall_seconds, measured.run.cpu_seconds)], topic.events)
    print(
        f"{topic.name} {entry}: {topic.events:,} events in {cost.wall_seconds:.1f} s, {cost.events_per_second:,.0f}/s, "
        f"{cost.cpu_seconds_per_million:.0f} CPU s a million, broker {measured.broker_cpu_seconds:.1f} CPU s",
        flush=True,
    )
    return cost.document(), measured


def costs_of(runs: dict[str, list[MeasuredRun]], events: int) -> dict[str, Cost]:
    """The medians of each entry."""
    return {
        entry: median_cost([(one.run.wall_seconds, one.run.cpu_seconds) for one in of], events)
        for entry, of in runs.items()
    }


def variant_figures(costs: dict[str, Cost]) -> dict[str, Any]:
    """Each entry's figures, and ours against each peer that took part."""
    figures: dict[str, Any] = {entry: cost.document() for entry, cost in costs.items()}
    for ours, peers in PEERS.items():
        for peer in peers:
            if ours in costs and peer in costs:
                figures[f"{ours}_to_{peer}"] = ratios(costs[ours], costs[peer])
    return figures


def hot_ad_figures(costs: dict[str, dict[str, Cost]]) -> dict[str, Any]:
    """Ours with a hot ad, and with repeats, against ours with uniform traffic."""
    uniform = costs["uniform"]["ours_with_archive"]
    return {
        f"{variant}_to_uniform": ratios(of["ours_with_archive"], uniform)
        for variant, of in costs.items()
        if variant != "uniform"
    }


def show(costs: dict[str, dict[str, Cost]], figures: dict[str, Any]) -> None:
    """Costs and ratios as tables."""
    rows = [(variant, entry, *cost.document().values()) for variant, of in costs.items() for entry, cost in of.items()]
    print_table(("traffic", "who", "runs", "wall s", "events/s", "CPU s/million"), rows, "warm runs, medians")
    compared = [
        (variant, name, ratio["rate"], ratio["cpu"])
        for variant in (*costs, "hot_ad")
        for name, ratio in figures[variant].items()
        if "_to_" in name
    ]
    print_table(("traffic", "ratio", "rate", "CPU"), compared, "above 1: ours is faster, ours needs less CPU")


def show_stages(measured: MeasuredRun, events: int) -> None:
    """Where the time of ours goes. The two queries share the cores, so their seconds overlap."""
    rows = stage_table(measured.run.answer["stage_seconds"], events)
    title = f"where the CPU goes: wall seconds of ours, last uniform run, {events:,} events"
    print_table(("query", "stage", "s", "share", "us/event"), rows, title)


def command(
    is_quick: Annotated[bool, typer.Option("--quick", help="Little data, one round.")] = False,
    ivy_settings: Annotated[Path | None, typer.Option(envvar="IVY_SETTINGS", help="Ivy settings of a mirror.")] = None,
) -> None:
    """Run the match and print its figures."""
    try:
        figures = main(QUICK if is_quick else FULL, ivy_settings)
    except TallystickError as error:
        print_error(error)
        sys.exit(error.exit_code)
    print(json.dumps(figures))


if __name__ == "__main__":
    typer.run(command)
