"""Times of stages: added up within a batch, kept apart between batches, bounded in number."""

from __future__ import annotations

import pytest

from spark_jobs.stages import BATCHES_KEPT, StageTimes


def test_a_stage_entered_twice_is_one_sum_of_its_batch() -> None:
    times = StageTimes()
    for stages in (("read", "write", "write"), ("read",)):
        times.start_batch()
        for stage in stages:
            with times.stage(stage):
                pass
    assert [set(batch) for batch in times.batches] == [{"read", "write"}, {"read"}]


def test_a_failing_stage_is_measured_all_the_same() -> None:
    times = StageTimes()
    times.start_batch()
    with pytest.raises(KeyError), times.stage("write"):
        raise KeyError
    assert times.batches[0]["write"] >= 0


def test_a_stream_that_never_ends_keeps_its_last_batches() -> None:
    times = StageTimes()
    for _ in range(BATCHES_KEPT + 5):
        times.start_batch()
    assert len(times.batches) == BATCHES_KEPT
