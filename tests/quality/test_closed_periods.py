"""``verify`` on a closed month: it agrees until a seal of it is another one, and says which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.buckets import HOUR
from domain.periods import close_of
from domain.seals import chain_drafts
from quality.closed_periods import close_differences
from tests.support.ledgers import fixed_salt, seal_draft
from tests.support.periods import CLOSED_AT, DECEMBER, NOVEMBER, month_seals

SEALS = month_seals(NOVEMBER)
CLOSE = close_of(NOVEMBER, SEALS, "ada", CLOSED_AT)


def test_a_month_that_was_left_alone_agrees() -> None:
    assert close_differences(CLOSE, SEALS) == []
    later = chain_drafts(SEALS, [seal_draft(hour=DECEMBER.start)], CLOSED_AT, fixed_salt)
    assert close_differences(CLOSE, SEALS + later) == []


def test_a_seal_after_the_close_is_named() -> None:
    late = chain_drafts(
        SEALS,
        [seal_draft(hour=NOVEMBER.start + HOUR, revision=1, raw_clicks=9, billable_clicks=6)],
        CLOSED_AT,
        fixed_salt,
    )
    found = close_differences(CLOSE, SEALS + late)
    assert found[:3] == [
        "seal 721 of hour 2026-11-01T01:00:00Z came after the close",
        "5040 billable clicks closed, 5039 found",
        "720 as the last seal closed, 721 found",
    ]
    assert found[3].startswith(f"{CLOSE.root_digest} as root digest closed, ")
    assert len(found) == 4


@pytest.mark.parametrize("changes", [{"digest": "a" * 64}, {"raw_clicks": 11, "excluded_clicks": {"head": 4}}], ids=str)
def test_a_seal_that_was_changed_has_another_root_digest(changes: dict[str, object]) -> None:
    (found,) = close_differences(CLOSE, [*SEALS[:-1], replace(SEALS[-1], **changes)])
    assert "as root digest" in found


def test_hours_that_are_gone_are_counted() -> None:
    assert "720 hours closed, 719 found" in close_differences(CLOSE, SEALS[1:])
    assert "720 hours closed, 0 found" in close_differences(CLOSE, [])
