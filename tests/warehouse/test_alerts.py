"""Tables of alerts: what is written is read back, and a decision on an old version is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domain.alerts import delivery
from domain.errors import LedgerConflictError
from domain.settings import Settings
from tests.domain.test_alerts import AT, CAUSE, look
from tests.support.empty_tables import make_empty_tables
from warehouse.alerts import append_dead_letter, append_delivery, append_steps, read_alert_log, read_dead_letters


def test_steps_and_dead_letters_are_read_as_they_were_written(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    empty, (step,) = read_alert_log(settings), look([], CAUSE)
    append_steps(settings, empty, [step])
    failed = delivery(step, "failed", "status 500", AT)
    append_delivery(settings, failed)
    append_dead_letter(settings, step, {"a": 1}, failed)
    assert {one.step: one for one in read_alert_log(settings).steps} == {"opened": step, "failed": failed}
    (letter,) = read_dead_letters(settings)
    assert (letter.step, json.loads(letter.message), letter.why) == ("opened", {"a": 1}, "status 500")
    with pytest.raises(LedgerConflictError):
        append_steps(settings, empty, [step])
