"""``tallystick broker``: the embedded Kafka broker in the foreground; and the topics, on whichever Kafka is set."""

from __future__ import annotations

import signal
from threading import Event
from types import FrameType
from typing import Annotated

import typer

from cli.console import note, out
from clicklog.broker import start_broker
from clicklog.topics import check_topics, ensure_topics, mend_topics
from domain.errors import UsageError
from domain.settings import Settings
from warehouse.settings import load_settings

LOOK_SECONDS = 0.5


def broker(
    topics: Annotated[bool, typer.Option("--topics", help="Only create missing topics and check all.")] = False,
    mend: Annotated[bool, typer.Option("--mend-topics", help="Only set what --topics finds wrong.")] = False,
) -> None:
    """Run the embedded broker until it is interrupted. What was acknowledged is kept for the next start."""
    settings = load_settings()
    if topics or mend:
        _prepare_topics(settings, mend)
    else:
        _run(settings)


def _run(settings: Settings) -> None:
    if not settings.is_broker_embedded:
        raise UsageError(
            f"kafka_bootstrap is {settings.kafka_bootstrap}, so nothing would use the embedded broker",
            "no kafka_bootstrap",
            "remove it, or prepare the topics there with `tallystick broker --topics`",
        )
    stop = Event()

    def request_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, request_stop)
    with start_broker(settings, note) as running:
        _prepare_topics(settings, mend=False)
        out.print(f"broker ready at {running.bootstrap}")
        while not stop.wait(LOOK_SECONDS):
            running.check()
        note("stopping the broker")


def _prepare_topics(settings: Settings, mend: bool) -> None:
    for name in ensure_topics(settings):
        note(f"created topic {name}")
    if mend:
        for wrong in mend_topics(settings):
            note(f"{wrong}: set to {wrong.rule.value}")
    check_topics(settings)
