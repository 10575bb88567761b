"""Ways to change data behind the product's back, each found by ``verify``; some only beside a head kept elsewhere.

One intact installation is copied for each case. What is said in full is tested beside the parts: ``tests/quality``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from domain.buckets import HOUR as ONE_HOUR
from domain.buckets import MINUTE
from domain.heads import Head, head_of
from domain.periods import close_of
from domain.seals import chain_drafts
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from quality.recount import verify
from tests.domain.test_adjustments import CASE, LINE
from tests.support.ledgers import fixed_salt
from tests.support.periods import CLOSED_AT, NOVEMBER
from tests.support.sealed_world import HOUR, SEALED_AT, Row, SealedWorld, exchanged, logged, sealed_world
from warehouse.adjustments import adjust
from warehouse.heads import read_ledgers
from warehouse.layout import table_uri
from warehouse.periods import append_close
from warehouse.schema import arrow_rows
from warehouse.seals import read_seals
from warehouse.tables import TABLES

NEXT_HOUR, LAST_HOUR = HOUR + ONE_HOUR, HOUR + 2 * ONE_HOUR
FIRST, SECOND, DAY = "hour 2026-11-30T09:00:00Z", "hour 2026-11-30T10:00:00Z", "day 2026-11-30"
LEDGERS, ADJUSTMENTS, CLOSE = "ledgers", "adjustments", "closed period 2026-11"
Change = Callable[[SealedWorld], object]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> SealedWorld:
    """Three hours, a fraud among them, in two publications; then a close of the month, and a case of two lines."""
    world = sealed_world(tmp_path_factory.mktemp("home"))
    world.archive([logged(0, HOUR), logged(1, HOUR + MINUTE)])
    world.archive([logged(2, HOUR + 2 * MINUTE, impression_id="imp-0-0"), logged(3, HOUR, kind="head")])
    world.archive([logged(4, NEXT_HOUR)])
    world.judge_fraud(FraudVerdict("v1", ClickTarget("imp-0-1", 1), "fraud", "a bot", HOUR))
    world.seal(HOUR)
    world.publish()
    world.seal(NEXT_HOUR, LAST_HOUR)
    world.publish()
    append_close(world.settings, close_of(NOVEMBER, read_seals(world.settings), "ada", CLOSED_AT), 0)
    line = replace(LINE, charge_hour=HOUR)
    adjust(world.settings, replace(CASE, adjusted_at=CLOSED_AT + timedelta(days=1)), [line, line])
    return world


@pytest.fixture(scope="module")
def kept(intact: SealedWorld) -> Head:
    return head_of(read_ledgers(intact.settings), CLOSED_AT, "0.1.0")


@pytest.fixture
def world(intact: SealedWorld, tmp_path: Path) -> SealedWorld:
    shutil.copytree(intact.settings.home, tmp_path / "home")
    return SealedWorld(Settings(home=tmp_path / "home"), list(intact.log))


def found(world: SealedWorld, head: Head | None = None, hours: int = 3) -> dict[str, str]:
    """Subject -> all that differs."""
    asked = [HOUR, NEXT_HOUR, LAST_HOUR][:hours]
    verdicts = verify(world.settings, asked, head=head)
    return {verdict.subject: "; ".join(verdict.differences) for verdict in verdicts if not verdict.is_agreeing}


def at(name: str, value: object, change: Callable[[Row], Row | None]) -> Callable[[Row], Row | None]:
    """The change of the rows that have this value, and of no other."""
    return lambda row: change(row) if row[name] == value else row


def rows(table: str, change: Callable[[Row], Row | None]) -> Change:
    return lambda world: world.tamper(table, change)


def each(*changes: Change) -> Change:
    def apply(world: SealedWorld) -> None:
        for change in changes:
            change(world)

    return apply


def _delete_raw(world: SealedWorld) -> None:
    """By a commit of its own, as any writer of Delta makes one."""
    DeltaTable(table_uri(world.settings, "raw_clicks")).delete('"offset" = 1')


def _insert_raw(world: SealedWorld) -> None:
    (row,) = [row for row in DeltaTable(_raw(world)).to_pyarrow_table().to_pylist() if row["offset"] == 4]
    payload = row["payload"].replace(b"imp-0-4", b"imp-0-x")
    forged = row | {"offset": 3, "partition": 0, "impression_id": "imp-0-x", "payload": payload}
    write_deltalake(_raw(world), arrow_rows(TABLES["raw_clicks"], [forged]), mode="append")


def _raw(world: SealedWorld) -> str:
    return table_uri(world.settings, "raw_clicks")


def _raw_commit(world: SealedWorld, version: int) -> tuple[Path, Path]:
    """A commit's file, and the one data file that it adds."""
    commit = Path(_raw(world)) / "_delta_log" / f"{version:020}.json"
    (added,) = [json.loads(line)["add"]["path"] for line in commit.read_text().splitlines() if '"add"' in line]
    return commit, Path(_raw(world)) / added


def _swap_raw_file(world: SealedWorld) -> None:
    """The hour's second file becomes what its first one is."""
    (_, older), (commit, newer) = _raw_commit(world, 1), _raw_commit(world, 2)
    size = newer.stat().st_size
    shutil.copyfile(older, newer)
    commit.write_text(commit.read_text().replace(f'"size":{size}', f'"size":{newer.stat().st_size}'))


def _rewrite_log_entry(world: SealedWorld) -> None:
    """The second commit adds the first one's file again instead of its own."""
    (_, older), (commit, newer) = _raw_commit(world, 1), _raw_commit(world, 2)
    text = commit.read_text().replace(newer.name, older.name)
    commit.write_text(text.replace(f'"size":{newer.stat().st_size}', f'"size":{older.stat().st_size}'))


def _remove_last_log_entry(table: str) -> Change:
    return lambda world: max((Path(table_uri(world.settings, table)) / "_delta_log").glob("*.json")).unlink()


def _rewrite_history(world: SealedWorld) -> None:
    """Another actor in the first seal, and every hash made anew by the public rule."""
    seals = read_seals(world.settings)
    drafts = [replace(seals[0], actor="mallory"), *seals[1:]]
    forged = {seal.number: seal.columns() for seal in chain_drafts([], drafts, SEALED_AT, fixed_salt)}
    world.tamper("seals", lambda row: forged[row["seal_number"]])


@dataclass(frozen=True)
class Tampering:
    """``expected`` is a part of what is said about ``subject``. ``only_by_head``: without one, all agrees."""

    change: Change
    subject: str
    expected: str
    only_by_head: bool = False
    hours: int = 3


SWAPPED = {1: 2, 2: 1}
WAYS: dict[str, Tampering] = {
    "a raw row deleted": Tampering(_delete_raw, FIRST, "seal 1: 4 raw clicks sealed, 3 recounted"),
    "a raw row inserted": Tampering(_insert_raw, SECOND, "seal 2: 1 raw clicks sealed, 2 recounted"),
    "a raw payload changed": Tampering(
        rows("raw_clicks", at("offset", 4, exchanged("payload", b'"US"', b'"CA"'))),
        SECOND,
        "raw row 1:0:4: its payload says something else than its country",
    ),
    "payload and columns changed alike": Tampering(
        each(
            rows("raw_clicks", at("offset", 4, exchanged("payload", b'"US"', b'"CA"'))),
            rows("raw_clicks", at("offset", 4, exchanged("country", "US", "CA"))),
        ),
        SECOND,
        "seal 2: digest ",
    ),
    "a raw file swapped for an older one": Tampering(_swap_raw_file, FIRST, "raw row 1:0:0: it is there 2 times"),
    "an entry of a log removed": Tampering(
        _remove_last_log_entry("raw_clicks"), SECOND, "seal 2: 1 raw clicks sealed, 0 recounted"
    ),
    "an entry of a log rewritten": Tampering(_rewrite_log_entry, FIRST, "seal 1: 4 raw clicks sealed, 2 recounted"),
    "a seal changed": Tampering(
        rows("seals", at("seal_number", 1, lambda row: row | {"raw_clicks": 5, "billable_clicks": 2})),
        LEDGERS,
        "seal 1: its columns do not have its hash, they were changed",
    ),
    "a text of a seal changed": Tampering(
        rows("seals", at("seal_number", 3, lambda row: row | {"actor": "mallory"})),
        LEDGERS,
        "seal 3: its actor, case, reason or salt was changed",
    ),
    "a seal out of the middle": Tampering(
        rows("seals", at("seal_number", 2, lambda _: None)),
        LEDGERS,
        "seal 3: does not follow the hash of the row before it",
    ),
    "the seals' tail cut by a log entry": Tampering(
        _remove_last_log_entry("seals"), LEDGERS, "publication 2 shows seals up to 3, there are 1"
    ),
    "seals reordered": Tampering(
        rows("seals", lambda row: row | {"seal_number": SWAPPED.get(row["seal_number"], row["seal_number"])}),
        LEDGERS,
        "seal 1: does not follow the hash of the row before it",
    ),
    "F6: every ledger as it was before the second seal": Tampering(
        each(
            rows("seals", lambda row: row if row["seal_number"] == 1 else None),
            rows("publications", lambda row: row if row["publication_number"] == 1 else None),
            rows("period_closes", lambda _: None),
            rows("adjustments", lambda _: None),
        ),
        LEDGERS,
        "the kept head has seal 3, the last one is 1: the tail was cut off",
        only_by_head=True,
        hours=1,
    ),
    "history written anew": Tampering(_rewrite_history, LEDGERS, "history was written anew", only_by_head=True),
    "a publication changed": Tampering(
        rows("publications", at("publication_number", 2, lambda row: row | {"final_until": NEXT_HOUR})),
        LEDGERS,
        "publication 2: its columns do not have its hash, they were changed",
    ),
    "the last publication gone": Tampering(
        _remove_last_log_entry("publications"), SECOND, "seal 2 is not published; nothing of it is"
    ),
    "figures changed alike in all final tables": Tampering(
        each(
            rows("final_clicks_minute", at("minute", NEXT_HOUR, lambda row: row | {"clicks": 5})),
            rows("final_clicks_hour", at("hour", NEXT_HOUR, lambda row: row | {"clicks": 5})),
            rows("final_clicks_day", lambda row: row | {"clicks": 6}),
        ),
        SECOND,
        "published 5, recounted 1",
    ),
    "a figure of the day alone": Tampering(
        rows("final_clicks_day", lambda row: row | {"clicks": 6}), DAY, "has 6 clicks, its hours add up to 2"
    ),
    "a close's figure changed": Tampering(
        rows("period_closes", lambda row: row | {"billable_clicks": 9}), CLOSE, "9 billable clicks closed, 2 found"
    ),
    "a close's actor changed": Tampering(
        rows("period_closes", lambda row: row | {"actor": "mallory"}),
        LEDGERS,
        "the close of period 2026-11 is not the one of the kept head",
        only_by_head=True,
    ),
    "a close taken back": Tampering(
        rows("period_closes", lambda _: None),
        ADJUSTMENTS,
        "case C-1 line 1: period 2026-11, which it corrects, was open",
    ),
    "an adjustment changed": Tampering(
        rows("adjustments", at("line_number", 2, lambda row: row | {"delta_clicks": -30})),
        ADJUSTMENTS,
        "adjustment 2: its columns do not have its hash, they were changed",
    ),
    "an adjustment out of the middle": Tampering(
        rows("adjustments", at("line_number", 1, lambda _: None)), ADJUSTMENTS, "case C-1 line 1: it is there 0 times"
    ),
    "the last adjustment": Tampering(
        rows("adjustments", at("line_number", 2, lambda _: None)),
        LEDGERS,
        "the kept head has adjustment 2, the last one is 1: the tail was cut off",
        only_by_head=True,
    ),
    "a verdict changed": Tampering(
        rows("fraud_verdicts", lambda row: row | {"verdict": "withdrawn"}),
        FIRST,
        "seal 1: 1 clicks excluded as fraud sealed, 0 recounted",
    ),
    "a set of verdicts gone": Tampering(
        _remove_last_log_entry("fraud_verdicts"),
        FIRST,
        "seal 1 was counted with verdict set 1, table fraud_verdicts ends at 0",
    ),
}


def test_what_was_left_alone_agrees(intact: SealedWorld, kept: Head) -> None:
    """Law 11."""
    assert found(intact, kept) == {}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_it_is_found(world: SealedWorld, kept: Head, way: Tampering) -> None:
    """Law 11, F6."""
    way.change(world)
    if way.only_by_head:
        assert found(world, hours=way.hours) == {}
    said = found(world, kept if way.only_by_head else None, way.hours)
    assert way.expected in said.get(way.subject, ""), said
