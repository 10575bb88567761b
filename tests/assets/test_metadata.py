"""What a materialisation of a stream's table says of the stream."""

from __future__ import annotations

from pathlib import Path

from assets.metadata import stream_metadata
from domain.settings import Settings
from tests.support.batches import AT, batch
from tests.support.empty_tables import make_empty_tables
from warehouse.stream_batches import append_batches


def test_each_query_reports_its_own_batches(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    make_empty_tables(settings)
    append_batches(settings, [batch("archive", 50), batch(ended_seconds_ago=700), batch(ended_seconds_ago=40), batch()])
    live, archive = stream_metadata(settings, "live", AT), stream_metadata(settings, "archive", AT)
    assert (live["recent_batches"], live["recent_records"], live["freshness_worst_seconds"]) == (2, 200, 8.0)
    assert live["last_batch_ended_at"].value == batch().ended_at.timestamp()
    assert live["last_stages"] == {"merge": 2.5, "spark": 0.25}
    assert (archive["recent_batches"], "freshness_p99_seconds" in archive) == (1, False)


def test_a_stream_that_never_ran_reports_nothing(tmp_path: Path) -> None:
    assert stream_metadata(Settings(home=tmp_path), "live", AT) == {"recent_batches": 0, "recent_records": 0}
