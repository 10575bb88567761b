"""SimHashes that are near each other, by an index of bands.

Belongs here: from documents to their labels. How a SimHash is made is ``crawler/simhash.py``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BANDS = 4
BAND_DIGITS = 4
"""16 bits each. Two of 64 bits that differ in fewer places than there are bands share a band whole."""
MOST_DISTANCE = BANDS - 1
"""Up to it the index misses nothing."""
_HALVES = ((1, 8), (9, 8))
"""Digits of 32 bits each, since 64 have no place in a signed number."""


def labelled(documents: DataFrame, threshold_count: int) -> DataFrame:
    """Each row of ``documents`` (with ``simhash``, 16 hexadecimal digits) with its label and the distance to it.

    The label is the smallest SimHash that differs in up to ``threshold_count`` bits, which may be its own. Near is not
    transitive: what is near to a label is near to it alone.
    """
    smaller = _near_pairs(documents.select("simhash").distinct(), threshold_count)
    best = smaller.groupBy("simhash").agg(F.min("other").alias("nearest"))
    label = F.coalesce("nearest", "simhash")
    rows = documents.join(best, "simhash", "left").withColumn("label_simhash", label).drop("nearest")
    return rows.select(
        "*",
        _distance(F.col("simhash"), F.col("label_simhash")).alias("distance_count"),
        F.lit(threshold_count).alias("threshold_count"),
    )


def _near_pairs(simhashes: DataFrame, threshold_count: int) -> DataFrame:
    """Of each the smaller ones that are near."""
    bands = F.array(*(F.substring("simhash", 1 + BAND_DIGITS * band, BAND_DIGITS) for band in range(BANDS)))
    index = simhashes.select("simhash", F.posexplode(bands).alias("place", "band"))
    others = index.withColumnRenamed("simhash", "other")
    is_near = (F.col("other") < F.col("simhash")) & (
        _distance(F.col("simhash"), F.col("other")) <= F.lit(threshold_count)
    )
    return index.join(others, ["place", "band"]).where(is_near).select("simhash", "other")


def _distance(one: Column, other: Column) -> Column:
    """Bits in which two differ."""
    high, low = (F.bit_count(_number(one, half).bitwiseXOR(_number(other, half))) for half in _HALVES)
    return high + low


def _number(digits: Column, half: tuple[int, int]) -> Column:
    return F.conv(digits.substr(*half), 16, 10).cast("long")
