"""The head of real ledgers, kept in a folder: each once, and none that contradicts what was kept before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from domain.errors import IntegrityError, UsageError
from domain.heads import missing_of, parse_head
from domain.settings import Settings
from tests.support.ledgers import WRITTEN_AT, publication_draft, seal_draft
from tests.support.object_store import BUCKET, ObjectStore
from tests.support.sealed_world import SealedWorld, sealed_world
from warehouse.heads import export_head, read_ledgers
from warehouse.publications import append_publication
from warehouse.seals import append_seals


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    world = sealed_world(tmp_path / "home")
    append_seals(world.settings, [seal_draft(0), seal_draft(1)], 0, WRITTEN_AT)
    append_publication(world.settings, publication_draft(2), 0, WRITTEN_AT)
    return world


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


def _export(settings: Settings, kept: Path) -> bool:
    return export_head(settings, str(kept), WRITTEN_AT).is_new


def test_each_head_is_a_file_of_its_own(world: SealedWorld, kept: Path) -> None:
    receipt = export_head(world.settings, str(kept), WRITTEN_AT)
    assert parse_head("kept", Path(receipt.address).read_bytes()) == receipt.head
    assert missing_of(receipt.head, read_ledgers(world.settings)) == []
    before = Path(receipt.address).read_bytes()
    assert (receipt.is_new, _export(world.settings, kept)) == (True, False)
    append_seals(world.settings, [seal_draft(2)], 2, WRITTEN_AT)
    assert _export(world.settings, kept)
    assert [name[:26] for name in sorted(os.listdir(kept))] == [
        "head-0000000002-0000000001",
        "head-0000000003-0000000001",
    ]
    assert Path(receipt.address).read_bytes() == before


def test_a_cut_tail_is_refused_and_what_was_kept_stays(world: SealedWorld, kept: Path) -> None:
    """F6: the older head is not kept beside the newer one as if it were the present."""
    _export(world.settings, kept)
    files = sorted(os.listdir(kept))
    world.tamper("seals", lambda row: None if row["seal_number"] == 2 else row)
    with pytest.raises(IntegrityError, match="the kept head has seal 2, the last one is 1: the tail was cut off"):
        _export(world.settings, kept)
    assert sorted(os.listdir(kept)) == files


def test_a_chain_that_does_not_hold_has_no_head(world: SealedWorld, kept: Path) -> None:
    world.tamper("seals", lambda row: row | {"actor": "mallory"} if row["seal_number"] == 1 else row)
    with pytest.raises(IntegrityError, match="seal 1: its actor, case, reason or salt was changed"):
        _export(world.settings, kept)
    assert os.listdir(kept) == []


def test_nothing_sealed_has_no_head(tmp_path: Path, kept: Path) -> None:
    with pytest.raises(UsageError, match="nothing is sealed"):
        _export(sealed_world(tmp_path / "empty").settings, kept)


def test_a_retention_of_the_settings_needs_a_place_that_has_one(world: SealedWorld, kept: Path) -> None:
    settings = Settings(home=world.settings.home, head_retention_days=365)
    with pytest.raises(UsageError, match="that keeps files until some time"):
        _export(settings, kept)


def test_a_retention_of_the_settings_locks_an_object(world: SealedWorld, store: ObjectStore) -> None:
    """For a year from 2026-05-04T20:00:00.123456Z on; the same head a second time touches nothing."""
    settings = Settings(home=world.settings.home, head_retention_days=365)
    receipt, again = (export_head(settings, f"s3://{BUCKET}/tally", WRITTEN_AT) for _ in range(2))
    assert (receipt.is_new, again.is_new, again.address) == (True, False, receipt.address)
    (key, found), *others = store.objects.items()
    assert (f"s3://{BUCKET}/{key}", others) == (receipt.address, [])
    assert parse_head(key, found.content) == receipt.head
    assert (found.lock_mode, found.lock_until) == ("COMPLIANCE", "2027-05-04T20:00:01Z")
