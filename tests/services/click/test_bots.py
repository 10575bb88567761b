"""Programs that name themselves, by a maintained list."""

from __future__ import annotations

import pytest

from services.click.bots import is_bot


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", True),
        ("curl/8.0", True),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1",
            False,
        ),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:125.0) Gecko/20100101 Firefox/125.0", False),
        ("", False),
        ("x" * 4_096 + "Googlebot/2.1", False),
    ],
)
def test_what_the_list_knows(user_agent: str, expected: bool) -> None:
    assert is_bot(user_agent) is expected
