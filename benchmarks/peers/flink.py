"""The Flink peer: one SQL job, set up as Flink's own tuning guide says, in a local cluster inside its process.

RocksDB state of 24 hours, mini-batches, two-phase aggregation, a checkpoint every 10 s, objects reused. The sink is
``upsert-kafka`` on the same broker: it really stores every update, durably and by key, and comes in the same jar as the
source; with a database behind it, the comparison would be one with that database. Runs
in an environment of its own (``flink_home.py``), so it imports PyFlink and the standard library only.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from parts.worker import serve
from pyflink.table import EnvironmentSettings, TableEnvironment

OPTIONS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "state.backend.type": "rocksdb",
    "state.backend.incremental": "true",
    "taskmanager.memory.managed.size": "500m",
    "execution.checkpointing.interval": "10 s",
    "table.exec.state.ttl": "24 h",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "5 s",
    "table.exec.mini-batch.size": "20000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.local-time-zone": "UTC",
}
"""Parallelism and memory for state are those of our session."""
SOURCE = """
CREATE TABLE clicks (
    impression_id STRING, ad_id BIGINT, advertiser_id BIGINT, campaign_id BIGINT, clicked_at TIMESTAMP_LTZ(6),
    country STRING, device STRING, kind STRING, seen_at AS PROCTIME()
) WITH (
    'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{bootstrap}',
    'properties.group.id' = 'bench-flink', 'scan.startup.mode' = 'earliest-offset',
    'scan.bounded.mode' = 'latest-offset', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)"""
SINK = """
CREATE TABLE counts (
    advertiser_id BIGINT, campaign_id BIGINT, ad_id BIGINT, minute_at TIMESTAMP_LTZ(6), country STRING, device STRING,
    clicks BIGINT,
    PRIMARY KEY (advertiser_id, campaign_id, ad_id, minute_at, country, device) NOT ENFORCED
) WITH (
    'connector' = 'upsert-kafka', 'topic' = '{sink_topic}', 'properties.bootstrap.servers' = '{bootstrap}',
    'key.format' = 'json', 'value.format' = 'json'
)"""
COUNT = """
INSERT INTO counts
SELECT advertiser_id, campaign_id, ad_id, FLOOR(clicked_at TO MINUTE), country, device, COUNT(*)
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY impression_id, ad_id ORDER BY seen_at ASC) AS copy
    FROM clicks WHERE kind = 'click'
)
WHERE copy = 1
GROUP BY advertiser_id, campaign_id, ad_id, FLOOR(clicked_at TO MINUTE), country, device"""
"""The first copy by processing time stays: Flink's deduplication, and its order is that of arrival."""


def run(job: dict[str, Any], jars: Path) -> dict[str, Any]:
    """One job over all that is in the topic now; the sink's topic exists and is empty."""
    table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    options = OPTIONS | {
        "pipeline.jars": ";".join(sorted(jar.as_uri() for jar in jars.glob("*/*.jar"))),
        "execution.checkpointing.dir": (Path(job["home"]) / "checkpoints").as_uri(),
    }
    for name, value in options.items():
        table_env.get_config().set(name, value)
    for statement in (SOURCE, SINK):
        table_env.execute_sql(statement.format(**job))
    table_env.execute_sql(COUNT).wait()
    return {"sink_topic": job["sink_topic"]}


if __name__ == "__main__":
    serve(partial(run, jars=Path(sys.argv[1])))
