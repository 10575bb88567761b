"""Dismissals: by hour and findings, once, with a reason and a name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.errors import UsageError
from domain.settings import Settings
from tests.domain.test_proposals import BOTH, LATE
from tests.support.ledgers import WRITTEN_AT
from warehouse.proposal_dismissals import dismiss, dismissed_keys, read_dismissals


def test_a_dismissal_says_what_was_found(settings: Settings) -> None:
    fresh = dismiss(settings, BOTH, reason="a load test", actor="ann", at=WRITTEN_AT)
    assert read_dismissals(settings) == [fresh]
    assert (fresh.seal_number, fresh.late_clicks, fresh.verdict_count) == (4, 2, 1)
    assert dismissed_keys(settings) == {(BOTH.hour, BOTH.digest)}


def test_the_same_findings_are_dismissed_once(settings: Settings) -> None:
    dismiss(settings, LATE, reason="a load test", actor="ann", at=WRITTEN_AT)
    with pytest.raises(UsageError, match="were dismissed before"):
        dismiss(settings, replace(LATE, seal_number=5), reason="again", actor="bob", at=WRITTEN_AT)
    dismiss(settings, BOTH, reason="no fraud", actor="bob", at=WRITTEN_AT)
    assert len(read_dismissals(settings)) == 2


@pytest.mark.parametrize(("reason", "actor"), [("", "ann"), ("a load test", " ")], ids=["no reason", "nobody"])
def test_a_dismissal_needs_a_reason_and_a_name(settings: Settings, reason: str, actor: str) -> None:
    with pytest.raises(UsageError):
        dismiss(settings, LATE, reason=reason, actor=actor, at=WRITTEN_AT)
    assert read_dismissals(settings) == []
