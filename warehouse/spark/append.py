"""Appends rows to a big table with Spark.

Belongs here: the one way in which streams and attempts add rows. What makes an append safe to repeat (marks, attempt
ids) is the caller's rule; replacing rows is ``warehouse/spark/replace.py``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.table import Table


def append_rows(rows: DataFrame, settings: Settings, table: Table) -> None:
    """Append ``rows``, which have the table's columns in any order, in one commit.

    Atomic and durable when it returns; not repeatable by itself. Never conflicts with other appends.
    ``TableMissingError`` if the table is not there: Spark would make one with other partitions, and lose what the
    writer was told is kept.
    """
    uri = open_table(settings, table.name).table_uri
    rows.select(*table.column_names).write.format("delta").mode("append").save(uri)
