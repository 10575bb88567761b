"""Bodies of the crawl API: known fields of their types, and no more bytes than the bound."""

from __future__ import annotations

import json

import pytest

from services.crawl.fields import MAX_BODY_BYTES
from tests.services.crawl.conftest import ANN, CrawlApi

JSON = {"Content-Type": "application/json"}
URLS = {"urls": ["https://a.example/"]}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("{", "no JSON"),
        ("[]", "a body that is a list"),
        ("{}", "no field urls"),
        (json.dumps(URLS | {"prioritty": 1}), "field 'prioritty'"),
        (json.dumps(URLS | {"priority": "1"}), "field priority is '1'"),
        (json.dumps(URLS | {"priority": True}), "field priority is 'True'"),
        (json.dumps(URLS | {"priority": None}), "field priority is 'None'"),
        (json.dumps({"urls": "https://a.example/"}), "field urls is"),
    ],
)
def test_a_body_that_is_no_such_object_is_refused(api: CrawlApi, body: str, found: str) -> None:
    answer = api.ask("POST", "/crawl/seeds", ANN, content=body)
    assert answer.status_code == 415, "without a type nobody guesses"
    api.http.headers.update(JSON)
    answer = api.ask("POST", "/crawl/seeds", ANN, content=body)
    assert answer.status_code == 400
    assert found in answer.json()["found"]


def test_a_body_beyond_the_bound_is_not_read(api: CrawlApi) -> None:
    api.http.headers.update(JSON)
    longest = json.dumps(URLS).encode()
    assert api.ask("POST", "/crawl/seeds", ANN, content=longest.ljust(MAX_BODY_BYTES)).status_code == 200
    answer = api.ask("POST", "/crawl/seeds", ANN, content=longest.ljust(MAX_BODY_BYTES + 1))
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
