"""The query of docs/outcomes.md gives the rows of the seals that readers see, over real tables."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from domain.buckets import HOUR as ONE_HOUR
from tests.support.outcomes_world import seal_with_outcomes
from tests.support.sealed_world import HOUR, logged, sealed_world
from warehouse.layout import dataset_of, open_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "outcomes.md"
TABLE = re.compile(r"delta_scan\('\.tallystick/tables/(\w+)'\)")


def test_the_query_reads_what_is_published(tmp_path: Path) -> None:
    """Hour 9 is revised; hour 10 is sealed and not published. Arrow stands in for DuckDB's reader of Delta tables."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR, impression_id="imp-0-0")])
    seal_with_outcomes(world, HOUR)
    world.archive([logged(2, HOUR, kind="head"), logged(3, HOUR + ONE_HOUR)])
    seal_with_outcomes(world, HOUR)
    world.publish()
    seal_with_outcomes(world, HOUR + ONE_HOUR)
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    query = block.split("LOAD delta;", 1)[1]
    with duckdb.connect(":memory:") as engine:
        for name in set(TABLE.findall(query)):
            engine.register(name, dataset_of(open_table(world.settings, name)))
        found = engine.sql(TABLE.sub(r"\1", query)).to_arrow_table().to_pylist()
    assert [
        (row["raw_clicks"], row["billable_clicks"], row["duplicate_clicks"], row["head_clicks"]) for row in found
    ] == [(3, 1, 1, 1)]
