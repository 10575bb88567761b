"""Great Expectations is loaded alone, wherever the process came from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADS = """
import sys
{before}
from quality.gx import great_expectations
gx = great_expectations()
assert gx.expectations.ExpectColumnValuesToBeBetween
assert ("pyspark" in sys.modules) == bool({before!r})
import pyspark
from pyspark.sql import SparkSession
print("went on")
"""


def _run(before: str) -> str:
    code = LOADS.format(before=before)
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or ran.stderr


def test_a_process_without_a_main_file_goes_on_and_has_loaded_no_spark() -> None:
    """A check that ends the process with code 0 would look like a pass."""
    assert _run("") == "went on"


def test_spark_that_is_there_stays() -> None:
    assert _run("import pyspark.sql") == "went on"
