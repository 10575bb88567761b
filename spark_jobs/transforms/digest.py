"""The digest of a set of billable clicks, computed by Spark: free of order, in one aggregate.

Belongs here: the twin of ``domain.seals.SetDigest``, which says what a digest is.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from domain.seals import DIGEST_WORDS

WORD_HEX_DIGITS = 8
_MODULUS = 1 << 32
_LOW = _MODULUS - 1
_PAIRS = tuple(f"pair_{index}" for index in range(DIGEST_WORDS // 2))
WORDS = tuple(f"word_{index}" for index in range(DIGEST_WORDS))
_LINE = ("log", "partition", "offset", "impression_id", "ad_id", "advertiser_id", "campaign_id")


def with_digest_words(billable: DataFrame) -> DataFrame:
    """``billable``, one row a click, with the eight words of its hash: LONG ``word_0`` to ``word_7``."""
    hashed = billable.withColumn("sha", F.sha2(_line(), 256))
    return hashed.withColumns(_pairs()).withColumns(_words()).drop("sha", *_PAIRS)


def word_sums() -> list[Column]:
    """Aggregates that add words up, under the words' own names: sums can be added up again."""
    return [(F.sum(name) % _MODULUS).alias(name) for name in WORDS]


def digest_of_sums() -> Column:
    """The eight sums as 64 hex digits."""
    return F.concat(*(F.lower(F.lpad(F.hex(name), WORD_HEX_DIGITS, "0")) for name in WORDS))


def _line() -> Column:
    minute = F.date_format("minute", "yyyy-MM-dd'T'HH:mm")
    return F.concat_ws("|", *(F.col(name).cast("string") for name in _LINE), minute, "country", "device")


def _pairs() -> dict[str, Column]:
    """Two words in a LONG each: half as many conversions as one word each, and those are what costs."""
    digits = (F.substring("sha", index * 2 * WORD_HEX_DIGITS + 1, 2 * WORD_HEX_DIGITS) for index in range(len(_PAIRS)))
    return {name: F.conv(of_pair, 16, -10).cast("bigint") for name, of_pair in zip(_PAIRS, digits, strict=True)}


def _words() -> dict[str, Column]:
    halves = [half for name in _PAIRS for half in (F.shiftrightunsigned(name, 32), F.col(name).bitwiseAND(_LOW))]
    return dict(zip(WORDS, halves, strict=True))
