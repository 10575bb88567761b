"""The page for Prometheus: operators see it, and what is not known is not there."""

from __future__ import annotations

import httpx
import pytest

from domain.stream_batches import Forecast, freshness_of
from services.exposition import exposition
from services.metrics.stream_gauges import GAUGES_PATH, samples
from services.tokens import Caller
from tests.services.metrics.conftest import Api
from tests.support.batches import AT, batch
from warehouse.stream_state import LogLag, StreamState

BATCHES = [batch("archive", 50), batch(ended_seconds_ago=40), batch()]
STATE = StreamState(
    BATCHES, freshness_of(BATCHES), LogLag({"live": {0: 5, 1: 0}}, 2), [Forecast("live", 5, 1.0, 0.0, AT)], ["!"]
)


def get(api: Api, caller: Caller | None) -> httpx.Response:
    headers = {} if caller is None else {"Authorization": f"Bearer {api.token(caller)}"}
    return api.http.get(GAUGES_PATH, headers=headers)


def test_an_operator_sees_it(api: Api) -> None:
    response = get(api, Caller("operator"))
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert "tallystick_stream_is_running 0\n" in response.text
    assert "tallystick_log_answers 0\n" in response.text


@pytest.mark.parametrize(
    ("caller", "status"),
    [
        (None, 401),
        (Caller("advertiser", 10), 403),
        (Caller("finance"), 403),
        (Caller("auditor"), 403),
        (Caller("verdicts", person="lab"), 403),
    ],
)
def test_nobody_else_does(api: Api, caller: Caller | None, status: int) -> None:
    """Law 13: lag and volume of all advertisers are nobody's but the operator's."""
    response = get(api, caller)
    assert response.status_code == status
    assert "tallystick_" not in response.text


def test_it_is_described(api: Api) -> None:
    assert GAUGES_PATH in api.http.get("/openapi.json").json()["paths"]


EXPECTED = """\
tallystick_stream_is_running 1
tallystick_stream_lag_events{query="live",partition="0"} 5
tallystick_stream_overdue_events 2
tallystick_stream_level_timestamp_seconds{query="live"} 1777809600.0
tallystick_stream_freshness_seconds{bound="best"} 4.0
tallystick_stream_freshness_seconds{bound="p99"} 8.0
tallystick_stream_alerts 1
tallystick_stream_recent_records{query="archive",outcome="in"} 100
tallystick_stream_recent_records{query="live",outcome="in"} 200
tallystick_stream_recent_records{query="live",outcome="duplicate"} 20
tallystick_stream_recent_records{query="live",outcome="counted"} 140
tallystick_stream_last_batch_timestamp_seconds{query="live"} 1777809570.0
tallystick_stream_last_batch_seconds{query="live"} 4.0
tallystick_stream_last_batch_stage_seconds{query="live",stage="merge"} 2.5
tallystick_stream_state_rows{query="live"} 80
tallystick_stream_state_bytes{query="live"} 4096
"""


def test_each_gauge_has_its_value() -> None:
    text = exposition(samples(STATE, is_running=True, at=AT))
    assert [line for line in EXPECTED.splitlines() if line not in text.splitlines()] == []
    assert 'query="archive",outcome="duplicate"' not in text, "the archive counts none"


def test_what_is_not_known_is_left_out() -> None:
    text = exposition(samples(StreamState([], None, None, [], []), is_running=False, at=AT))
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        "tallystick_stream_is_running 0",
        "tallystick_log_answers 0",
        "tallystick_stream_alerts 0",
    ]
