"""Which user agents say that they are programs: crawlers, scanners, monitors.

Belongs here: the look into a maintained list. It flags an event and changes nothing else: what a stranger says of
himself is no verdict.
"""

from __future__ import annotations

from functools import lru_cache

from crawleruseragents import is_crawler

LOOKED_AT_CHARACTERS = 512
"""Programs name themselves early; the list's patterns take milliseconds over a long hostile text."""
_REMEMBERED = 16_384


@lru_cache(maxsize=_REMEMBERED)
def is_bot(user_agent: str) -> bool:
    """Whether the list knows the text. Some 100 us for a new one, nothing for one seen lately."""
    return bool(is_crawler(user_agent[:LOOKED_AT_CHARACTERS]))
