"""Near duplicates of a batch, against a plain search over all pairs, with every URL of a body kept."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from domain.errors import UsageError
from domain.settings import Settings
from spark_jobs.near_duplicates import NearDuplicatesParams, label_near_duplicates
from tests.support.empty_tables import make_empty_tables
from tests.warehouse.test_crawl_documents import DAY, NEXT, row
from warehouse.crawl_documents import read_crawl
from warehouse.crawl_rows import append_rows

pytestmark = pytest.mark.spark
MOST = 3
A = "https://a.example/"


def flipped(bits: int, random: Random, count: int) -> int:
    for place in random.sample(range(64), count):
        bits ^= 1 << place
    return bits


def some_simhashes(seed: int) -> list[str]:
    """Families of values that differ in 0 to 5 bits, high bit set and not, and one that stands alone."""
    random = Random(seed)
    roots = [random.getrandbits(64) for _ in range(12)] + [0, (1 << 64) - 1]
    return [f"{flipped(root, random, count):016x}" for root in roots for count in range(6)]


def expected_label(one: str, everything: list[str]) -> tuple[str, int]:
    near = [other for other in everything if (int(one, 16) ^ int(other, 16)).bit_count() <= MOST]
    return min(near), (int(one, 16) ^ int(min(near), 16)).bit_count()


def test_labels_are_those_of_a_search_over_all_pairs(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    make_empty_tables(settings)
    simhashes = some_simhashes(5)
    rows = [
        row("documents", event_id=f"e{number}", content_hash=f"{number:064x}", url=f"{A}{number}", simhash=one)
        for number, one in enumerate(simhashes)
    ]
    mirrored = [
        row("documents", event_id="m", content_hash=f"{0:064x}", url="https://b.example/", simhash=simhashes[0])
    ]
    wordless = [row("documents", event_id="w", simhash=None)]
    another_day = [row("documents", event_id="d", simhash="0" * 16, fetch_date=NEXT)]
    append_rows(settings, "documents", [*rows, *mirrored, *wordless, *another_day])
    append_rows(settings, "documents", rows[:5])
    for _ in range(2):
        done = label_near_duplicates(spark, settings, NearDuplicatesParams(DAY, MOST))
        assert done.row_count == len(rows) + 1
    found = read_crawl(settings, "near_duplicates", DAY, NEXT).to_pylist()
    assert {(one["url"], one["label_simhash"], one["distance_count"]) for one in found} == {
        (one["url"], *expected_label(one["simhash"], simhashes)) for one in [*rows, *mirrored]
    }
    assert {one["threshold_count"] for one in found} == {MOST}
    assert done.label_count == len({one["label_simhash"] for one in found})
    assert done.label_count < len(set(simhashes))
    of_body = {one["url"] for one in found if one["content_hash"] == f"{0:064x}"}
    assert of_body == {f"{A}0", "https://b.example/"}


def test_no_threshold_beyond_what_the_index_finds() -> None:
    with pytest.raises(UsageError, match="0 to 3"):
        NearDuplicatesParams(DAY, 4)
