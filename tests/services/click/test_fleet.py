"""Several click processes on one port: each a server of the log, one that dies comes back, all stop in order."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from clicklog.watermarks import read_watermarks
from domain.settings import Settings
from services.click.fleet import name_of
from tests.support.click_process import ClickProcess, values_of
from tests.support.ports import free_port


def test_names_of_workers() -> None:
    settings = Settings(home=Path("unused"), server_id="edge-7")
    assert [name_of(settings, number) for number in range(3)] == ["edge-7", "edge-7.2", "edge-7.3"]


@pytest.mark.broker
def test_two_workers_serve_one_port_and_one_may_die(click_settings: Settings) -> None:
    settings = replace(click_settings, click_workers=2)
    with ClickProcess(settings) as service:
        service.wait_until_ready()
        _wait_for(lambda: len(_workers(service)) == 2 and {"edge-1", "edge-1.2"} <= read_watermarks(settings).keys())
        answered = _ask_until_both(service, settings, set())
        os.kill(max(_workers(service)), signal.SIGKILL)
        service.wait_until_ready()
        _wait_for(lambda: "started again" in service.text and len(_workers(service)) == 2)
        answered |= _ask_until_both(service, settings, answered)
        assert 'server="edge-1.2"' in service.ask("/metrics")[2].decode()
        assert service.ask("/metrics", headers={"X-Forwarded-For": "198.51.100.7"})[0] == 404
        assert service.stop() == 0, service.text
    events = values_of(settings, settings.clicks_topic)
    assert {event["impression_id"] for event in events} >= answered
    assert {event["server_id"] for event in events} == {"edge-1", "edge-1.2"}
    marks = read_watermarks(settings)
    assert [marks[name].is_closing for name in ("edge-1", "edge-1.2")] == [True, True]


@pytest.mark.broker
def test_a_worker_whose_name_is_taken_stops_all(click_settings: Settings) -> None:
    with ClickProcess(replace(click_settings, server_id="edge-1.2")) as other:
        other.wait_until_ready()
        settings = replace(click_settings, click_workers=2, click_port=free_port())
        with ClickProcess(settings) as service:
            assert service.process.wait(60) == 1
            assert "edge-1.2 with 3" in service.text.replace("\n", " ")
        assert other.stop() == 0


def _workers(service: ClickProcess) -> list[int]:
    """Process ids of the workers; the resource tracker of multiprocessing is none."""
    children = psutil.Process(service.process.pid).children()
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


def _ask_until_both(service: ClickProcess, settings: Settings, before: set[str]) -> set[str]:
    """Asks on fresh connections until both servers have answered; the impressions."""
    asked: set[str] = set()
    deadline = time.monotonic() + 60
    while {event["server_id"] for event in values_of(settings, settings.clicks_topic)} != {"edge-1", "edge-1.2"}:
        assert time.monotonic() < deadline
        for _ in range(20):
            impression = f"imp-{len(before) + len(asked)}"
            if service.ask(service.target(impression))[0] == 302:
                asked.add(impression)
    return asked


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
