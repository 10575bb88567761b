"""The log of requests, and the receipt of an origin."""

from __future__ import annotations

import pytest

from crawler.frontier.requests import log_request, receipt_of
from domain.errors import UsageError
from domain.politeness import SECOND_MICROS
from domain.receipts import RequestRow
from tests.support.frontiers import FrontierWorld

ORIGIN = "https://a.example"


def test_a_receipt_is_made_of_the_log(world: FrontierWorld) -> None:
    world.add(ORIGIN + "/", "https://b.example/")
    a, b = sorted(world.claim(most=2))
    for second, status in ((0, 200), (600, 429), (1_100, 503), (1_800, None)):
        at = (10_000 + second) * SECOND_MICROS
        log_request(world.frontier, a, RequestRow(at, at + SECOND_MICROS, status))
    log_request(world.frontier, b, RequestRow(10_000 * SECOND_MICROS, 20_000 * SECOND_MICROS, 200))
    made = receipt_of(world.frontier, ORIGIN, 10_500 * SECOND_MICROS, 13_600 * SECOND_MICROS)
    assert (made.request_count, made.smallest_gap_micros, made.most_in_flight_count) == (3, 500 * SECOND_MICROS, 1)
    assert (made.throttled_count, made.server_error_count, made.unanswered_count) == (1, 1, 1)
    assert (made.gap_micros, made.is_polite) == (600 * SECOND_MICROS, False)


@pytest.mark.parametrize(
    ("origin", "end", "said"), [("https://nobody.example", 9, "no origin"), (ORIGIN, 5, "an end after its start")]
)
def test_what_cannot_be_receipted_is_refused(world: FrontierWorld, origin: str, end: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        receipt_of(world.frontier, origin, 5, end)
