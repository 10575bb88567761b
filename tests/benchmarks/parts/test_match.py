"""A match holds each contestant to the truth: what it stored is what counts, and a wrong count is no figure."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from parts.contestant import Contestant, ContestantError
from parts.match import Match, Topic, counted_clicks, make_sink, stored_counts

from clicklog.producer import ClickProducer
from domain.settings import Settings

FLUSH_SECONDS = 30
COUNTS_TWO = "from parts.worker import serve; serve(lambda job: {'counted': 2})"


def test_a_delta_table_is_summed_up(tmp_path: Path) -> None:
    """Appended counts have several rows a key."""
    for count in (3, 4):
        write_deltalake(str(tmp_path / "counts"), pa.table({"ad_id": [1], "count": [count]}), mode="append")
    assert counted_clicks(Settings(home=tmp_path), {"counts_path": str(tmp_path / "counts")}) == 7


@pytest.mark.broker
def test_of_an_upsert_topic_the_newest_count_of_each_key_is_taken(log_settings: Settings) -> None:
    make_sink(log_settings, "sink")
    producer = ClickProducer(log_settings)
    for key, value in ((b"a", b'{"clicks": 1}'), (b"b", b'{"clicks": 5}'), (b"a", b'{"clicks": 3}'), (b"c", None)):
        producer.send(key, value, topic="sink")
    producer.flush(FLUSH_SECONDS)
    assert stored_counts(log_settings, "sink") == {b"a": 3, b"b": 5}
    assert counted_clicks(log_settings, {"sink_topic": "sink"}) == 8


@pytest.mark.broker
def test_a_wrong_count_is_refused_and_leaves_nothing(log_settings: Settings) -> None:
    (log_settings.home / "tables").mkdir(parents=True)
    log = log_settings.home / "log"
    with Contestant("example", [sys.executable, "-c", COUNTS_TWO], log) as contestant:
        match = Match(log_settings, psutil.Process().pid, {"example": contestant})
        right = match.run("example", has_archive=False, topic=Topic("clicks_right", events=4, clicks=2))
        with pytest.raises(ContestantError, match="example counted 2 clicks of clicks_wrong; expected 3"):
            match.run("example", has_archive=False, topic=Topic("clicks_wrong", events=4, clicks=3))
    assert right.run.answer == {"counted": 2}
    assert list((log_settings.home / "runs").iterdir()) == []
