"""The body of a request to the crawl API: one JSON object with known fields, of bounded size.

Belongs here: reading it, and refusing what is misspelt or of another type. What the fields mean is the crawler's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request

from domain.errors import UsageError
from services.metrics.refusals import BodyTooLargeError, MediaTypeError

MAX_BODY_BYTES = 1_048_576
JSON = "application/json"
Kinds = Mapping[str, type]


async def read_fields(request: Request, required: Kinds, optional: Kinds) -> dict[str, Any]:
    """The fields of the body, each of its type. An unknown one is refused: a misspelt reason must not be lost."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != JSON:
        raise MediaTypeError(f"Content-Type {given[:100]!r}", JSON, "correct it")
    try:
        fields = orjson.loads(await _body(request))
    except orjson.JSONDecodeError as error:
        raise UsageError(f"a body that is no JSON: {error}", "one JSON object", "correct it") from error
    if not isinstance(fields, dict):
        raise UsageError(f"a body that is a {type(fields).__name__}", "one JSON object", "correct it")
    known = {**required, **optional}
    _check_names(set(fields), set(required), set(known))
    for name, value in fields.items():
        if type(value) is not known[name]:  # a truth value is an integer to Python, and not to us
            raise UsageError(f"field {name} is {str(value)[:100]!r}", known[name].__name__, "correct it")
    return fields


def _check_names(given: set[str], required: set[str], known: set[str]) -> None:
    wrong = [f"no field {name}" for name in sorted(required - given)]
    wrong += [f"field {name[:100]!r}" for name in sorted(given - known)]
    if wrong:
        raise UsageError(", ".join(wrong), f"fields {', '.join(sorted(known))}", "correct the body")


async def _body(request: Request) -> bytes:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise BodyTooLargeError("a larger body", f"at most {MAX_BODY_BYTES:,} bytes", "send several")
    return bytes(content)
