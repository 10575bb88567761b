"""How many findings of a kind are named, and how the rest are told. Shared by every comparison of this room."""

from __future__ import annotations

NAMED_AT_MOST = 10
"""Rows or keys; the first one is enough to look for the cause."""


def named(words: list[str], total_count: int) -> list[str]:
    """The named ones, and how many more there are."""
    unnamed_count = total_count - len(words)
    return [*words, f"and {unnamed_count} more like these"] if unnamed_count > 0 else words
