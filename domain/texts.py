"""Words that a person types and that others read later, in tables and spreadsheets; and numbers in words.

Belongs here: when such a line is refused, and how a count is written.
"""

from __future__ import annotations

from domain.errors import UsageError

MAX_CHARACTERS = 500
FORMULA_STARTS = ("=", "+", "-", "@")
"""What a spreadsheet would take for a formula."""


def hours_text(count: int) -> str:
    """So many hours, in words."""
    return "1 hour" if count == 1 else f"{count:,} hours"


def check_actor(actor: str) -> None:
    """``UsageError`` unless it is one line that names somebody."""
    if not actor.strip():
        raise UsageError("no actor", "the name of who does it, which is kept", "give --actor")
    check_line("actor", actor)


def check_line(name: str, text: str) -> None:
    """``UsageError`` unless it is one printable line that says something, not too long, and no formula."""
    is_text = text.isprintable() and bool(text.strip())
    if not is_text or len(text) > MAX_CHARACTERS or text.startswith(FORMULA_STARTS):
        raise UsageError(
            f"{name} {text!r}",
            f"one line of up to {MAX_CHARACTERS} characters that does not start like a formula",
            "correct it",
        )
