"""Closing a month: under the lock of those who seal, once, for ever."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from domain.buckets import HOUR as ONE_HOUR
from domain.errors import UsageError, WriterBusyError
from domain.periods import CloseRefusedError, PeriodClosedError
from tests.support.counts_tables import CountsTables, counts_tables
from tests.support.ledgers import seal_draft
from tests.support.periods import BILLABLE, CLOSED_AT, DECEMBER, NOVEMBER, close_month, settle_month
from tests.support.sealed_world import SealedWorld, logged
from warehouse.closing import close_period, plan_close
from warehouse.hour_findings import read_findings
from warehouse.layout import tables_path
from warehouse.locks import SEAL_LOCK, writer_lock
from warehouse.periods import read_closes
from warehouse.proposal_dismissals import dismiss
from warehouse.seals import append_seals, read_seals

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "periods.md"


@pytest.fixture
def tables(tmp_path: Path) -> CountsTables:
    found = counts_tables(tmp_path)
    settle_month(found, NOVEMBER)
    return found


def test_a_plan_is_what_the_close_writes(tables: CountsTables) -> None:
    plan = plan_close(tables.settings, NOVEMBER, "ada", CLOSED_AT)
    assert read_closes(tables.settings) == []
    assert close_month(tables.settings) == plan.close
    assert read_closes(tables.settings) == [plan.close]


def test_what_was_sealed_during_the_recount_is_not_closed(tables: CountsTables) -> None:
    """Nobody has recounted it. The close that was recounted says so by its root digest."""
    recounted = plan_close(tables.settings, NOVEMBER, "ada", CLOSED_AT)
    append_seals(tables.settings, [seal_draft(hour=NOVEMBER.start, revision=1)], 720, CLOSED_AT)
    tables.publish(tables.write_final([]))
    with pytest.raises(CloseRefusedError, match="hours of it were sealed anew while it was recounted"):
        close_period(tables.settings, NOVEMBER, "ada", lambda: CLOSED_AT, recounted)
    assert read_closes(tables.settings) == []
    fresh = plan_close(tables.settings, NOVEMBER, "ada", CLOSED_AT)
    assert close_period(tables.settings, NOVEMBER, "ada", lambda: CLOSED_AT, fresh) == fresh.required()


def test_a_refused_close_writes_nothing(tables: CountsTables) -> None:
    with pytest.raises(CloseRefusedError, match="period 2026-12 cannot be closed") as refusal:
        close_month(tables.settings, DECEMBER)
    assert refusal.value.reasons == (
        "it is not over before 2027-01-01T00:00:00Z",
        "hours 2026-12-01T00:00:00Z to 2027-01-01T00:00:00Z are not sealed",
        "period 2026-11 is open, and hours of it are sealed: close it first",
    )
    assert read_closes(tables.settings) == []


def test_a_month_is_closed_once(tables: CountsTables) -> None:
    close_month(tables.settings)
    with pytest.raises(CloseRefusedError, match="it is closed already"):
        close_month(tables.settings)
    assert len(read_closes(tables.settings)) == 1


def test_a_month_with_a_pending_proposal_is_not_closed(tables: CountsTables) -> None:
    """A click came after the cut of its hour: it is revised or dismissed first; one of another month matters not."""
    world = SealedWorld(tables.settings, [])
    hour = NOVEMBER.start + ONE_HOUR
    world.archive([logged(12, hour), logged(13, hour + ONE_HOUR), logged(14, DECEMBER.start), logged(11, hour)])
    with pytest.raises(CloseRefusedError) as refusal:
        close_month(tables.settings)
    assert refusal.value.reasons == (
        "hours 2026-11-01T01:00:00Z to 2026-11-01T03:00:00Z are proposed for a revision: "
        "apply or dismiss it by `tallystick proposals`",
    )
    for one in read_findings(tables.settings):
        dismiss(tables.settings, one, reason="a load test", actor="ann", at=CLOSED_AT)
    assert close_month(tables.settings).hour_count == 720


def test_nobody_closes_while_another_seals(tables: CountsTables) -> None:
    with writer_lock(tables.settings, SEAL_LOCK), pytest.raises(WriterBusyError):
        close_month(tables.settings)
    assert read_closes(tables.settings) == []


def test_a_close_needs_an_actor(tables: CountsTables) -> None:
    with pytest.raises(UsageError, match="no actor"):
        close_period(tables.settings, NOVEMBER, " ", lambda: CLOSED_AT)


def test_no_route_leads_a_seal_into_a_closed_month(tables: CountsTables) -> None:
    close_month(tables.settings)
    seals = read_seals(tables.settings)
    draft = seal_draft(hour=NOVEMBER.start, revision=1)
    with pytest.raises(PeriodClosedError, match="period 2026-11 is closed"):
        append_seals(tables.settings, [seal_draft(hour=DECEMBER.start), draft], len(seals), CLOSED_AT)
    assert read_seals(tables.settings) == seals
    append_seals(tables.settings, [seal_draft(hour=DECEMBER.start)], len(seals), CLOSED_AT)


def test_a_stranger_gets_the_root_digest_by_the_script_in_the_document(tables: CountsTables) -> None:
    close = close_month(tables.settings)
    (script,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    script = script.replace('".tallystick/tables"', repr(str(tables_path(tables.settings))))
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout == f"720 hours, {720 * BILLABLE} billable, {close.root_digest}\n"
