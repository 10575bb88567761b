"""Sealing behind a chain whose head others move: bounded retries, and an hour is sealed once. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from domain.errors import IntegrityError, LedgerConflictError
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from spark_jobs.reconcile_seal import ATTEMPTS, read_sound_seals, seal_attempts, verdict_set_to_pin
from tests.support.empty_tables import make_empty_tables
from tests.support.ledgers import WRITTEN_AT, seal_draft
from warehouse.layout import table_uri
from warehouse.seals import append_seals, read_seals
from warehouse.verdicts import VerdictSet, append_set


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    return settings


def interrupted(settings: Settings, times: int, first_hour: int) -> Callable[[], datetime]:
    """A clock that somebody uses to seal another hour whenever it is read, so many times."""
    hours = iter(range(first_hour, first_hour + times))

    def clock() -> datetime:
        for hour in hours:
            append_seals(settings, [seal_draft(hour)], len(read_seals(settings)), WRITTEN_AT)
            break
        return WRITTEN_AT

    return clock


def test_a_date_is_sealed_in_one_commit(settings: Settings) -> None:
    sealed = seal_attempts(settings, [seal_draft(0), seal_draft(1)], lambda: WRITTEN_AT)
    assert [seal.number for seal in sealed] == [1, 2]
    assert DeltaTable(table_uri(settings, "seals")).version() == 1


def test_a_moved_head_is_followed(settings: Settings) -> None:
    """D8: decided again on what is there now."""
    (seal,) = seal_attempts(settings, [seal_draft(0)], interrupted(settings, ATTEMPTS - 1, first_hour=5))
    assert seal.number == ATTEMPTS
    assert read_sound_seals(settings)[-1] == seal


def test_a_head_that_always_moves_is_an_error(settings: Settings) -> None:
    with pytest.raises(LedgerConflictError):
        seal_attempts(settings, [seal_draft(0)], interrupted(settings, ATTEMPTS, first_hour=5))
    assert [seal.hour for seal in read_seals(settings)] == [seal_draft(hour).hour for hour in range(5, 5 + ATTEMPTS)]


def test_an_hour_that_somebody_else_sealed_is_theirs(settings: Settings) -> None:
    """The guard is read again before each try: no second seal of an hour, whoever races."""
    (seal,) = seal_attempts(settings, [seal_draft(0), seal_draft(1)], interrupted(settings, 1, first_hour=0))
    assert seal.hour == seal_draft(1).hour
    assert len(read_seals(settings)) == 2


def test_a_revision_is_due_behind_the_seal_that_it_was_counted_against(settings: Settings) -> None:
    """Not twice, nor where somebody else was quicker; and no first seal over one that is there."""
    seal_attempts(settings, [seal_draft(0)], lambda: WRITTEN_AT)
    (seal,) = seal_attempts(settings, [seal_draft(0, revision=1), seal_draft(0)], lambda: WRITTEN_AT)
    assert (seal.revision, seal.number) == (1, 2)
    assert seal_attempts(settings, [seal_draft(0, revision=1)], lambda: WRITTEN_AT) == []
    assert len(read_seals(settings)) == 2


def test_nothing_is_built_on_a_broken_chain(settings: Settings) -> None:
    seal_attempts(settings, [seal_draft(0), seal_draft(1)], lambda: WRITTEN_AT)
    table = DeltaTable(table_uri(settings, "seals"))
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    table.delete("seal_number = 1")
    with pytest.raises(IntegrityError, match="chain of seals is broken"):
        seal_attempts(settings, [seal_draft(2)], lambda: WRITTEN_AT)


def test_the_newest_set_of_verdicts_is_pinned_and_never_an_older_one_than_before(settings: Settings) -> None:
    """A table of verdicts that was lost, and made anew, would bill what was fraud."""
    assert verdict_set_to_pin(settings) == 0
    verdict = FraudVerdict("v1", ClickTarget("a", 1), "fraud", "a bot", WRITTEN_AT)
    append_set(settings, VerdictSet("a file", "lab", "test", [verdict]), WRITTEN_AT)
    assert verdict_set_to_pin(settings) == 1
    append_seals(settings, [seal_draft(0, verdict_set=1), seal_draft(1)], 0, WRITTEN_AT)
    assert verdict_set_to_pin(settings) == 1
    DeltaTable(table_uri(settings, "fraud_verdicts")).restore(0)
    with pytest.raises(IntegrityError, match="ends at set 0; expected set 1, which hours were sealed with"):
        verdict_set_to_pin(settings)
