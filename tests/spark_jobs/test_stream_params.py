"""The receipt of a stream as JSON."""

from __future__ import annotations

import json

from spark_jobs.stream_params import StreamReceipt


def test_a_receipt_is_one_line_of_json() -> None:
    receipt = StreamReceipt(
        log=1,
        raw_rows=5,
        identity_rows=4,
        quarantined_rows=1,
        live_looked_at_count=6,
        live_counted_count=3,
        live_late_count=1,
        next_offsets={0: 6},
        duration_seconds=1.5,
        stage_seconds={"live": [{"merge": 0.5}]},
    )
    text = receipt.to_json()
    assert "\n" not in text
    assert json.loads(text)["next_offsets"] == {"0": 6}
    assert json.loads(text)["stage_seconds"]["live"] == [{"merge": 0.5}]
