"""How much memory a piece of work takes at its peak, so that a test can say that it does not grow with the data."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pyarrow as pa


def peak_bytes(work: Callable[[], object]) -> int:
    """The peak of Python's objects and of Arrow's buffers together, beyond what was there before.

    DuckDB's own memory is not in it: that has a limit, beyond which it spills.
    """
    outer = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(outer)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(outer)
