"""A line that people type: what is refused."""

from __future__ import annotations

import pytest

from domain.errors import UsageError
from domain.texts import MAX_CHARACTERS, check_actor, check_line, hours_text


@pytest.mark.parametrize("text", ["", " ", "a\nb", "\x1b[1m", "=1+1", "+1", "-1", "@x", "x" * (MAX_CHARACTERS + 1)])
def test_no_line(text: str) -> None:
    with pytest.raises(UsageError, match=r"^claim .* expected one line of up to 500 characters"):
        check_line("claim", text)


@pytest.mark.parametrize(("actor", "found"), [(" ", "no actor"), ("a\nb", "actor "), ("=ada", "actor ")])
def test_nobody(actor: str, found: str) -> None:
    with pytest.raises(UsageError, match=f"^{found}"):
        check_actor(actor)


@pytest.mark.parametrize("text", ["80 and not 79", "x" * MAX_CHARACTERS, "zu viel = zu teuer"])
def test_a_line(text: str) -> None:
    check_line("claim", text)


def test_hours_in_words() -> None:
    assert [hours_text(count) for count in (0, 1, 2, 8760)] == ["0 hours", "1 hour", "2 hours", "8,760 hours"]
