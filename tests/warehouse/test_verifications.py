"""Verifications in their table."""

from __future__ import annotations

from datetime import timedelta

from domain.settings import Settings
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT
from warehouse.layout import open_table
from warehouse.verifications import Verification, append_verifications, read_verifications


def _verification(hour: int, minutes: int = 0) -> Verification:
    at = WRITTEN_AT + timedelta(minutes=minutes)
    return Verification(FIRST_HOUR + timedelta(hours=hour), hour + 1, "0" * 64, "auditor", at, 3, "asked again", "C-1")


def test_they_come_back_by_time_and_hour(settings: Settings) -> None:
    append_verifications(settings, [_verification(2, minutes=5)])
    append_verifications(settings, [_verification(1), _verification(0)])
    assert read_verifications(settings) == [_verification(0), _verification(1), _verification(2, minutes=5)]


def test_none_are_no_commit(settings: Settings) -> None:
    append_verifications(settings, [])
    assert open_table(settings, "verifications").version() == 0
