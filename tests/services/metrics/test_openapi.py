"""The OpenAPI document tells the truth: real answers and refusals fit it, its parameters are those that are taken."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from services.tokens import Caller
from tests.services.metrics.conftest import PATH, Api

FINANCE = Caller("finance")
ALL_GROUPS = "advertiser,campaign,ad,country,device"


@pytest.fixture(scope="module")
def document(api: Api) -> dict[str, Any]:
    response = api.http.get("/openapi.json")
    assert response.status_code == 200
    return dict(response.json())


def _check(document: dict[str, Any], schema: str, instance: Any) -> None:
    found = document["components"]["schemas"][schema]
    Draft202012Validator.check_schema(found)
    Draft202012Validator(found).validate(instance)


@pytest.mark.parametrize("group_by", [ALL_GROUPS, "", "ad"])
@pytest.mark.parametrize("granularity", ["minute", "hour", "day"])
def test_answers_fit(api: Api, document: dict[str, Any], group_by: str, granularity: str) -> None:
    answer = api.get(FINANCE, group_by=group_by, granularity=granularity).json()
    assert answer["rows"]
    _check(document, "Counts", answer)


@pytest.mark.parametrize("parameters", [{"from_": "x"}, {"unknown": "1"}])
def test_refusals_fit(api: Api, document: dict[str, Any], parameters: dict[str, str]) -> None:
    _check(document, "Refusal", api.get(FINANCE, **parameters).json())


def test_each_parameter_is_taken(api: Api, document: dict[str, Any]) -> None:
    parameters = document["paths"][PATH]["get"]["parameters"]
    assert {each["name"] for each in parameters if each["required"]} == {"from", "to"}
    answers_about_the_past = {"as_of"}  # test_app.py asks them, with a clock of its own
    examples = {"from": "2026-05-03T00:00Z", "to": "2026-05-04T00:00Z", "granularity": "day", "group_by": "ad"}
    examples |= {"country": "DE,FR", "device": "mobile", "time_zone": "Asia/Kolkata"}
    given = {each["name"]: examples.get(each["name"], "1") for each in parameters}
    given = {name: value for name, value in given.items() if name not in answers_about_the_past}
    assert api.get(FINANCE, **given).status_code == 200


def test_defaults_are_those_that_are_used(api: Api, document: dict[str, Any]) -> None:
    schemas = {each["name"]: each["schema"] for each in document["paths"][PATH]["get"]["parameters"]}
    answer = api.get(FINANCE).json()
    assert answer["granularity"] == schemas["granularity"]["default"]
    assert answer["group_by"] == schemas["group_by"]["default"]
