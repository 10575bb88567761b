"""``tallystick crawl relay``, ``retain`` and ``reparse``: what an operator types, and what is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from crawler.frontier.adding import Candidate, add_urls
from crawler.frontier.claims import Claimer
from crawler.frontier.database import opened_frontier
from crawler.store import store_of
from crawler.urls import normalise
from tests.support.stored_pages import BODY, commit
from warehouse.locks import writer_lock
from warehouse.settings import load_settings

URL = "https://a.example/"


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page that was fetched and not delivered."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    settings = load_settings()
    with opened_frontier(settings) as frontier:
        list(add_urls(frontier, [Candidate(normalise(URL), URL, "seed")], "ann"))
        (lease,) = Claimer(frontier, "w").claim()
        commit(frontier, lease, content_hash=store_of(settings).put(BODY))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["crawl", *arguments])


def test_outcomes_are_delivered_once_and_parsed_again_without_a_change() -> None:
    first = run("relay", "--until-empty", "--json")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout) == {"event_count": 1, "document_count": 1, "link_count": 1, "batch_count": 1}
    assert "0 outcomes delivered" in run("relay", "--until-empty").stderr
    again = run("reparse", "--from", "2000-01-01", "--to", "2100-01-01", "--json")
    assert again.exit_code == 0, again.output
    done = json.loads(again.stdout)
    assert (done["document_count"], done["changed_count"], done["missing_count"]) == (1, 0, 0)
    refused = run("reparse", "--from", "yesterday", "--to", "2100-01-01")
    assert (refused.exit_code, "a date such as" in refused.stderr) == (2, True)


def test_nothing_young_is_deleted() -> None:
    run("relay", "--until-empty")
    done = run("retain", "--actor", "ann", "--json")
    assert done.exit_code == 0, done.output
    none = {"documents": 0, "links": 0, "fetch_log": 0, "near_duplicates": 0}
    assert json.loads(done.stdout) == {"body_count": 0, "body_bytes": 0, "document_count": 0, "row_counts": none}


def test_a_worker_leaves_delivery_to_who_does_it_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_CRAWL_CONTACT_URL", "https://crawler.example/")
    with writer_lock(load_settings(), "crawl"):
        busy = run("run", "--until-idle")
    assert (busy.exit_code, "waits in the outbox" in busy.stderr) == (0, True), busy.output
    assert "1 outcomes delivered" in run("run", "--until-idle").stderr
