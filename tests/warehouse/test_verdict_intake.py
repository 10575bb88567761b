"""Taking in, when somebody else takes in at the same moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from domain.errors import LedgerConflictError
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from tests.support.sealed_world import HOUR, SealedWorld, sealed_world
from warehouse import verdict_intake
from warehouse.ledger import append_after
from warehouse.verdict_files import VerdictFile
from warehouse.verdict_intake import MAX_ATTEMPTS, IntakeReceipt, take_in
from warehouse.verdicts import KnownFileError, VerdictSet, append_set, current_set


def _verdict(name: str) -> FraudVerdict:
    return FraudVerdict(name, ClickTarget(f"imp-{name}", 1), "fraud", "a bot", HOUR)


def _file(name: str) -> VerdictFile:
    return VerdictFile(f"digest {name}", [_verdict(name)], [])


class Rivals:
    """So many sets are taken in, each right between somebody's look at the table and their append."""

    def __init__(self, settings: Settings, count: int) -> None:
        self._settings, self.left = settings, count

    def append_after(self, settings: Settings, name: str, *rest: Any) -> None:
        if self.left:
            self.left -= 1
            kept, self.left = self.left, 0
            append_set(self._settings, VerdictSet(f"rival {kept}", "lab", "bob", [_verdict(f"r{kept}")]), HOUR)
            self.left = kept
        append_after(settings, name, *rest)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    return sealed_world(tmp_path)


def test_a_lost_race_is_run_again(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = Rivals(world.settings, 2)
    monkeypatch.setattr("warehouse.verdicts.append_after", rivals.append_after)
    receipt = take_in(world.settings, _file("own"), "lab", "ann", HOUR)
    assert receipt == IntakeReceipt(3, "digest own", 1, 1)
    assert (rivals.left, current_set(world.settings)) == (0, 3)


def test_not_for_ever(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_intake, "MAX_ATTEMPTS", 2)
    assert MAX_ATTEMPTS > 2
    monkeypatch.setattr("warehouse.verdicts.append_after", Rivals(world.settings, 9).append_after)
    with pytest.raises(LedgerConflictError):
        take_in(world.settings, _file("own"), "lab", "ann", HOUR)
    assert current_set(world.settings) == 2


def test_the_same_content_is_taken_in_once(world: SealedWorld) -> None:
    take_in(world.settings, _file("own"), "lab", "ann", HOUR)
    with pytest.raises(KnownFileError, match="was taken in as set 1"):
        take_in(world.settings, _file("own"), "lab", "bob", HOUR)
