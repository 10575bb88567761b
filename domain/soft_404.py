"""Pages that say "not found" with a status that says "found": by their likeness to what a made-up path is answered.

Belongs here: the 64-bit SimHash of a text (Charikar 2002, over word pairs) and when two texts are one page. What varies
with the path is left out first: words of the path, and words with digits or slashes. Asking for the made-up path is
``crawler/probing.py``.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import pairwise
from urllib.parse import unquote, urlsplit

HASH_BITS = 64
MOST_WORDS = 2_000
"""Of a text; a page that says that nothing is there says no more."""
FEWEST_WORDS = 5
"""Texts with less have too little to be told apart by."""
LARGEST_DISTANCE_BITS = 3
"""Between texts of one page. A page that is cut wrongly is worse than one that is not, and pages of one site share much
of their text.
"""
HONEST = "honest"
"""What is kept of an origin that says 404 as it should; of any other the SimHash of what it says."""

_WORD = re.compile(r"\W+")
_VARYING = re.compile(r"[0-9/]")


def simhash(text: str, url: str) -> int | None:
    """A hash that differs in few bits where two pages differ in few words; None of one that says too little."""
    of_path = {word for word in _WORD.split(unquote(urlsplit(url).path).lower()) if word}
    said = (word for word in text.lower().split(None, MOST_WORDS)[:MOST_WORDS] if not _VARYING.search(word))
    words = [word for word in said if of_path.isdisjoint(_WORD.split(word))]
    if len(words) < FEWEST_WORDS:
        return None
    weights = [0] * HASH_BITS
    for pair in pairwise(words):
        hashed = int.from_bytes(blake2b(" ".join(pair).encode("utf-8", "replace"), digest_size=HASH_BITS // 8).digest())
        for bit in range(HASH_BITS):
            weights[bit] += 1 if hashed >> bit & 1 else -1
    return sum(1 << bit for bit, weight in enumerate(weights) if weight > 0)


def missing_page_of(text: str | None, url: str) -> str:
    """What is kept of an origin by its answer to a made-up path: ``text`` is None where that was an honest one."""
    hashed = None if text is None else simhash(text, url)
    return HONEST if hashed is None else f"{hashed:016x}"


def is_missing_page(missing_page: str | None, text: str, url: str) -> bool:
    """Whether a page says what its origin says for a path that does not exist."""
    hashed = None if missing_page in {None, HONEST} else simhash(text, url)
    return hashed is not None and (hashed ^ int(missing_page or "", 16)).bit_count() <= LARGEST_DISTANCE_BITS
