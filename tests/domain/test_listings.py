"""What a date in a sitemap or feed is worth: a hint, and no more."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import to_unix_micros
from domain.listings import FRESH_PRIORITY, priority_of

NOW = to_unix_micros(datetime(2026, 11, 30, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("dated", "is_fresh"),
    [
        ("2026-11-29", True),
        (" 2026-11-30T11:00:00+01:00 ", True),
        ("Sun, 29 Nov 2026 10:00:00 GMT", True),
        ("2026-11-01", False),
        ("2027-01-01", False),
        ("2026-11-29T10:00:00", False),
        ("yesterday", False),
        ("9" * 100, False),
        ("", False),
    ],
)
def test_what_is_fresh_comes_a_little_sooner(dated: str, is_fresh: bool) -> None:
    assert priority_of(dated, NOW) == (FRESH_PRIORITY if is_fresh else 0)


@given(st.text(max_size=70))
def test_any_text_is_some_hint(dated: str) -> None:
    assert priority_of(dated, NOW) in {0, FRESH_PRIORITY}
