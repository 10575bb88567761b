"""Disputes in their table: what was appended comes back, a refused step changes nothing, of a race one gets in."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.buckets import HOUR as AN_HOUR
from domain.buckets import MINUTE
from domain.disputes import Claim, DisputeRefusedError, Resolution, opening
from domain.errors import LedgerConflictError, UsageError
from tests.support.sealed_world import HOUR, SEALED_AT, SealedWorld, logged, sealed_world
from warehouse.ads import snapshot_ads
from warehouse.disputes import add_note, open_dispute, open_disputes, read_dispute, read_disputes, resolve_dispute
from warehouse.layout import open_table
from warehouse.ledger import append_after

CLAIM = Claim(
    advertiser_id=10,
    start=HOUR,
    end=HOUR + AN_HOUR,
    claim="80 and not 79",
    actor="ada",
    claimed_clicks=None,
    opened_at=SEALED_AT,
)
RESOLUTION = Resolution(outcome="rejected", reason="as sealed", actor="grace", resolved_at=SEALED_AT + AN_HOUR)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    found = sealed_world(tmp_path)
    found.archive([logged(0, HOUR)])
    return found


def test_a_case_from_its_opening_to_its_end(world: SealedWorld) -> None:
    first = open_dispute(world.settings, CLAIM)
    second = open_dispute(world.settings, replace(CLAIM, claimed_clicks=79))
    assert (first.case_id, second.case_id) == ("D-1", "D-2")
    assert read_disputes(world.settings) == {"D-1": first, "D-2": second}
    add_note(world.settings, "D-2", "ada", "asked again", SEALED_AT)
    ended = resolve_dispute(world.settings, "D-2", RESOLUTION)
    assert read_dispute(world.settings, "D-2") == ended
    assert [event.kind for event in ended.events] == ["opened", "note", "resolved"]
    assert open_disputes(world.settings, HOUR, HOUR + MINUTE) == [first]
    assert open_disputes(world.settings, HOUR - MINUTE, HOUR) == []


def test_a_refused_step_changes_nothing(world: SealedWorld) -> None:
    open_dispute(world.settings, CLAIM)
    resolve_dispute(world.settings, "D-1", RESOLUTION)
    version = open_table(world.settings, "disputes").version()
    with pytest.raises(DisputeRefusedError, match="was resolved as rejected"):
        resolve_dispute(world.settings, "D-1", replace(RESOLUTION, outcome="upheld"))
    with pytest.raises(UsageError, match="dispute 'D-9'"):
        resolve_dispute(world.settings, "D-9", RESOLUTION)
    with pytest.raises(UsageError, match="advertiser 77, which has neither an ad nor a click"):
        open_dispute(world.settings, replace(CLAIM, advertiser_id=77))
    assert open_table(world.settings, "disputes").version() == version


def test_an_ad_makes_an_advertiser_known(world: SealedWorld) -> None:
    snapshot_ads(world.settings, [Ad(5, 77, 1, "https://example.org/")], SEALED_AT - timedelta(days=9))
    assert open_dispute(world.settings, replace(CLAIM, advertiser_id=77)).case_id == "D-1"


def test_of_a_race_one_gets_in(world: SealedWorld) -> None:
    """D8: two cases never get one id."""
    before = open_table(world.settings, "disputes")
    open_dispute(world.settings, CLAIM)
    with pytest.raises(LedgerConflictError, match="table disputes is at version 1, moved by somebody else"):
        append_after(world.settings, "disputes", before, [vars(opening([], CLAIM))])
    assert list(read_disputes(world.settings)) == ["D-1"]
