"""Rows that are kept in a file instead of in memory, and read as an Arrow table all the same.

Belongs here: writing batches beside the data and mapping them. The file has no name any more when the table is handed
out: it goes with the last reference to it, or with the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

import pyarrow as pa

from domain.settings import Settings
from warehouse.duck_engine import scratch_folder


def mapped_rows(settings: Settings, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """All rows, in their order; what the batches raise comes through. Needs room on disk, and of memory one batch."""
    with tempfile.NamedTemporaryFile(prefix="rows-", dir=scratch_folder(settings)) as file:
        with pa.ipc.new_file(file, schema) as writer:  # type: ignore[arg-type] # the stubs want a class, not a protocol
            for batch in batches:
                writer.write_batch(batch.cast(schema))
        file.flush()
        with pa.memory_map(file.name) as source:
            return pa.ipc.open_file(source).read_all()
