"""Signs of endless spaces in URLs, and the counts that bound them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import to_unix_micros
from domain.errors import UsageError
from domain.traps import (
    NO_LIMIT,
    TRAP_REASONS,
    Limits,
    Tally,
    check_trap_reason,
    counted_of,
    limit_from,
    over_limit,
    repeats,
    sign_of,
    year_of,
)

NOW = to_unix_micros(datetime(2026, 11, 30, tzinfo=UTC))
A = "https://a.example/"
SEGMENTS = st.lists(st.sampled_from("abc"), max_size=12)


@pytest.mark.parametrize(
    ("path", "depth", "sign"),
    [
        ("a/b/c", 50, None),
        ("a", 51, "trap_depth"),
        ("x" * 1_982, 0, None),
        ("x" * 1_983, 0, "trap_length"),
        ("a/a/", 0, None),
        ("a/a/a/", 0, "trap_repetition"),
        ("x/a/b/a/b/a/b", 0, "trap_repetition"),
        ("a/b/a/c/a/d", 0, None),
        ("2026/11/30/news", 0, None),
        ("2027/12", 0, None),
        ("2028/01", 0, "trap_calendar"),
        ("cal?date=1969-12-31", 0, "trap_calendar"),
        ("cal?year=2150&month=7", 0, "trap_calendar"),
        ("part/3000-12", 0, None),
        ("item/120281234", 0, None),
        ("2028", 0, None),
    ],
)
def test_signs_of_one_url(path: str, depth: int, sign: str | None) -> None:
    """C16: loops of links, calendars, lengths, depths; with what lies just within."""
    assert sign_of(A + path, depth, NOW, limit_from(Limits(), {})) == sign


def test_what_is_allowed_is_no_sign() -> None:
    allowed = limit_from(Limits(), {"trap_calendar": NO_LIMIT, "trap_repetition": 3})
    assert sign_of(A + "2099/01", 0, NOW, allowed) is None
    assert sign_of(A + "a/a/a/", 0, NOW, allowed) is None
    assert sign_of(A + "a/a/a/a/", 0, NOW, allowed) == "trap_repetition"


@given(SEGMENTS, st.lists(st.sampled_from("xyz"), min_size=1, max_size=4), st.integers(1, 6))
def test_what_repeats_is_counted(before: list[str], unit: list[str], times: int) -> None:
    """By brute force: the most copies of one block of up to four segments that stand in a row."""
    segments = [*before, *(unit * times)]
    most = 1
    for period in range(1, 5):
        for start in range(len(segments)):
            block, copies = segments[start : start + period], 0
            while block and segments[start + copies * period : start + (copies + 1) * period] == block:
                copies += 1
            if len(block) == period:
                most = max(most, copies)
    assert repeats(segments) == most >= times


@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    url = A + text.replace("\n", "")
    assert sign_of(url, 0, NOW, limit_from(Limits(), {})) in {None, *TRAP_REASONS}
    assert [one.reason for one in counted_of(url)][:2] == ["trap_origin", "trap_prefix"]
    assert year_of(url) is None or 1_700 <= (year_of(url) or 0) < 2_300


def _taken_in(urls: list[str], limits: Limits) -> tuple[list[str], Counter[str]]:
    """The whole rule by a dictionary: what is taken in, and what cuts the rest."""
    counts: Counter[tuple[str, bytes]] = Counter()
    values: set[tuple[bytes, bytes | None]] = set()
    taken, cut = [], Counter[str]()
    for url in urls:
        tallies = [
            Tally(one, counts[one.reason, one.key], one.value is not None and (one.key, one.value) in values)
            for one in counted_of(url)
        ]
        reason = over_limit(tallies, limit_from(limits, {}))
        if reason is not None:
            cut[reason] += 1
            continue
        taken.append(url)
        for tally in tallies:
            if not tally.is_known:
                counts[tally.counted.reason, tally.counted.key] += 1
                values.add((tally.counted.key, tally.counted.value))
    return taken, cut


def test_facets_are_cut_by_combination() -> None:
    """C16: three facets with ten values each make a thousand pages of ten values a key."""
    facets = [f"{A}shop?colour={c}&size={s}&sort={o}" for c, s, o in product(range(10), repeat=3)]
    taken, cut = _taken_in(facets, Limits(facet_urls=100))
    assert (len(taken), cut) == (100, {"trap_facets": 900})


def test_values_of_a_query_key_are_counted_once_each() -> None:
    """C16: the value that is known already costs nothing, whatever stands beside it."""
    urls = [f"{A}list?page={number % 7}&view={number}" for number in range(20)]
    taken, cut = _taken_in(urls, Limits(query_values=9))
    assert (len(taken), cut) == (9, {"trap_query_values": 11})
    taken, cut = _taken_in([f"{A}list?page={number % 7}" for number in range(20)], Limits(query_values=7))
    assert (len(taken), cut) == (20, {})


def test_prefixes_and_origins_are_bounded() -> None:
    urls = [f"{A}a/b/{number}" for number in range(5)] + [f"{A}a/c/{number}" for number in range(5)]
    assert _taken_in(urls, Limits(prefix_urls=3))[1] == {"trap_prefix": 4}
    assert _taken_in(urls, Limits(origin_urls=3))[1] == {"trap_origin": 7}


def test_only_traps_can_be_allowed() -> None:
    check_trap_reason("trap_depth")
    with pytest.raises(UsageError, match="one of trap_depth"):
        check_trap_reason("gravity")
