"""The click service while its broker goes, comes back or never does: every redirect has its click or a counted loss."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path

import pytest

from clicklog.broker import start_broker
from clicklog.watermarks import read_watermarks
from domain.settings import Settings
from services.click.reports import WATERMARK_SECONDS
from tests.support.click_parts import home_with_ads
from tests.support.click_process import ClickProcess, check_watermarks, records_of, values_of
from tests.support.ports import free_broker_port, free_port

pytestmark = pytest.mark.broker


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A click service with ads, whose broker the test starts and stops itself."""
    ports = {"broker_port": free_broker_port(), "click_port": free_port()}
    return home_with_ads(tmp_path / "home", clicks_partitions=4, **ports)


def test_broker_and_service_killed_under_load_lose_no_click(settings: Settings) -> None:
    """Law 1, R6: the broker goes, the service answers from its spool, is killed too, comes back without a broker, and
    in the end every redirect has its click in the log, before a watermark passes it."""
    statuses: dict[str, int] = {}
    with start_broker(settings) as first:
        with ClickProcess(settings) as service:
            service.wait_until_ready()
            with _asking(service, "before", statuses):
                time.sleep(2)
                os.kill(first.pid, signal.SIGKILL)
                time.sleep(3)
            assert set(statuses.values()) == {302}
            with _asking(service, "killed", statuses, may_break=True):
                time.sleep(1)
                service.process.kill()
                service.process.wait()
        with ClickProcess(settings) as service:
            service.wait_for_status("/readyz", 200)
            with start_broker(settings):
                with _asking(service, "again", statuses):
                    service.wait_until_ready()
                    time.sleep(1)
                assert service.stop() == 0, service.text
                logged = {record.key.decode() for record in records_of(settings, settings.clicks_topic)}
                closing = read_watermarks(settings)[settings.server_id]
                check_watermarks(settings)
    redirected = {impression for impression, status in statuses.items() if status == 302}
    assert len(redirected) > 40
    assert redirected <= logged
    assert closing.is_closing


@contextmanager
def _asking(service: ClickProcess, lane: str, statuses: dict[str, int], may_break: bool = False) -> Iterator[None]:
    """Four visitors without a pause for the length of a block; what was answered goes into ``statuses``."""
    is_over = threading.Event()
    threads = [
        threading.Thread(target=_keep_asking, args=(service, f"{lane}{number}", statuses, is_over, may_break))
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _keep_asking(
    service: ClickProcess, lane: str, statuses: dict[str, int], is_over: threading.Event, may_break: bool
) -> None:
    number = 0
    while not is_over.is_set():
        impression = f"{lane}-{number}"
        try:
            statuses[impression] = service.ask(service.target(impression))[0]
        except (OSError, HTTPException) as error:
            if may_break:
                return
            raise AssertionError(f"{impression}: no answer") from error
        number += 1


def test_clicks_that_no_log_takes_stay_for_the_next_start(settings: Settings) -> None:
    """A stop with a full spool and no broker says what hours wait for, and the next start ships it."""
    with start_broker(settings), ClickProcess(settings) as service:
        service.wait_until_ready()
        assert service.ask(service.target("first"))[0] == 302
        time.sleep(2 * WATERMARK_SECONDS)
        service.process.kill()
        service.process.wait()
    with ClickProcess(settings) as service:
        service.wait_for_status("/readyz", 200)
        assert service.ask(service.target("spooled"))[0] == 302
        assert service.stop() == 1
        assert "of clicks wait in" in service.text.replace("\n", " ")
        assert "Traceback" not in service.text
    with start_broker(settings), ClickProcess(settings) as service:
        service.wait_until_ready()
        assert service.stop() == 0
        events = values_of(settings, settings.clicks_topic)
    assert {event["impression_id"] for event in events} == {"first", "spooled"}


def test_a_full_spool_still_redirects_and_counts_each_loss(settings: Settings) -> None:
    """Law 1's one exception: broker away, no room. Loud: in the report, and in edge_counts once the log is back."""
    settings = replace(settings, spool_limit_mib=1)
    with ClickProcess(settings) as service:
        with start_broker(settings) as first:
            service.wait_until_ready()
            time.sleep(2 * WATERMARK_SECONDS)
            os.kill(first.pid, signal.SIGKILL)
        agent = {"User-Agent": "x" * 4_000}
        asked = 0
        while "LOST" not in service.text:
            asked += 1
            assert asked < 2_000
            assert service.ask(service.target(f"imp-{asked}"), headers=agent)[0] == 302
        with start_broker(settings):
            deadline = time.monotonic() + 60
            while not settings.spool_path.joinpath("shipped.jsonl").exists():
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert service.stop() == 0, service.text
            counts = Counter[str]()
            for report in values_of(settings, settings.edge_counts_topic):
                counts[report["reason"]] += report["count"]
            logged = {event["impression_id"] for event in values_of(settings, settings.clicks_topic)}
    assert counts["click_lost"] >= 1
    assert len(logged) + counts["click_lost"] >= asked
