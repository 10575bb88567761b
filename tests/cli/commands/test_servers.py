"""``tallystick servers``: who is waited for, and how that ends."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.main import app
from clicklog.producer import ClickProducer
from clicklog.watermarks import Watermark, read_watermarks
from domain.settings import Settings
from warehouse.clock import now

pytestmark = pytest.mark.broker


def _run(settings: Settings, *arguments: str) -> Result:
    environment = {
        "TALLYSTICK_HOME": str(settings.home),
        "TALLYSTICK_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "TALLYSTICK_EDGE_WATERMARKS_TOPIC": settings.edge_watermarks_topic,
    }
    return CliRunner().invoke(app, ["servers", *arguments], env=environment)


@pytest.fixture
def two_servers(log_settings: Settings) -> Settings:
    """edge-1 is at work, edge-2 has been silent for an hour."""
    producer = ClickProducer(log_settings)
    for server_id, age in (("edge-1", timedelta(0)), ("edge-2", timedelta(hours=1))):
        mark = Watermark(server_id, now() - age, is_closing=False, sent_at=now() - age)
        producer.send(server_id.encode(), mark.encode(), topic=log_settings.edge_watermarks_topic)
    producer.flush(30)
    return log_settings


def _states(settings: Settings) -> dict[str, str]:
    lines = _run(settings, "list", "--json").stdout.splitlines()
    return {each["server_id"]: each["state"] for each in map(json.loads, lines)}


def test_a_silent_server_is_listed_and_retired(two_servers: Settings) -> None:
    assert _states(two_servers) == {"edge-1": "sending", "edge-2": "silent"}
    done = _run(two_servers, "retire", "edge-2", "--reason", "its machine burnt", "--actor", "ada")
    assert done.exit_code == 0
    assert "server edge-2 is retired" in done.stderr
    assert _states(two_servers) == {"edge-1": "sending", "edge-2": "retired"}
    retired = read_watermarks(two_servers)["edge-2"]
    assert (retired.reason, retired.actor) == ("its machine burnt", "ada")
    table = _run(two_servers, "list").stdout
    assert "its machine burnt" in table


def test_a_server_at_work_is_not_retired(two_servers: Settings) -> None:
    done = _run(two_servers, "retire", "edge-1", "--reason", "tidying", "--actor", "ada")
    assert done.exit_code == 2
    assert "so it is at work" in done.stderr
    assert _states(two_servers)["edge-1"] == "sending"


def test_no_servers(log_settings: Settings) -> None:
    done = _run(log_settings, "list")
    assert done.exit_code == 0
    assert done.stdout.count("\n") <= 4
