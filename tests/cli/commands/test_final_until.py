"""``tallystick final-until``: one instant for people, one JSON object for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.support.counts_tables import CountsTables, counts_tables, hours
from tests.support.periods import NOVEMBER, close_month, settle_month


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountsTables:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    return counts_tables(tmp_path)


def test_before_the_first_publication(tables: CountsTables) -> None:
    tables.seal(hours("2026-05-03T10:00Z", 1))
    result = CliRunner().invoke(app, ["final-until"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "nothing is final yet: no hour is sealed and published\n"
    document = json.loads(CliRunner().invoke(app, ["final-until", "--json"]).stdout)
    assert document == {"publication_number": None, "final_from": None, "final_until": None, "closed_until": None}


def test_after_it(tables: CountsTables) -> None:
    tables.settle([], [*hours("2026-05-03T10:00Z", 2), *hours("2026-05-03T13:00Z", 1)])
    assert CliRunner().invoke(app, ["final-until"]).stdout == "2026-05-03T12:00:00Z\n"
    document = json.loads(CliRunner().invoke(app, ["final-until", "--json"]).stdout)
    assert document == {
        "publication_number": 1,
        "final_from": "2026-05-03T10:00:00Z",
        "final_until": "2026-05-03T12:00:00Z",
        "closed_until": None,
    }


def test_after_a_close(tables: CountsTables) -> None:
    settle_month(tables, NOVEMBER)
    close_month(tables.settings)
    result = CliRunner().invoke(app, ["final-until"])
    assert (result.stdout, result.stderr) == ("2026-12-01T00:00:00Z\n", "closed until 2026-12-01T00:00:00Z\n")
    document = json.loads(CliRunner().invoke(app, ["final-until", "--json"]).stdout)
    assert (document["final_until"], document["closed_until"]) == ("2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z")
