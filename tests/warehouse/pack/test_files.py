"""A pack: what it holds, the same bytes again, nothing of other advertisers, and the rules that the seals name."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from domain.buckets import MINUTE
from domain.counting import RULE_VERSION
from domain.errors import IntegrityError, UsageError
from tests.support.dispute_world import NEXT, OTHERS_IMPRESSIONS, dispute_world, opened
from tests.support.sealed_world import HOUR, SealedWorld, exchanged, logged
from warehouse.pack.files import write_pack
from warehouse.seals import read_seals

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a pack."""
    world = dispute_world(tmp_path_factory.mktemp("packed"))
    opened(world)
    return files_of(pack_bytes(world))


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    found = dispute_world(tmp_path)
    opened(found)
    return found


def pack_bytes(world: SealedWorld) -> bytes:
    file = io.BytesIO()
    write_pack(world.settings, "D-1", file)
    return file.getvalue()


def files_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_is_in_it(packed: dict[str, bytes]) -> None:
    tables = ("adjustments", "clicks", "invoice_rows", "prices", "seals", "verdicts")
    assert list(packed) == sorted(
        [
            *("README.md", "foreign_sums.csv", "pack.json", "publication.json", "recount.py", "rules/rule_2.md"),
            *(f"{name}.{kind}" for name in tables for kind in ("csv", "parquet")),
            "sha256sums.txt",
        ]
    )
    readme = packed["README.md"].decode()
    assert [name for name in packed if name.split(".")[0].split("/")[0] not in readme + "README"] == []


def test_invoice_rows(packed: dict[str, bytes]) -> None:
    assert packed["invoice_rows.csv"].decode() == (
        "advertiser_id,campaign_id,ad_id,minute,country,device,clicks,price_micros,currency,amount_micros\n"
        "10,100,1,2026-11-30T09:06:00Z,US,mobile,1,250000,EUR,250000\n"
        "10,100,1,2026-11-30T09:08:00Z,CA,mobile,1,300000,EUR,300000\n"
        "10,100,1,2026-11-30T09:13:00Z,US,mobile,1,300000,EUR,300000\n"
        "10,100,3,2026-11-30T10:00:00Z,US,tablet,1,,,\n"
    )


def test_every_click_and_why(packed: dict[str, bytes]) -> None:
    shown = list(csv.DictReader(io.StringIO(packed["clicks.csv"].decode())))
    said = {
        int(row["offset"]): (row["outcome"], row["reason"], row["winner_offset"], row["verdict_id"]) for row in shown
    }
    billable, none = ("billable", "", "", ""), ("", "")
    assert said == {
        **dict.fromkeys((0, 1, 3, 8, 12, 13), billable),
        2: ("excluded", "duplicate", "1", ""),
        4: ("excluded", "conflicting_duplicate", "3", ""),
        5: ("excluded", "head", *none),
        6: ("excluded", "prefetch", *none),
        7: ("excluded", "duplicate", "90", ""),
        9: ("excluded", "fraud", "", "v-1"),
        10: ("excluded", "fraud", "", "v-2"),
        90: ("look_back", "", *none),
    }
    assert {row["why"] for row in shown if row["reason"] == "duplicate"} == {
        "the same click was logged before, at 1:0:1",
        "the same click was logged before, at 1:0:90",
    }
    assert not {"ip", "user_agent", "payload"} & shown[0].keys()


def test_nothing_of_other_advertisers(packed: dict[str, bytes]) -> None:
    """Law 13: of others' clicks there is one number and one sum an hour, and no more."""
    for name, content in packed.items():
        for secret in (OTHERS_IMPRESSIONS, "SECRETLAND", "others' secret", "198.51.100.7", "Mozilla"):
            assert secret.encode() not in content, name
    header, *sums = packed["foreign_sums.csv"].decode().splitlines()
    assert header == "hour,clicks,digest"
    told = [re.fullmatch(r"(2026-11-30T\d\d:00:00Z,\d+),[0-9a-f]{64}", line) for line in sums]
    assert [one and one[1] for one in told] == ["2026-11-30T09:00:00Z,4", "2026-11-30T10:00:00Z,1"]


def test_no_word_of_another_case(world: SealedWorld) -> None:
    """Law 13: of a revision of the same hour for somebody else neither case, reason, actor nor salt is in the pack."""
    for offset, case_id in ((95, "D-1"), (96, "D-10")):
        world.archive([logged(offset, HOUR + 20 * MINUTE)])
        world.seal(HOUR, case_id=case_id, reason=f"because of {case_id}", actor=f"actor of {case_id}")
    world.publish()
    pack = files_of(pack_bytes(world))
    seals = read_seals(world.settings)
    hidden = [words for seal in seals if seal.case_id != "D-1" for words in (seal.reason, seal.actor, seal.salt)]
    found = {words for words in hidden if words for content in pack.values() if words.encode() in content}
    assert found - {"test"} == set()
    shown = list(csv.DictReader(io.StringIO(pack["seals.csv"].decode())))
    told = [(row["actor"], row["case_id"], row["reason"], row["salt"]) for row in shown]
    own = ("actor of D-1", "D-1", "because of D-1", seals[2].salt)
    assert told == [("",) * 4, ("",) * 4, own, ("",) * 4]
    assert pq.read_table(io.BytesIO(pack["seals.parquet"])).column("salt").to_pylist() == ["", "", seals[2].salt, ""]


def test_the_same_content_has_the_same_bytes(world: SealedWorld) -> None:
    first = pack_bytes(world)
    assert pack_bytes(world) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_late_click_is_shown_and_a_revision_counts_it(world: SealedWorld) -> None:
    world.archive([logged(95, HOUR + 20 * MINUTE)])
    late = files_of(pack_bytes(world))
    assert b'after_cut,,,,,,"logged after the cut of the seal, so in no figure of it",' in late["clicks.csv"]
    (revised,) = world.seal(HOUR)
    assert files_of(pack_bytes(world))["clicks.csv"] == late["clicks.csv"], "a seal that nobody published shows nothing"
    world.publish()
    fresh = files_of(pack_bytes(world))
    assert b"after_cut" not in fresh["clicks.csv"]
    assert b"10,100,1,2026-11-30T09:20:00Z,US,mobile,1,300000,EUR,300000\n" in fresh["invoice_rows.csv"]
    assert json.loads(fresh["pack.json"])["head"] == revised.hash


def test_hours_that_are_not_sealed_are_refused(world: SealedWorld) -> None:
    world.tamper("publications", lambda row: row | {"seal_number": 1})
    with pytest.raises(UsageError, match="hour 2026-11-30T10:00:00Z and 0 more of the dispute are not sealed and pub"):
        pack_bytes(world)


def test_raw_that_is_gone_is_named(world: SealedWorld) -> None:
    world.tamper("raw_clicks", lambda row: None if row["offset"] in {20, 90} else row)
    file = io.BytesIO()
    receipt = write_pack(world.settings, "D-1", file)
    assert (receipt.incomplete_hours, receipt.billable_clicks, receipt.event_count) == ((HOUR,), 4, 13)
    pack = json.loads(files_of(file.getvalue())["pack.json"])
    assert pack["raw_clicks_found"] == {"2026-11-30T09:00:00Z": 15, "2026-11-30T10:00:00Z": 3}
    assert pack["not_shown"] == [{"log": 1, "partition": 0, "offset": 90, "why": "gone"}]
    assert NEXT not in receipt.incomplete_hours


@pytest.mark.parametrize("column", [10, 20])
def test_a_copy_of_another_advertiser_is_not_shown(world: SealedWorld, column: int) -> None:
    """An ad that changed hands: the earlier copy of a click may be somebody else's, and the payload says whose."""
    change = exchanged("payload", b'"advertiser_id": 10', b'"advertiser_id": 20')
    world.tamper("raw_clicks", lambda row: change(row | {"advertiser_id": column}) if row["offset"] == 90 else row)
    pack = files_of(pack_bytes(world))
    assert json.loads(pack["pack.json"])["not_shown"] == [
        {"log": 1, "partition": 0, "offset": 90, "why": "another advertiser's"}
    ]
    assert b"look_back" not in pack["clicks.csv"]


def test_a_rule_whose_text_is_gone(world: SealedWorld) -> None:
    world.tamper("seals", lambda row: row | {"rule_version": 9})
    with pytest.raises(IntegrityError, match="a seal names rule version 9; expected a rule whose text was kept"):
        pack_bytes(world)


def test_the_newest_rule_is_that_of_the_documentation() -> None:
    """Whoever changes the rule writes its text anew under its number; texts of former versions stay."""
    page = (ROOT / "docs" / "counting.md").read_text(encoding="utf-8")
    rule = page[page.index("## The rule, in its order") : page.index("## What the live count does differently")]
    kept = (ROOT / "warehouse" / "pack" / "rules" / f"rule_{RULE_VERSION}.md").read_text(encoding="utf-8")
    assert re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", rule).strip() in kept
    assert f"This page\nis rule version {RULE_VERSION}." in page
