"""The service as a process on a real broker: the log before the redirect, whatever is killed, paused or wrong."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clicklog.broker import Broker, start_broker
from clicklog.topics import ensure_topics
from clicklog.watermarks import read_watermarks
from domain.buckets import parse_utc
from domain.events import json_schema
from domain.settings import Settings
from services.click.journal import SETTLED_WITHIN_SECONDS
from services.click.keys import load_key_ring, rotate_keys
from services.click.reports import WATERMARK_SECONDS
from services.click.server import REFRESH_SECONDS
from tests.support.click_parts import ADS, home_with_ads
from tests.support.click_process import ClickProcess, check_watermarks, records_of, values_of
from tests.support.ports import free_port
from warehouse.ads import snapshot_ads
from warehouse.clock import now

pytestmark = pytest.mark.broker

VALID = Draft202012Validator(json_schema())


@contextmanager
def paused(broker: Broker) -> Iterator[None]:
    """The broker does not run, but nobody is told: connections stay open and unanswered."""
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker.pid, signal.SIGCONT)


def test_one_life_of_the_service(click_settings: Settings) -> None:
    """Clicks, previews and refusals as the log has them; watermarks around them; nothing left at the end."""
    started_at = datetime.now(UTC)
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        target = service.target("imp-1")
        answers = [
            service.ask(target, headers={"User-Agent": "Mozilla/5.0 (iPad)\xfc"}),
            service.ask(target, method="HEAD"),
            service.ask(target, headers={"Sec-Purpose": "prefetch;prerender"}),
        ]
        assert [status for status, _, _ in answers] == [302, 302, 302]
        assert {headers["location"] for _, headers, _ in answers} == {ADS[0].target_url}
        assert {headers["cache-control"] for _, headers, _ in answers} == {"no-store"}
        assert service.ask(target.replace("imp-1", "imp-2"))[0] == 403
        assert service.ask(target.replace("imp-1", "imp-3"))[0] == 403
        assert service.ask(service.target("imp-1", ad_id=999))[0] == 404
        assert service.ask("/v1/c?imp=" + "a" * 65_536)[0] == 414
        time.sleep(1.5)
        assert service.stop() == 0
        assert "Traceback" not in service.text

    events = values_of(click_settings, click_settings.clicks_topic)
    for event in events:
        VALID.validate(event)
        assert started_at < parse_utc(event["clicked_at"]) < datetime.now(UTC)
    assert [(e["kind"], e["server_seq"], e["device"]) for e in events] == [
        ("click", 0, "tablet"),
        ("head", 1, "other"),
        ("prefetch", 2, "other"),
    ]
    assert {record.key for record in records_of(click_settings, click_settings.clicks_topic)} == {b"imp-1"}

    counts: Counter[str] = Counter()
    for report in values_of(click_settings, click_settings.edge_counts_topic):
        assert report["server_id"] == "edge-1"
        counts[report["reason"]] += report["count"]
    assert counts == {"bad_signature": 2, "unknown_ad": 1, "query_too_long": 1}
    check_watermarks(click_settings)


def test_the_click_is_in_the_log_before_its_redirect(click_settings: Settings) -> None:
    """Law 1: whoever holds a redirect finds the click in the log at once."""
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        for number in range(5):
            assert service.ask(service.target(f"imp-{number}"))[0] == 302
            logged = {record.key for record in records_of(click_settings, click_settings.clicks_topic)}
            assert f"imp-{number}".encode() in logged


def test_a_broker_that_does_not_answer_costs_no_redirect_and_no_click(click_settings: Settings, broker: Broker) -> None:
    """Laws 1 and 7, R5: the click is spooled and answered; no watermark passes it before the log has it."""
    settings = replace(click_settings, log_budget_ms=80)
    with ClickProcess(settings) as service:
        service.wait_until_ready()
        target = service.target("imp-1")
        with paused(broker):
            started = time.monotonic()
            assert service.ask(target)[0] == 302
            assert time.monotonic() - started < SETTLED_WITHIN_SECONDS - 2, "it did not wait for the log to give up"
            assert service.ask("/healthz")[0] == 200
            time.sleep(2 * WATERMARK_SECONDS)
        deadline = time.monotonic() + 30
        while not (spooled := [e for e in values_of(settings, settings.clicks_topic) if "spooled_at" in e]):
            assert time.monotonic() < deadline
        assert service.stop() == 0
    assert {event["impression_id"] for event in spooled} == {"imp-1"}
    for event in spooled:
        VALID.validate(event)
    check_watermarks(settings)


def test_a_click_in_flight_at_the_stop_is_answered_and_covered(click_settings: Settings, broker: Broker) -> None:
    """SIGTERM while the log keeps a click waiting: first its redirect, then the closing watermark."""
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        target = service.target("imp-1")
        answers: list[int] = []
        ask = threading.Thread(target=lambda: answers.append(service.ask(target)[0]))
        with paused(broker):
            ask.start()
            time.sleep(0.5)
            service.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            assert service.process.poll() is None
        ask.join()
        assert answers == [302]
        assert service.process.wait(30) == 0
    (event,) = values_of(click_settings, click_settings.clicks_topic)
    closing = read_watermarks(click_settings)[click_settings.server_id]
    assert closing.is_closing
    assert closing.accepted_until > parse_utc(event["clicked_at"])


def test_it_waits_for_a_broker_that_is_not_there_yet(own_broker_settings: Settings) -> None:
    settings = own_broker_settings
    with ClickProcess(settings) as service:
        service.wait_for_status("/readyz", 503)
        assert service.ask(service.target("imp-1"))[0] == 503
        with start_broker(settings):
            service.wait_until_ready()
            assert service.ask(service.target("imp-2"))[0] == 302
            assert service.stop() == 0
            assert [event["impression_id"] for event in values_of(settings, settings.clicks_topic)] == ["imp-2"]


def test_a_stop_before_the_log_was_there_is_quick_and_clean(own_broker_settings: Settings) -> None:
    with ClickProcess(own_broker_settings) as service:
        service.wait_for_status("/readyz", 503)
        started = time.monotonic()
        assert service.stop(signal.SIGINT) == 0
        assert time.monotonic() - started < 5


def test_a_stop_without_a_log_says_what_hours_wait_for(own_broker_settings: Settings) -> None:
    with ClickProcess(own_broker_settings) as service:
        with start_broker(own_broker_settings):
            service.wait_until_ready()
        assert service.stop() == 1
        assert "tallystick servers retire edge-1" in service.text.replace("\n", " ")
        assert "Traceback" not in service.text


def test_nothing_behind_the_log_is_on_the_path(click_settings: Settings) -> None:
    """R2, law 2: no stream, no reconcile, and the tables themselves away: clicks are logged and redirected."""
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        shutil.move(click_settings.home / "tables", click_settings.home / "away")
        time.sleep(REFRESH_SECONDS + 1)
        assert service.ask(service.target("imp-1"))[0] == 302
        assert "refresh_ads failed" in service.text
        shutil.move(click_settings.home / "away", click_settings.home / "tables")
        assert service.stop() == 0


def test_new_ads_and_new_keys_are_followed_without_a_pause(click_settings: Settings) -> None:
    """R3: after a rotation both old and new links hold."""
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        old_link = service.target("imp-1")
        snapshot_ads(click_settings, [replace(ADS[0], target_url="https://moved.example/")], now())
        rotate_keys(click_settings, now(), timedelta(days=1))
        new_link = service.target("imp-1")
        assert new_link != old_link
        deadline = time.monotonic() + 3 * REFRESH_SECONDS
        while service.ask(new_link)[0] != 302 or service.ask(old_link)[1]["location"] != "https://moved.example/":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert service.ask(old_link)[0] == 302


def test_a_killed_service_comes_back_under_its_name(click_settings: Settings) -> None:
    """Its promise outlives it: no later click is stamped before what was promised."""
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        assert service.ask(service.target("imp-1"))[0] == 302
        service.process.kill()
        service.process.wait()
    promised = read_watermarks(click_settings)[click_settings.server_id].accepted_until
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        assert service.ask(service.target("imp-2"))[0] == 302
        assert service.stop() == 0
    stamps = {
        event["impression_id"]: event["clicked_at"] for event in values_of(click_settings, click_settings.clicks_topic)
    }
    assert parse_utc(stamps["imp-2"]) >= promised


def test_one_name_for_two_services_is_refused(click_settings: Settings, tmp_path: Path) -> None:
    """On one home by its lock, on two homes by the watermarks of the other."""
    elsewhere = home_with_ads(tmp_path / "elsewhere")
    with ClickProcess(click_settings) as service:
        service.wait_until_ready()
        with ClickProcess(replace(click_settings, click_port=free_port())) as second:
            assert second.process.wait(30) == 3
            assert "holds the lock click-edge-1" in second.text
        with ClickProcess(replace(click_settings, home=elsewhere.home, click_port=free_port())) as third:
            assert third.process.wait(30) == 2
            assert "another process sends watermarks as server edge-1" in third.text
            assert "Traceback" not in third.text
        assert service.stop() == 0


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"server_id": "edge 1"}, 2, "setting server_id is 'edge 1'"),
        ({"bind_address": "203.0.113.1"}, 2, "of 203.0.113.1 cannot be had"),
    ],
)
def test_a_wrong_setting_is_one_line(click_settings: Settings, changes: dict[str, Any], code: int, text: str) -> None:
    with ClickProcess(replace(click_settings, **changes)) as service:
        assert service.process.wait(30) == code
        assert text in service.text
        assert len(service.text.splitlines()) == 1


def test_a_busy_port_is_one_line(click_settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", click_settings.click_port)), ClickProcess(click_settings) as service:
        assert service.process.wait(30) == 2
        assert f"port {click_settings.click_port} of 127.0.0.1 cannot be had" in service.text
        assert len(service.text.splitlines()) == 1


def test_keys_that_others_may_read_are_refused(click_settings: Settings) -> None:
    load_key_ring(click_settings)
    (click_settings.home / "secrets" / "click-keys.json").chmod(0o644)
    with ClickProcess(click_settings) as service:
        assert service.process.wait(30) == 2, service.text
        assert "chmod 600" in service.text
        assert len(service.text.splitlines()) == 1


def test_topics_that_could_lose_clicks_are_refused(click_settings: Settings) -> None:
    """The log's settings are checked before the first click; retention below twice the horizon is named."""
    short = replace(click_settings, clicks_topic=click_settings.clicks_topic + "-short")
    ensure_topics(replace(short, live_horizon_hours=2, final_horizon_days=1))
    with ClickProcess(short) as service:
        assert service.process.wait(60) == 1
        assert "retention.ms" in service.text
        assert "Traceback" not in service.text
