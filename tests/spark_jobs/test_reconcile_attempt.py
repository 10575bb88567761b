"""Attempt ids."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from domain.identity import minted_at
from spark_jobs.reconcile_attempt import new_attempt_id

AT = datetime(2026, 5, 4, 10, 0, 0, 123_000, tzinfo=UTC)


def test_an_attempt_id_is_a_uuid7_of_its_time() -> None:
    made = new_attempt_id(AT)
    assert (UUID(made).version, UUID(made).variant) == (7, "specified in RFC 4122")
    assert minted_at(made) == AT
    assert made < new_attempt_id(AT + timedelta(milliseconds=1))


def test_no_two_attempts_share_an_id() -> None:
    assert len({new_attempt_id(AT) for _ in range(1_000)}) == 1_000
