"""Verdicts over a real socket: one set a body, all of it or nothing, by whose token says so."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from services.metrics import intake
from services.metrics.intake import MAX_BODY_BYTES, VERDICTS_PATH
from services.tokens import Caller
from tests.services.metrics.conftest import PATH, Api
from warehouse.layout import open_table, rows_of
from warehouse.verdict_intake import IntakeReceipt, take_in
from warehouse.verdicts import current_set

LAB = Caller("verdicts", person="lab")
JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv; charset=utf-8"
NUMBERS = count()


def _record(**changes: Any) -> dict[str, Any]:
    """Another verdict each time."""
    said = {"verdict": "fraud", "reason": "a bot", "decided_at": "2026-05-04T11:00:00Z"}
    return {"impression_id": f"imp-{next(NUMBERS)}", "ad_id": 1, **said} | changes


def _post(api: Api, content: bytes | str, kind: str = JSON, caller: Caller = LAB, **parameters: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {api.token(caller)}", "Content-Type": kind}
    return api.http.post(VERDICTS_PATH, content=content, params=parameters, headers=headers)


def _rows(api: Api, set_version: int) -> list[dict[str, Any]]:
    rows = rows_of(open_table(api.settings, "fraud_verdicts")).to_pylist()
    return [row for row in rows if row["set_version"] == set_version]


def _csv(record: dict[str, Any]) -> str:
    return f"{','.join(record)}\n{','.join(map(str, record.values()))}\n"


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        pytest.param(JSON, lambda record: json.dumps([record]), id="json"),
        pytest.param(LINES, lambda record: json.dumps(record) + "\n", id="lines"),
        pytest.param(CSV, _csv, id="csv"),
    ],
)
def test_a_body_is_a_set(api: Api, kind: str, written: Any) -> None:
    record, before = _record(), current_set(api.settings)
    response = _post(api, written(record), kind, source="probe")
    assert response.status_code == 201, response.text
    receipt = response.json()
    assert receipt.pop("file_digest")
    assert receipt == {"set_version": before + 1, "verdict_count": 1, "unknown_count": 1}
    (row,) = _rows(api, before + 1)
    assert {name: row[name] for name in ("impression_id", "verdict", "reason", "source", "actor")} == {
        "impression_id": record["impression_id"],
        "verdict": "fraud",
        "reason": "a bot",
        "source": "probe",
        "actor": "lab",
    }


def test_the_source_is_who_hands_in_unless_it_says_otherwise(api: Api) -> None:
    receipt = _post(api, json.dumps([_record()])).json()
    assert [row["source"] for row in _rows(api, receipt["set_version"])] == ["lab"]


def test_one_bad_line_and_nothing_is_taken(api: Api) -> None:
    before = current_set(api.settings)
    lines = "\n".join([json.dumps(_record()), "{", json.dumps(_record(verdict="maybe"))])
    refusal = _refused(_post(api, lines, LINES), 400, "bad_request")
    assert refusal["found"].startswith("the body has 2 bad lines: line 2: no JSON: ")
    assert "; line 3: verdict is 'maybe'" in refusal["found"]
    assert refusal["remedy"] == "nothing was taken in; correct them"
    assert current_set(api.settings) == before


def test_the_same_content_again_is_409(api: Api) -> None:
    """Whoever lost the first answer learns the set."""
    content = json.dumps([_record()])
    version = _post(api, content).json()["set_version"]
    refusal = _refused(_post(api, content), 409, "known")
    assert refusal["found"] == f"this file was taken in as set {version}"
    assert current_set(api.settings) == version


@pytest.mark.parametrize("caller", [Caller("advertiser", 10), Caller("finance"), Caller("approve", person="ada")])
def test_other_roles_are_403(api: Api, caller: Caller) -> None:
    before = current_set(api.settings)
    _refused(_post(api, json.dumps([_record()]), caller=caller), 403, "forbidden")
    assert current_set(api.settings) == before


def test_no_token_is_401_and_this_one_reads_no_counts(api: Api) -> None:
    """Law 13: it was made for handing in."""
    _refused(api.http.post(VERDICTS_PATH, content=b"[]"), 401, "unauthorized")
    _refused(api.get(LAB), 403, "forbidden")


BAD: dict[str, tuple[bytes, str, dict[str, str], tuple[int, str]]] = {
    "no verdict": (b"[]", JSON, {}, (400, "bad_request")),
    "no JSON": (b"[", JSON, {}, (400, "bad_request")),
    "no array": (b"{}", JSON, {}, (400, "bad_request")),
    "half a pair": (b'[{"\\ud800": 1}]', JSON, {}, (400, "bad_request")),
    "another type": (b"[]", "application/xml", {}, (415, "media_type")),
    "no type": (b"[]", "", {}, (415, "media_type")),
    "a misspelt parameter": (b"[]", JSON, {"sauce": "lab"}, (400, "bad_request")),
    "no source": (b"[]", JSON, {"source": " "}, (400, "bad_request")),
    "a long source": (b"[]", JSON, {"source": "a" * 501}, (400, "bad_request")),
}


@pytest.mark.parametrize(("content", "kind", "parameters", "refusal"), BAD.values(), ids=BAD)
def test_what_is_not_taken(
    api: Api, content: bytes, kind: str, parameters: dict[str, str], refusal: tuple[int, str]
) -> None:
    _refused(_post(api, content, kind, **parameters), *refusal)


def test_a_body_is_bounded_whether_it_says_its_length_or_not(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_BODY_BYTES == 8 * 1_024 * 1_024
    monkeypatch.setattr(intake, "MAX_BODY_BYTES", 100)
    _refused(_post(api, b" " * 101), 413, "too_large")
    headers = {"Authorization": f"Bearer {api.token(LAB)}", "Content-Type": JSON}
    chunks = iter([b" " * 60, b" " * 60])
    _refused(api.http.post(VERDICTS_PATH, content=chunks, headers=headers), 413, "too_large")
    _refused(_post(api, b" " * 100), 400, "bad_request")


def test_other_methods_are_405(api: Api) -> None:
    response = api.http.get(VERDICTS_PATH)
    _refused(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "POST"


def test_bodies_at_the_same_time_are_sets_of_their_own(api: Api) -> None:
    before = current_set(api.settings)
    bodies = [json.dumps([_record()]) for _ in range(4)]
    with ThreadPoolExecutor(len(bodies)) as pool:
        responses = list(pool.map(lambda body: _post(api, body), bodies))
    assert sorted(response.json()["set_version"] for response in responses) == [before + 1 + n for n in range(4)]


def test_counts_are_answered_while_verdicts_are_taken_in(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop never waits for a table, and a second body past the bound is told to come again."""
    is_begun, may_end = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> IntakeReceipt:
        is_begun.set()
        assert may_end.wait(60)
        return take_in(*arguments)

    monkeypatch.setattr(intake, "take_in", slow)
    monkeypatch.setattr(intake, "MAX_UNDER_WAY", 1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(_post, api, json.dumps([_record()]))
        try:
            assert is_begun.wait(60)
            assert api.get(Caller("finance")).status_code == 200
            _refused(_post(api, json.dumps([_record()])), 503, "overloaded")
        finally:
            may_end.set()
        assert first.result().status_code == 201


def test_the_document_describes_it(api: Api) -> None:
    document = api.http.get("/openapi.json").json()
    said = document["paths"][VERDICTS_PATH]["post"]
    assert set(said["responses"]) == {"201", "400", "401", "403", "409", "413", "415", "500", "503"}
    record, schemas = _record(), document["components"]["schemas"]
    Draft202012Validator(schemas["Verdict"]).validate(record)
    Draft202012Validator(schemas["VerdictSet"]).validate(_post(api, json.dumps([record])).json())
    assert set(said["requestBody"]["content"]) == {"application/json", "application/x-ndjson", "text/csv"}
    assert PATH in document["paths"]


def _refused(response: httpx.Response, status: int, name: str) -> dict[str, str]:
    assert response.status_code == status, response.text
    refusal: dict[str, str] = response.json()
    assert refusal["error"] == name
    return refusal
