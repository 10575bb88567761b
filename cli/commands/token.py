"""``tallystick token``: a bearer token for the metrics API."""

from __future__ import annotations

from typing import Annotated

import typer

from domain.errors import UsageError
from services.tokens import DEFAULT_DAYS, MAX_DAYS, ROLES, Caller, make_token, token_key
from warehouse.clock import now
from warehouse.settings import load_settings


def token(
    role: Annotated[str, typer.Option(help=f"Who it speaks for: {', '.join(ROLES)}.")],
    advertiser: Annotated[int | None, typer.Option(min=1, help="The advertiser, with role advertiser.")] = None,
    person: Annotated[
        str | None, typer.Option(help="Who it is made for, such as ada; with roles approve and verdicts.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=MAX_DAYS, help="How long it is valid.")] = DEFAULT_DAYS,
) -> None:
    """Print a token with which the metrics API is asked: `Authorization: Bearer TOKEN`."""
    known = next((each for each in ROLES if each == role), None)
    if known is None:
        raise UsageError(f"role {role!r}", f"one of {', '.join(ROLES)}", "correct it")
    print(make_token(token_key(load_settings()), Caller(known, advertiser, person), now(), days))
