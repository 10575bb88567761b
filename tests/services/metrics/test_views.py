"""The one way to a view: its role, its parameters and its bounds are checked on every path before anything is read."""

from __future__ import annotations

import re

import pytest

from domain.periods import parse_period
from services.metrics.openapi_views import VIEWS
from services.metrics.views import View, json_bytes
from services.tokens import ROLES, Caller, Role
from tests.services.metrics.conftest import Api

READABLE = {
    "/v1/me": {"advertiser", "finance", "auditor", "operator", "approve"},
    "/v1/ads/metrics/file": {"advertiser", "finance", "auditor", "operator", "approve"},
    "/v1/statements": {"advertiser", "finance", "auditor", "approve"},
    "/v1/statements/{period}": {"advertiser", "finance", "auditor", "approve"},
    "/v1/periods": {"finance", "auditor", "approve"},
    "/v1/periods/{period}": {"finance", "auditor", "approve"},
    "/v1/seals": {"finance", "auditor", "approve"},
    "/v1/drift": {"finance", "auditor", "approve"},
    "/v1/adjustments": {"finance", "auditor", "approve"},
    "/v1/hours/{hour}": {"finance", "auditor"},
    "/v1/disputes": {"finance", "auditor"},
    "/v1/disputes/{case_id}": {"finance", "auditor"},
    "/v1/disputes/{case_id}/clicks": {"finance", "auditor"},
    "/v1/disputes/{case_id}/pack": {"finance", "auditor"},
    "/v1/status": {"operator"},
}
"""Who may read what, written by hand: a view with a wrong role, or a new one, has to be wanted here."""


def _caller(role: Role) -> Caller:
    return Caller(role, 10 if role == "advertiser" else None, "ada")


def _path(view: View) -> str:
    return re.sub(r"{\w+}", "nothing-of-the-kind", view.path)


@pytest.mark.parametrize("view", VIEWS, ids=[view.path for view in VIEWS])
def test_each_view_is_for_its_roles_and_nobody_else(api: Api, view: View) -> None:
    """Law 13, S3: no path goes around the role, and none answers without a token."""
    assert api.http.get(_path(view)).status_code == 401
    for role in ROLES:
        response = api.http.get(_path(view), headers={"Authorization": f"Bearer {api.token(_caller(role))}"})
        is_refused = response.status_code == 403 and response.json()["error"] == "forbidden"
        assert is_refused == (role not in READABLE[view.path]), (role, response.text)
        assert response.headers["cache-control"] == "no-store"


def test_each_view_is_listed() -> None:
    assert [view.path for view in VIEWS] == list(READABLE)


@pytest.mark.parametrize("view", VIEWS, ids=[view.path for view in VIEWS])
def test_a_misspelt_or_repeated_parameter_is_refused(api: Api, view: View) -> None:
    """S3: a filter that is not known must not be ignored."""
    headers = {"Authorization": f"Bearer {api.token(_caller(view.roles[-1]))}"}
    response = api.http.get(_path(view), params={"advertiser": "10"}, headers=headers)
    assert (response.status_code, "parameter 'advertiser'" in response.text) == (400, True)
    for name in list(view.parameters)[:1]:
        response = api.http.get(_path(view), params=[(name, "1"), (name, "2")], headers=headers)
        assert (response.status_code, "given twice" in response.text) == (400, True)


BAD_PAGES = (
    "limit=0",
    "limit=501",
    "limit=x",
    "limit=-1",
    "offset=-1",
    "offset=99999999999",
    "limit=1_0",
    "limit=%C2%B2",
)


@pytest.mark.parametrize("page", BAD_PAGES)
def test_answers_are_bounded(api: Api, page: str) -> None:
    headers = {"Authorization": f"Bearer {api.token(Caller('finance'))}"}
    response = api.http.get(f"/v1/seals?{page}", headers=headers)
    assert (response.status_code, response.json()["error"]) == (400, "bad_request")


def test_more_questions_than_can_wait_are_503(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.metrics.views.MAX_WAITING", 0)
    response = api.http.get("/v1/me", headers={"Authorization": f"Bearer {api.token(Caller('finance'))}"})
    assert (response.status_code, response.json()["error"]) == (503, "overloaded")


@pytest.mark.parametrize("view", VIEWS, ids=[view.path for view in VIEWS])
def test_each_view_is_described(api: Api, view: View) -> None:
    described = api.http.get("/openapi.json").json()["paths"][view.path]["get"]
    assert [one["name"] for one in described["parameters"] if one["in"] == "query"] == list(view.parameters)


def test_a_period_is_text_in_json_and_what_has_no_form_is_an_error() -> None:
    assert json_bytes({"period": parse_period("2026-11")}) == b'{"period":"2026-11"}'
    with pytest.raises(TypeError, match="not JSON serializable: object"):
        json_bytes({"thing": object()})
