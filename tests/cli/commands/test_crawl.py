"""``tallystick crawl``: what an operator types, and what is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from crawler.frontier.adding import Candidate, add_urls
from crawler.frontier.claims import Claimer
from crawler.frontier.database import frontier_of
from crawler.frontier.requests import log_request
from crawler.urls import normalise
from domain.receipts import RequestRow
from warehouse.settings import load_settings

WHO = ("--reason", "complaint", "--actor", "ann")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["crawl", *arguments])


def documents(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def states(name: str) -> object:
    (found,) = documents(run("status", name, "--json"))
    return {one["origin"]: (one["switch"], one["url_counts"]) for one in found["origins"]}  # type: ignore[attr-defined]


def test_good_seeds_are_taken_in_and_bad_ones_say_why(tmp_path: Path) -> None:
    listed = tmp_path / "seeds.txt"
    listed.write_text("https://b.example/\n\nmailto:x@b.example\n", encoding="utf-8")
    result = run("seeds", "HTTPS://A.example#x", "http://", "--file", str(listed), "--actor", "ann", "--json")
    assert result.exit_code == 0, result.output
    assert {(one["url"], one["outcome"], one["reason"]) for one in documents(result)} == {
        ("http://", "refused", "unparsable"),
        ("mailto:x@b.example", "refused", "scheme"),
        ("https://a.example/", "added", ""),
        ("https://b.example/", "added", ""),
    }
    again = run("seeds", "https://a.example/", "--actor", "ann")
    assert (again.exit_code, "known" in again.stdout) == (0, True)
    assert run("seeds", "ftp://a.example/", "--actor", "ann").exit_code == 1
    assert run("seeds", "--actor", "ann").exit_code == 2


def test_an_origin_is_paused_killed_and_resumed() -> None:
    run("seeds", "https://a.example/", "--actor", "ann")
    for command, switch in (("pause", "paused"), ("kill", "killed"), ("resume", "open")):
        result = run(command, "a.example", *WHO)
        assert (result.exit_code, result.stderr) == (0, f"https://a.example is {switch}\n")
        assert states("a.example") == {"https://a.example": (switch, {"ready": 1})}
    assert "no origin of 'nobody.example'" in run("pause", "nobody.example", *WHO).stderr
    shown = run("status", "a.example").stdout
    assert "https://a.example" in shown
    assert "1 ready" in shown


def test_an_opt_out_is_honoured_and_told(home: Path) -> None:
    run("seeds", "https://a.example/", "https://b.example/", "--actor", "ann")
    asked = ("suppress", "host", "A.example", *WHO, "--verification", "mail from the owner", "--delete")
    result = run(*asked)
    assert (result.exit_code, result.stderr) == (0, "suppression 1: host a.example\n")
    assert "urls" in result.stdout
    refused = run("seeds", "https://a.example/", "--actor", "ann")
    assert (refused.exit_code, "suppressed_by_host" in refused.stdout) == (1, True)
    told = run("why", "https://a.example/")
    assert "suppressed by host a.example: complaint" in told.stdout
    assert "mail from the owner" in told.stdout
    (document,) = documents(run("why", "https://a.example/", "--json"))
    assert document["state"] is None
    assert str(document["suppressions"][0]["suppressed_at"]).endswith("Z")  # type: ignore[index]


def test_a_url_is_explained() -> None:
    run("seeds", "https://a.example/", "--actor", "ann")
    assert "nothing: the next claim may take it" in run("why", "https://a.example/").stdout
    run("pause", "a.example", *WHO)
    told = run("why", "https://a.example/").stdout
    assert "origin is paused" in told
    assert "complaint" in told


def test_a_receipt_says_whether_it_was_polite() -> None:
    run("seeds", "https://a.example/", "--actor", "ann")
    frontier = frontier_of(load_settings())
    (lease,) = Claimer(frontier, "w").claim()
    assert lease.url == normalise("https://a.example/").url
    for second in (0, 6, 9):
        log_request(frontier, lease, RequestRow(second * 1_000_000, second * 1_000_000 + 5, 200))
    frontier.close()
    window = ("receipt", "https://a.example", "--from", "1970-01-01T00:00Z", "--to")
    (polite,) = documents(run(*window, "1970-01-01T00:00:08Z", "--json"))
    assert (polite["requests"], polite["smallest_gap_seconds"], polite["is_polite"]) == (2, "6.000", True)
    rude = run(*window, "1970-01-01T00:01Z")
    assert (rude.exit_code, "3.000" in rude.stdout) == (1, True)


def test_a_worker_says_what_became_of_its_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that is not public needs no network to be refused."""
    run("seeds", "http://10.0.0.1/", "--actor", "ann")
    refused = run("run", "--until-idle")
    assert (refused.exit_code, "crawl_contact_url" in refused.stderr) == (2, True), refused.output
    monkeypatch.setenv("TALLYSTICK_CRAWL_CONTACT_URL", "https://crawler.example/")
    shown = run("run", "--until-idle")
    assert (shown.exit_code, "not_public" in shown.stdout) == (0, True), shown.output
    assert "0 requests in" in shown.stderr
    assert "refused: not_public" in run("why", "http://10.0.0.1/").stdout
    (again,) = documents(run("run", "--workers", "2", "--until-idle", "--json"))
    assert (again["lease_count"], again["is_stopped"]) == (0, False)
    assert str(again["started_at"]).endswith("Z")


def test_what_traps_cut_is_told_and_allowed() -> None:
    """The cuts with their samples and the one alert; what is allowed is in the history of the origin."""
    run("seeds", "https://a.example/", "--actor", "ann")
    frontier = frontier_of(load_settings())
    urls = [f"https://a.example/{number}/x/x/x/" for number in range(120)]
    list(add_urls(frontier, [Candidate(normalise(url), url, "link", 0, 1) for url in urls], "w"))
    frontier.close()
    shown = run("status", "a.example")
    assert "trap_repetition" in shown.stdout
    assert "alert trap of https://a.example" in shown.stderr
    (told,) = documents(run("status", "a.example", "--json"))
    (cut,) = told["origins"][0]["cuts"]  # type: ignore[index]
    assert (cut["cut_count"], cut["samples"]) == (120, urls[:5])
    assert str(cut["last_cut_at"]).endswith("Z")
    assert len(told["alerts"]) == 1  # type: ignore[arg-type]
    done = run("allow", "https://a.example", "trap_repetition", "--limit", "3", *WHO)
    assert (done.exit_code, done.stderr) == (0, "https://a.example is allowed trap_repetition up to 3\n")
    assert "alert" not in run("status", "a.example").stderr
    assert "trap_repetition up to 3: complaint" in run("why", "https://a.example/").stdout
    assert run("allow", "https://a.example", "gravity", *WHO).exit_code == 2
