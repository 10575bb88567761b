"""Closes in their table: read back as appended, one at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.errors import LedgerConflictError
from domain.periods import close_of
from domain.settings import Settings
from tests.support.periods import CLOSED_AT, DECEMBER, NOVEMBER, month_seals
from warehouse.layout import open_table
from warehouse.periods import append_close, read_closed, read_closes

CLOSE = close_of(NOVEMBER, month_seals(NOVEMBER), "ada", CLOSED_AT)


def test_a_close_comes_back_as_it_was_appended(settings: Settings) -> None:
    assert read_closed(settings).closed_until is None
    append_close(settings, CLOSE, 0)
    later = append_close(settings, replace(CLOSE, period=DECEMBER), 1)
    assert read_closes(settings) == [CLOSE, later]
    assert read_closes(settings)[0].certificate() == CLOSE.certificate()
    assert read_closed(settings).closed_until == DECEMBER.end


@pytest.mark.parametrize("expected_count", [0, 2], ids=["behind", "ahead"])
def test_another_number_of_closes_than_expected_closes_nothing(settings: Settings, expected_count: int) -> None:
    append_close(settings, CLOSE, 0)
    with pytest.raises(LedgerConflictError, match=rf"period_closes has number 1; expected number {expected_count}"):
        append_close(settings, replace(CLOSE, period=DECEMBER), expected_count)
    assert open_table(settings, "period_closes").version() == 1
