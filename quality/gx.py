"""Loads Great Expectations without the Spark that it would load with it.

Belongs here: the import and nothing else. It asks pandas frames only, Spark costs seconds of every process that judges,
and Spark Connect ends the process, with code 0, where the main module has no file: ``python -c``, a test worker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType

SPARK, SPARK_CONNECT = "pyspark", "pyspark.sql.connect"


@cache
def great_expectations() -> ModuleType:
    """The package, with its ``expectations``. Takes a second or two, once a process."""
    unwanted = SPARK_CONNECT if SPARK in sys.modules else SPARK
    with _not_importable(unwanted):
        import_module("great_expectations.expectations")
        return import_module("great_expectations")


@contextmanager
def _not_importable(name: str) -> Iterator[None]:
    """For the block an import of this module is an ImportError, which Great Expectations takes as "not installed"."""
    known = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment] # what the import system asks for
    try:
        yield
    finally:
        if known is None:
            del sys.modules[name]
        else:
            sys.modules[name] = known
