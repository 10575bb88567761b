"""The views in the OpenAPI document, made of the same table that the routes are made of."""

from __future__ import annotations

import re
from typing import Any

from services.metrics.routes_audit import AUDIT_VIEWS
from services.metrics.routes_books import BOOK_VIEWS
from services.metrics.routes_counts import COUNT_VIEWS
from services.metrics.routes_operation import OPERATION_VIEWS
from services.metrics.views import View

VIEWS = (*COUNT_VIEWS, *BOOK_VIEWS, *AUDIT_VIEWS, *OPERATION_VIEWS)
"""All of them."""
_IN_PATH = re.compile(r"{(\w+)}")
_REFUSED = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}}


def view_paths() -> dict[str, Any]:
    """The paths of all views."""
    return {view.path: {"get": _operation(view)} for view in VIEWS}


def _operation(view: View) -> dict[str, Any]:
    in_path = [_parameter(name, "path", "which one") for name in _IN_PATH.findall(view.path)]
    return {
        "operationId": view.answer.__name__,
        "summary": f"{view.summary}. Roles: {', '.join(view.roles)}",
        "security": [{"token": []}],
        "parameters": in_path + [_parameter(name, "query", text) for name, text in view.parameters.items()],
        "responses": {
            "200": {"description": view.summary},
            "400": {"description": "the question cannot be answered as asked", **_REFUSED},
            "401": {"description": "no valid token", **_REFUSED},
            "403": {"description": "a token of another role, or another advertiser", **_REFUSED},
            "500": {"description": "an error of ours", **_REFUSED},
            "503": {"description": "too many questions at once, or no tables yet; ask again", **_REFUSED},
        },
    }


def _parameter(name: str, where: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "description": text, "schema": {"type": "string"}}
