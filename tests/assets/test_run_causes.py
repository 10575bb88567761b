"""Runs as causes: one for a job however many of its runs failed, none for what a later run or a person took care of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from assets.run_causes import PARTITION, QUEUE_PATIENCE, SEEN, run_causes
from warehouse.clock import now

FAILURE, SUCCESS, QUEUED = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.QUEUED


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, hour: str = "", **tags: str) -> None:
    job = "reconcile_hour" if hour else "maintain"
    tags |= {PARTITION: hour} if hour else {}
    create_run_for_test(instance, job_name=job, status=status, tags=tags, remote_job_origin=origin_of(job))


def origin_of(job: str) -> RemoteJobOrigin:
    """A run in the queue has one."""
    target = LoadableTargetOrigin(executable_path="python", module_name="orchestration.definitions")
    location = InProcessCodeLocationOrigin(target)
    return RemoteJobOrigin(RemoteRepositoryOrigin(location, "repository"), job)


def test_failed_runs_of_a_job_are_one_cause(instance: dg.DagsterInstance) -> None:
    """O4: a partition that failed is not forgotten because another one succeeded."""
    for hour, status in (("h1", FAILURE), ("h2", FAILURE), ("h3", SUCCESS)):
        run(instance, status, hour)
    (cause,) = run_causes(instance, now())
    assert (cause.key, cause.about) == ("failed reconcile_hour", "job reconcile_hour, partitions h1, h2")
    assert cause.observed.startswith("2 failed in the last 24 hours")


def test_a_later_run_mends_its_own_partition_alone(instance: dg.DagsterInstance) -> None:
    for hour, status in (("h1", FAILURE), ("h2", FAILURE), ("h1", SUCCESS)):
        run(instance, status, hour)
    (cause,) = run_causes(instance, now())
    assert cause.about.endswith("partitions h2")
    run(instance, SUCCESS, "h2")
    assert run_causes(instance, now()) == []


def test_a_run_that_somebody_looked_at_or_that_is_old_is_no_cause(instance: dg.DagsterInstance) -> None:
    run(instance, FAILURE, "h1", **{SEEN: "ann"})
    assert run_causes(instance, now()) == []
    run(instance, FAILURE)
    assert [one.key for one in run_causes(instance, now())] == ["failed maintain"]
    assert run_causes(instance, now() + timedelta(days=2)) == []


def test_a_queue_that_does_not_move_is_one_cause(instance: dg.DagsterInstance) -> None:
    run(instance, QUEUED, "h1")
    run(instance, QUEUED, "h2")
    assert run_causes(instance, now()) == []
    (cause,) = run_causes(instance, now() + QUEUE_PATIENCE)
    assert (cause.key, cause.about) == ("queue", "2 runs in the queue")
