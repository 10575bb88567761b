"""Drafts for the ledgers, and threads and processes that race for the head of one."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from domain.errors import LedgerConflictError
from domain.publications import PublicationDraft
from domain.seals import SALT_BYTES, SealDraft
from domain.settings import Settings
from warehouse.publications import append_publication
from warehouse.seals import append_seals

FIRST_HOUR = datetime(2026, 5, 4, 10, tzinfo=UTC)
WRITTEN_AT = datetime(2026, 5, 4, 20, 0, 0, 123456, tzinfo=UTC)
WAIT_SECONDS = 240
WON, LOST = "won", "lost"


def seal_draft(number: int = 0, /, **changes: Any) -> SealDraft:
    """A seal of the first hour or so many after it: 10 raw = 7 billable + 2 duplicates + 1 HEAD.

    A revision has a reason and a case.
    """
    said: dict[str, Any] = {
        "hour": FIRST_HOUR + timedelta(hours=number),
        "revision": 0,
        "attempt": f"attempt-{number}",
        "cut": {"1:0": 12, "1:10": 3, "1:2": 5},
        "raw_clicks": 10,
        "billable_clicks": 7,
        "excluded_clicks": {"head": 1, "duplicate": 2},
        "digest": "0" * 63 + "1",
        "verdict_set": 0,
        "ads_version": 3,
        "rule_version": 1,
        "horizon_days": 7,
        "code_version": "0.1.0",
        "actor": "scheduler",
    }
    said |= changes
    if said["revision"]:
        said = {"reason": "found later", "case_id": "C-1"} | said
    return SealDraft(**said)


def fixed_salt() -> str:
    """The same each time, so that hashes are."""
    return "5a" * SALT_BYTES


def publication_draft(seal_number: int = 1, **changes: Any) -> PublicationDraft:
    """A publication of the first so many seals."""
    said: dict[str, Any] = {
        "seal_number": seal_number,
        "minute_version": 4,
        "hour_version": 5,
        "day_version": 6,
        "final_until": FIRST_HOUR + timedelta(hours=seal_number),
    }
    return PublicationDraft(**said | changes)


def _append_seal(settings: Settings, head: int, racer: int) -> None:
    append_seals(settings, [seal_draft(head, attempt=f"racer {racer}")], head, WRITTEN_AT)


def _append_publication(settings: Settings, head: int, racer: int) -> None:
    append_publication(settings, publication_draft(head + 1, minute_version=racer), head, WRITTEN_AT)


APPENDS: dict[str, Callable[[Settings, int, int], None]] = {
    "seals": _append_seal,
    "publications": _append_publication,
}


def race(
    settings: Settings, ledger: str, by: Literal["threads", "processes"], racers: int, rounds: int
) -> list[Counter[str]]:
    """Lets racers append behind the same head at the same instant, round after round; the outcomes of each round."""
    context: Any = threading if by == "threads" else multiprocessing.get_context("spawn")
    results: Any = queue.Queue() if by == "threads" else context.Queue()
    barrier = context.Barrier(racers)
    runner = context.Thread if by == "threads" else context.Process
    started = [
        runner(target=_run_racer, args=(settings.home, ledger, racer, rounds, (barrier, results)))
        for racer in range(racers)
    ]
    for racer in started:
        racer.start()
    outcomes: list[Counter[str]] = [Counter() for _ in range(rounds)]
    for _ in range(racers * rounds):
        head, outcome = results.get(timeout=WAIT_SECONDS)
        outcomes[head][outcome] += 1
    for racer in started:
        racer.join(WAIT_SECONDS)
    return outcomes


def _run_racer(home: Path, ledger: str, racer: int, rounds: int, meeting: tuple[Any, Any]) -> None:
    settings = Settings(home=home)
    barrier, results = meeting
    for head in range(rounds):
        barrier.wait(WAIT_SECONDS)
        try:
            APPENDS[ledger](settings, head, racer)
            results.put((head, WON))
        except LedgerConflictError:
            results.put((head, LOST))
        except Exception as error:  # noqa: BLE001 - another error is an outcome that the test then shows
            results.put((head, repr(error)))
