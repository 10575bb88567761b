"""SimHash of a text: 64 bits that differ in few places where texts differ in few words. Pure.

Belongs here: from text to bits. Which texts are called near duplicates, and by which threshold, is decided over a batch
by ``spark_jobs/near_duplicates.py``.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

SHINGLE_WORDS = 4
SIMHASH_BITS = 64
_HASH_BYTES = SIMHASH_BITS // 8
_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Of the finaliser of splitmix64."""
_ORDER = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that no bit of a word is lost and that words in another order are another shingle."""


def simhash(text: str) -> int | None:
    """The 64 bits of a text's words in fours, each different four once; None of a text without words.

    A text of fewer words is one shingle.
    """
    words = text.lower().split()
    if not words:
        return None
    hashes = {word: int.from_bytes(blake2b(word.encode(), digest_size=_HASH_BYTES).digest()) for word in set(words)}
    shingles = np.unique(_shingles(np.array([hashes[word] for word in words], dtype=np.uint64)))
    bits = np.unpackbits(shingles.astype(">u8").view(np.uint8).reshape(-1, _HASH_BYTES), axis=1)
    majority = 2 * bits.sum(axis=0, dtype=np.int64) > len(shingles)
    return int.from_bytes(np.packbits(majority).tobytes())


def _shingles(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    width = min(SHINGLE_WORDS, len(words))
    count = len(words) - width + 1
    found = np.zeros(count, dtype=np.uint64)
    for place in range(width):  # arithmetic modulo 2^64
        found = _mixed(found * _ORDER + words[place : place + count])
    return found


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the input moves every bit of the output."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_A
    values = (values ^ (values >> np.uint64(27))) * _MIX_B
    return values ^ (values >> np.uint64(31))
