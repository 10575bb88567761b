"""What the transforms' tests share: plans compiled to code, as production runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


@pytest.fixture(autouse=True)
def _compiled(spark: SparkSession) -> Iterator[None]:
    before = {setting: spark.conf.get(setting) for setting in COMPILED}
    for setting, value in COMPILED.items():
        spark.conf.set(setting, value)
    yield
    for setting, value in before.items():
        spark.conf.set(setting, value)
