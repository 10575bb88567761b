"""The digest of a set of billable clicks, computed by Spark: free of order, in one aggregate.

Belongs here: the twin of ``domain.seals.SetDigest``, which says what a digest is.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from domain.seals import DIGEST_WORDS

WORD_HEX_DIGITS = 8
_MODULUS = 1 << 32
_LINE = ("log", "partition", "offset", "impression_id", "ad_id", "advertiser_id", "campaign_id")


def sum_digest_words(billable: DataFrame, by: str) -> DataFrame:
    """Per group ``digest``: the eight sums as 64 hex digits; and ``digested_clicks``, how many clicks went in.

    ``billable``: one row a billable click. A group without clicks has no row.
    """
    hashed = billable.select(by, F.sha2(_line(), 256).alias("sha"))
    words = [_word(index).alias(f"word_{index}") for index in range(DIGEST_WORDS)]
    sums = [(F.sum(f"word_{index}") % _MODULUS).alias(f"word_{index}") for index in range(DIGEST_WORDS)]
    summed = hashed.select(by, *words).groupBy(by).agg(F.count(F.lit(1)).alias("digested_clicks"), *sums)
    digits = [F.lower(F.lpad(F.hex(f"word_{index}"), WORD_HEX_DIGITS, "0")) for index in range(DIGEST_WORDS)]
    return summed.select(by, "digested_clicks", F.concat(*digits).alias("digest"))


def _line() -> Column:
    minute = F.date_format("minute", "yyyy-MM-dd'T'HH:mm")
    return F.concat_ws("|", *(F.col(name).cast("string") for name in _LINE), minute, "country", "device")


def _word(index: int) -> Column:
    digits = F.substring("sha", index * WORD_HEX_DIGITS + 1, WORD_HEX_DIGITS)
    return F.conv(digits, 16, 10).cast("bigint")
