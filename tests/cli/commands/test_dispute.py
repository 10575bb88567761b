"""``tallystick dispute``: a case from its opening to its pack and its end, and each refusal in one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.disk import room_for
from tests.support.dispute_world import dispute_world
from tests.support.sealed_world import HOUR, SealedWorld, exchanged
from warehouse.layout import open_table

OPEN = [
    *("open", "--advertiser", "10", "--from", "2026-11-30T09:05Z", "--to", "2026-11-30T10:30Z"),
    *("--claim", "we saw 4 visitors", "--actor", "ada", "--claimed-clicks", "4"),
]
RESOLVE = ["resolve", "D-1", "--outcome", "rejected", "--reason", "as sealed", "--actor", "grace"]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("cli.commands.dispute.now", lambda: HOUR.replace(hour=12))
    return dispute_world(tmp_path / "home")


def _dispute(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["dispute", *arguments])


def test_a_case_from_its_opening_to_its_end(world: SealedWorld, tmp_path: Path) -> None:
    assert _dispute(*OPEN).stdout == "D-1\n"
    assert _dispute("note", "D-1", "asked the publisher", "--actor", "grace").exit_code == 0
    listed = json.loads(_dispute("list", "--open", "--json").stdout)
    assert (listed["case_id"], listed["state"], listed["claimed_clicks"]) == ("D-1", "open", 4)
    file = tmp_path / "D-1.zip"
    packed = _dispute("pack", "D-1", "--to", str(file))
    assert packed.stderr == f"{file}: 14 click events, 4 billable clicks in the range\n"
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "unzipped")
    recount = [sys.executable, "-I", "recount.py"]
    done = subprocess.run(recount, cwd=tmp_path / "unzipped", capture_output=True, text=True, check=False, env={})
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "matches")
    assert _dispute(*RESOLVE).stderr == "dispute D-1 is rejected; its hours are held for 365 days more\n"
    assert _dispute("list", "--open").stdout.count("D-1") == 0
    assert "rejected" in _dispute("list").stdout
    again = _dispute(*RESOLVE)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr.startswith("error: dispute D-1 was resolved as rejected at 2026-11-30T12:00:00Z; expected")


def test_show(world: SealedWorld) -> None:
    _dispute(*OPEN)
    shown = json.loads(_dispute("show", "D-1", "--json").stdout)
    assert (shown["billable_clicks"], shown["amounts_micros"], shown["missing_hours"]) == (4, {"EUR": 850_000}, [])
    excluded = {"conflicting_duplicate": 1, "duplicate": 2, "fraud": 2, "head": 1, "prefetch": 1}
    first, second = shown["hours"]
    assert (first["hour"], first["ad_id"], first["billable_clicks"]) == ("2026-11-30T09:00:00Z", 1, 3)
    assert first["excluded_clicks"] == excluded
    assert (second["ad_id"], second["billable_clicks"], second["amounts_micros"]) == (3, 1, {})
    assert [(seal["seal_number"], seal["revision"]) for seal in shown["seals"]] == [(1, 0), (2, 0)]
    text = _dispute("show", "D-1").stdout
    assert text.startswith(
        "D-1, open: advertiser 10, 2026-11-30T09:05:00Z to 2026-11-30T10:30:00Z: "
        "4 billable clicks, claimed 4, 0.85 EUR\n"
    )
    assert "1 conflicting_duplicate, 2 duplicate, 2 fraud, 1 head, 1 prefetch" in text


def test_clicks(world: SealedWorld) -> None:
    _dispute(*OPEN)
    rows = [json.loads(line) for line in _dispute("clicks", "D-1", "--json").stdout.splitlines()]
    assert [(row["offset"], row["outcome"]) for row in rows[:3]] == [(0, "billable"), (1, "billable"), (2, "excluded")]
    assert len(rows) == 13
    assert "the same click was logged before, at 1:0:1" in _dispute("clicks", "D-1").stdout


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([*OPEN, "--advertiser", "77"], "advertiser 77, which has neither an ad nor a click"),
        ([*OPEN, "--to", "2026-11-30T12:01Z"], "a range up to 2026-11-30T12:01:00Z"),
        ([*OPEN, "--to", "2026-11-30T09:05Z"], "a range from 2026-11-30T09:05:00Z to 2026-11-30T09:05:00Z"),
        ([*OPEN, "--from", "2026-11-30T09:05"], "--from is '2026-11-30T09:05'"),
        ([*OPEN, "--from", "2026-11-30T09:05:30Z"], "from 2026-11-30T09:05:30Z"),
        ([*OPEN, "--claim", ""], "claim ''"),
        (RESOLVE, "dispute 'D-1'"),
        (["show", "D-9"], "dispute 'D-9'"),
        (["clicks", "D-9"], "dispute 'D-9'"),
        (["note", "D-9", "hello", "--actor", "ada"], "dispute 'D-9'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(world: SealedWorld, arguments: list[str], found: str) -> None:
    result = _dispute(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {found}; expected ")
    assert open_table(world.settings, "disputes").version() == 0


def test_a_pack_of_raw_that_was_changed_says_so_and_is_written(world: SealedWorld, tmp_path: Path) -> None:
    """What its script will say, whoever packs it hears first; and the exit code is that of `tallystick verify`."""
    _dispute(*OPEN)
    change = exchanged("payload", b'"country": "CA"', b'"country": "DE"')
    world.tamper("raw_clicks", lambda row: change(row) if row["offset"] == 3 else row)
    file = tmp_path / "D-1.zip"
    result = _dispute("pack", "D-1", "--to", str(file))
    assert result.exit_code == 4
    assert "- hour 2026-11-30T09:00:00Z, digest of its billable clicks: found " in result.stderr
    error = result.stderr.splitlines()[-1]
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "unzipped")
    recount = [sys.executable, "-I", "recount.py"]
    done = subprocess.run(recount, cwd=tmp_path / "unzipped", capture_output=True, text=True, check=False, env={})
    (said,) = re.findall(r"^differs in (\d+) places$", done.stdout, re.MULTILINE)
    assert (done.returncode, error.startswith(f"error: the pack {file} differs in {said} places")) == (1, True)


def test_a_full_disk_leaves_no_half_pack(world: SealedWorld, tmp_path: Path) -> None:
    _dispute(*OPEN)
    (tmp_path / "out").mkdir()
    with room_for(10):
        result = _dispute("pack", "D-1", "--to", str(tmp_path / "out" / "D-1.zip"))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert list((tmp_path / "out").iterdir()) == []
    absent = _dispute("pack", "D-1", "--to", str(tmp_path / "absent" / "D-1.zip"))
    assert absent.stderr.startswith("error: no folder ")
