"""Labels the documents of a date that say nearly the same. Labels only: nothing is dropped for being one.

Belongs here: reading the batch, writing its labels. How they are found is ``spark_jobs/transforms/near.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from domain.errors import UsageError
from domain.settings import Settings
from spark_jobs.transforms.near import MOST_DISTANCE, labelled
from warehouse.crawl_rows import writing_crawl_tables
from warehouse.layout import table_uri
from warehouse.spark.replace import replace_partitions
from warehouse.tables.documents import DOCUMENTS
from warehouse.tables.near_duplicates import NEAR_DUPLICATES


@dataclass(frozen=True)
class NearDuplicatesParams:
    """Which batch, and in how many of 64 bits near duplicates may differ."""

    fetch_date: date
    threshold_count: int = MOST_DISTANCE

    def __post_init__(self) -> None:
        if not 0 <= self.threshold_count <= MOST_DISTANCE:
            raise UsageError(
                f"a threshold of {self.threshold_count} bits",
                f"0 to {MOST_DISTANCE}: beyond, the index would miss some",
                "correct it",
            )


@dataclass(frozen=True)
class NearDuplicatesReceipt:
    """What was written: the table's version and, of the date, bodies with their URLs, and labels."""

    fetch_date: date
    row_count: int
    label_count: int
    table_version: int


def label_near_duplicates(
    spark: SparkSession, settings: Settings, params: NearDuplicatesParams
) -> NearDuplicatesReceipt:
    """Replaces the labels of the date in one commit. Repeatable, with the same rows for the same documents.

    A document without words has no label. ``WriterBusyError`` if another process writes the crawl's tables.
    """
    of_date = F.col("fetch_date") == F.lit(params.fetch_date)
    columns = ("content_hash", "url", "host", "registrable_domain", "simhash", "fetch_date")
    with writing_crawl_tables(settings):
        documents = spark.read.format("delta").load(table_uri(settings, DOCUMENTS.name))
        # Of a body that was fetched twice under one URL, or delivered twice, one row; they are alike in all of these.
        batch = documents.where(of_date & F.col("simhash").isNotNull()).select(*columns).distinct()
        version = replace_partitions(
            labelled(batch, params.threshold_count), settings, NEAR_DUPLICATES, params.fetch_date
        )
        written = spark.read.format("delta").load(table_uri(settings, NEAR_DUPLICATES.name)).where(of_date)
        figures = written.agg(F.count("*").alias("rows"), F.countDistinct("label_simhash").alias("labels")).first()
    rows, labels = figures if figures is not None else (0, 0)
    return NearDuplicatesReceipt(params.fetch_date, rows, labels, version)
