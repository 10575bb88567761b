"""Refusals: each reason has a status and one form of answer; the tally loses and doubles nothing."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import get_args

import orjson
import pytest

from domain.links import LinkFaultReason
from domain.signing import SignatureFault
from services.click.refusals import STATUS, Refusal, RefusalReason, RefusalTally
from tests.support.click_parts import AT

MINUTE = timedelta(minutes=1)
THIS = AT.replace(second=0, microsecond=0)


def test_every_reason_has_a_status_that_is_an_error() -> None:
    assert {*get_args(LinkFaultReason), *get_args(SignatureFault)} < STATUS.keys()
    assert all(status >= HTTPStatus.BAD_REQUEST for status in STATUS.values())


@pytest.mark.parametrize("reason", STATUS)
def test_answers_have_one_form(reason: RefusalReason) -> None:
    refusal = Refusal(reason, "something right", "imp")
    headers = dict(refusal.headers)
    assert orjson.loads(refusal.body) == {"error": reason, "parameter": "imp", "expected": "something right"}
    assert headers[b"content-length"] == str(len(refusal.body)).encode()
    assert headers[b"cache-control"] == b"no-store"
    assert (b"retry-after" in headers) == (refusal.status == HTTPStatus.SERVICE_UNAVAILABLE)


def test_counts_are_by_minute_and_reason() -> None:
    tally = RefusalTally()
    tally.count("bad_signature", AT + MINUTE)
    for _ in range(2):
        tally.count("bad_signature", AT)
    tally.count("unknown_ad", AT)
    assert tally.unreported() == [
        (THIS, "bad_signature", 2),
        (THIS, "unknown_ad", 1),
        (THIS + MINUTE, "bad_signature", 1),
    ]


def test_a_running_minute_waits() -> None:
    tally = RefusalTally()
    tally.count("unknown_ad", AT)
    assert tally.unreported(before=THIS + MINUTE - timedelta(microseconds=1)) == []
    assert tally.unreported(before=THIS + MINUTE) == [(THIS, "unknown_ad", 1)]


def test_what_is_reported_leaves_and_what_came_since_stays() -> None:
    tally = RefusalTally()
    tally.count("unknown_ad", AT)
    reported = tally.unreported()
    tally.count("unknown_ad", AT)
    for minute, reason, count in reported:
        tally.reported(minute, reason, count)
    assert tally.unreported() == [(THIS, "unknown_ad", 1)]
    tally.reported(THIS, "unknown_ad", 1)
    assert tally.unreported() == []
