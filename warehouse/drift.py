"""Table ``drift``: appending comparisons of live with final.

Belongs here: the append. What a row says is ``domain/drift.py``; who compares is ``spark_jobs/reconcile_drift.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from domain.settings import Settings
from warehouse.layout import open_table
from warehouse.schema import arrow_rows, arrow_schema
from warehouse.tables.drift import DRIFT


def append_drift(settings: Settings, batches: Iterable[Iterable[Mapping[str, Any]]]) -> None:
    """Appends all rows in one commit, batch by batch, so that no more than a batch of them is in memory.

    Atomic and durable when it returns; not repeatable by itself: rows of an attempt that was not sealed are no truth.
    """
    tables = (arrow_rows(DRIFT, rows) for rows in batches)
    reader = pa.RecordBatchReader.from_batches(
        arrow_schema(DRIFT), (batch for table in tables for batch in table.to_batches())
    )
    write_deltalake(open_table(settings, DRIFT.name), reader, mode="append")
