"""The arithmetic of politeness: gaps and caps under any interleaving, back-off, Retry-After, Crawl-delay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.politeness import (
    FIRST_BACKOFF_MICROS,
    JITTER_RATIO,
    LONGEST_BACKOFF_MICROS,
    SECOND_MICROS,
    START_SLACK_MICROS,
    Bucket,
    backoff_micros,
    crawl_delay_micros,
    gap_with,
    is_parking,
    jittered,
    retry_after_micros,
    retry_micros,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
STEPS = st.lists(st.tuples(st.integers(0, 11), st.sampled_from([0, 0, 0, 1, 5, 9, 11])), min_size=20, max_size=80)
"""Which of the things that can happen does, and how many tenths of a gap later."""
WORKERS = 4


def _possible(bucket: Bucket, now: int, held: dict[int, dict[str, int]]) -> list[tuple[str, int]]:
    """What may happen next: a claim, and for each lease its permission, its request, its end."""
    found: list[tuple[str, int]] = []
    for worker in range(WORKERS):
        lease = held.get(worker)
        if lease is None:
            found += [("claim", worker)] if bucket.is_claimable(now) else []
        elif not lease:
            found += [("start", worker)] if bucket.wait_micros(now) == 0 else []
            found.append(("finish", worker))
        else:
            found.append(("request" if "requested" not in lease else "finish", worker))
    return found


@given(STEPS, st.integers(SECOND_MICROS, 3 * SECOND_MICROS), st.integers(1, 3), st.integers(-9, 10**8))
def test_no_request_comes_too_soon_under_any_interleaving(
    steps: list[tuple[int, int]], gap: int, cap: int, lie: int
) -> None:
    """Four workers; each claims, is permitted, starts its request any time later, and reports how long it took.

    Permissions are a gap apart. With one in flight, so are requests, however long a worker dawdles before its own.
    With more, nonsense about how long a request took gets a worker no more than the gap from its permission.
    """
    bucket, now = Bucket(gap, cap), 0
    held: dict[int, dict[str, int]] = {}
    permitted: list[int] = []
    requested: list[int] = []
    for choice, tenths in steps:
        now += tenths * gap // 10
        possible = _possible(bucket, now, held)
        if not possible:
            continue
        step, worker = possible[choice % len(possible)]
        match step:
            case "claim":
                bucket, held[worker] = bucket.claimed(now), {}
            case "start":
                bucket, held[worker]["permitted"] = bucket.started(now), now
                permitted.append(now)
            case "request":
                held[worker]["requested"] = now
                requested.append(now)
            case _:
                lease = held.pop(worker)
                took = now - lease.get("requested", now) + (lie if cap > 1 else 0)
                bucket = bucket.finished(now, lease.get("permitted"), took)
        assert bucket.in_flight_count == len(held) <= cap
    assert all(later - sooner >= gap for sooner, later in pairwise(permitted))
    if cap == 1:
        assert all(later - sooner >= gap for sooner, later in pairwise(requested))


def test_a_claim_and_a_start_each_move_the_clock() -> None:
    bucket = Bucket(SECOND_MICROS, 2).claimed(100)
    assert (bucket.in_flight_count, bucket.claimable_at) == (1, 100 + SECOND_MICROS + START_SLACK_MICROS)
    assert bucket.started(400_000).claimable_at == 400_000 + SECOND_MICROS + START_SLACK_MICROS
    assert Bucket(0, 1).claimed(100).freed().is_claimable(100)


def test_doubling_ends() -> None:
    assert [backoff_micros(count) // FIRST_BACKOFF_MICROS for count in (1, 2, 3, 9)] == [1, 2, 4, 256]
    assert backoff_micros(10) == backoff_micros(10_000) == LONGEST_BACKOFF_MICROS


@given(micros=st.integers(0, 10**12), chance=st.floats(0, 1, exclude_max=True))
def test_jitter_only_adds(micros: int, chance: float) -> None:
    assert micros <= jittered(micros, chance) <= micros * (1 + JITTER_RATIO)


def test_blocked_origins_do_not_return_together() -> None:
    """C3: a hundred origins, blocked for an hour in one instant, come back in a hundred instants."""
    hour = 3_600 * SECOND_MICROS
    back = {Bucket(SECOND_MICROS, 1).throttled(0, hour, number / 100).claimable_at for number in range(100)}
    assert len(back) == 100
    assert min(back) >= hour
    assert max(back) - min(back) > hour * JITTER_RATIO * 0.9


def test_an_origin_rests_at_least_as_long_as_it_asks() -> None:
    """C1, the arithmetic: the longer of Retry-After and back-off, clamped; back-off doubles from answer to answer."""
    bucket = Bucket(SECOND_MICROS, 1)
    assert bucket.throttled(7, 90 * SECOND_MICROS, 0).claimable_at == 7 + 90 * SECOND_MICROS
    assert bucket.throttled(7, 1, 0).throttled(7, None, 0).claimable_at == 7 + 2 * FIRST_BACKOFF_MICROS
    assert bucket.throttled(7, 10**15, 0).startable_at == 7 + LONGEST_BACKOFF_MICROS
    assert bucket.throttled(7, None, 0).calmed().failure_count == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("9" * 40, 21_600),
        ("Mon, 30 Nov 2026 12:05:00 GMT", 300),
        ("Mon, 30 Nov 2026 13:05:00 +0100", 300),
        ("Mon, 30 Nov 2026 12:05:00", 300),
        ("Sun, 29 Nov 2026 12:05:00 GMT", 0),
        ("Mon, 30 Nov 2099 12:05:00 GMT", 21_600),
        ("soon", None),
        ("-5", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_leniently_and_clamped(text: str | None, seconds: int | None) -> None:
    expected = None if seconds is None else seconds * SECOND_MICROS
    assert retry_after_micros(text, NOON.astimezone(UTC)) == expected
    assert retry_after_micros(text, NOON + timedelta(0)) == expected


@given(st.text(max_size=40))
def test_no_header_breaks_it(text: str) -> None:
    asked = retry_after_micros(text, NOON)
    assert asked is None or 0 <= asked <= LONGEST_BACKOFF_MICROS


@pytest.mark.parametrize(
    ("seconds", "micros"),
    [(None, None), (-1.0, None), (float("nan"), None), (0.0, 0), (0.1000001, 100_001), (600.0, 600_000_000)],
)
def test_crawl_delay_is_rounded_up(seconds: float | None, micros: int | None) -> None:
    assert crawl_delay_micros(seconds) == micros


def test_the_larger_delay_wins_and_a_long_one_parks() -> None:
    """C2, the arithmetic."""
    assert gap_with(5, None) == gap_with(5, 3) == 5
    assert gap_with(5, 600) == 600
    assert is_parking(crawl_delay_micros(600.0))
    assert is_parking(crawl_delay_micros(float("inf")))
    assert not is_parking(crawl_delay_micros(300.0))
    assert not is_parking(None)


def test_a_url_waits_longer_each_time() -> None:
    waits = [retry_micros(count, 0) // SECOND_MICROS for count in (1, 2, 3, 4, 20)]
    assert waits == [300, 600, 1_200, 2_400, 86_400]
