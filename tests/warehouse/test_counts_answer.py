"""The JSON form says the same as the rows, in whatever number of pieces it comes."""

from __future__ import annotations

import json

import pytest

from domain.buckets import format_utc
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables, hours
from warehouse import counts_answer
from warehouse.counts import CountsReader
from warehouse.counts_answer import CountsAnswer
from warehouse.counts_query import CountsQuery

DAY = hours("2026-05-03T00:00Z", 25)
COUNTRY = '"\\\n\u00fc'
"""No country, but what a table written by somebody else could hold."""


@pytest.fixture
def answer(settings: Settings) -> CountsAnswer:
    tables = CountsTables(settings)
    tables.write_live([Clicks("2026-05-03T13:59Z", 2**40)])
    tables.settle([Clicks("2026-05-03T12:05Z", ad, ad=ad, country=COUNTRY) for ad in range(1, 8)], DAY[10:13])
    return CountsReader(settings).answer(CountsQuery(DAY[0], DAY[24], "minute", ("ad", "country")))


@pytest.mark.parametrize("chunk_rows", [1, 3, 8, 5_000])
def test_json_is_the_rows(answer: CountsAnswer, monkeypatch: pytest.MonkeyPatch, chunk_rows: int) -> None:
    monkeypatch.setattr(counts_answer, "CHUNK_ROWS", chunk_rows)
    document = json.loads(b"".join(answer.json_chunks()))
    assert len(document["rows"]) == 8
    assert document.pop("rows") == [row | {"bucket": format_utc(row["bucket"])} for row in answer.rows]
    assert document == {
        "from": "2026-05-03T00:00:00Z",
        "to": "2026-05-04T00:00:00Z",
        "time_zone": "UTC",
        "granularity": "minute",
        "group_by": ["ad", "country"],
        "publication_number": 1,
        "final_from": "2026-05-03T10:00:00Z",
        "final_until": "2026-05-03T13:00:00Z",
        "closed_until": None,
        "live_version": 1,
    }


def test_a_row_has_its_keys_in_order(answer: CountsAnswer) -> None:
    text = b"".join(answer.json_chunks()).decode()
    assert text.endswith(
        '{"bucket":"2026-05-03T13:59:00Z","ad_id":1,"country":"DE","clicks":1099511627776,"final":false}]}'
    )


def test_no_rows_and_nothing_published(settings: Settings) -> None:
    answer = CountsReader(settings).answer(CountsQuery(DAY[0], DAY[1]))
    document = json.loads(b"".join(answer.json_chunks()))
    assert (document["rows"], document["final_until"], document["publication_number"]) == ([], None, None)
