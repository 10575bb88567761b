"""What an operator sees of an installation whose broker is away."""

from __future__ import annotations

from services.metrics.routes_operation import LOG_AWAY
from services.tokens import Caller
from tests.services.metrics.page_server import Page


def test_the_state_says_what_is_known(page: Page) -> None:
    found = page.document(Caller("operator"), "/v1/status")
    assert (found["is_stream_running"], found["lag"], found["forecasts"]) == (False, None, [])
    assert found["next_seal"] == {"hour": "2026-11-02T10:00:00Z", "waits_for": [LOG_AWAY], "expected_at": None}
    assert found["final_until"] == "2026-11-02T10:00:00Z"
    assert {batch["query"] for batch in found["batches"]} == {"archive", "live"}
    ended = [batch["ended_at"] for batch in found["batches"]]
    assert ended == sorted(ended, reverse=True)
    assert found["freshness_seconds"]["worst"] >= found["freshness_seconds"]["p50"] > 0
