"""What a caller can mend is told; what goes wrong inside is logged, and told to nobody outside."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from starlette.requests import Request

from domain.errors import IntegrityError, LedgerConflictError, TallystickError, UsageError
from services.metrics.access import ForbiddenError
from services.metrics.refusals import BodyTooLargeError, MediaTypeError, OverloadedError, refuse
from services.tokens import TokenError
from warehouse.counts_sql import AnswerTooLargeError
from warehouse.layout import TableMissingError
from warehouse.verdicts import KnownFileError

FACTS = ("found in home/tables", "something else", "do this")
REQUEST = Request({"type": "http", "method": "GET", "path": "/", "headers": []})

TOLD: dict[str, tuple[TallystickError, int, str]] = {
    "usage": (UsageError(*FACTS), 400, "bad_request"),
    "too large": (AnswerTooLargeError(*FACTS), 400, "bad_request"),
    "token": (TokenError(*FACTS), 401, "unauthorized"),
    "forbidden": (ForbiddenError(*FACTS), 403, "forbidden"),
    "overloaded": (OverloadedError(*FACTS), 503, "overloaded"),
    "known verdicts": (KnownFileError(*FACTS), 409, "known"),
    "a large body": (BodyTooLargeError(*FACTS), 413, "too_large"),
    "another type": (MediaTypeError(*FACTS), 415, "media_type"),
    "a lost race": (LedgerConflictError(*FACTS), 503, "conflict"),
}
HIDDEN: dict[str, tuple[Exception, int, str]] = {
    "no tables": (TableMissingError(*FACTS), 503, "unavailable"),
    "integrity": (IntegrityError(*FACTS), 500, "internal"),
    "a defect": (KeyError("home/tables"), 500, "internal"),
}


def _refused(error: Exception) -> tuple[int, dict[str, Any]]:
    response = asyncio.run(refuse(REQUEST, error))
    return response.status_code, json.loads(bytes(response.body))


@pytest.mark.parametrize(("error", "status", "name"), TOLD.values(), ids=TOLD)
def test_what_a_caller_can_mend_is_told(error: TallystickError, status: int, name: str) -> None:
    body = {"error": name, "found": FACTS[0], "expected": FACTS[1], "remedy": FACTS[2]}
    assert _refused(error) == (status, body)


@pytest.mark.parametrize(("error", "status", "name"), HIDDEN.values(), ids=HIDDEN)
def test_the_inside_is_logged_and_not_told(
    error: Exception, status: int, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "tallystick.metrics"):
        found_status, body = _refused(error)
    assert (found_status, body["error"]) == (status, name)
    assert "home/tables" not in json.dumps(body)
    assert "home/tables" in caplog.text
