"""Whose rows a caller may see: an advertiser its own, the other roles all, and one that hands in verdicts none.

Belongs here: the one step between a question and its answer that no path goes around. Who the caller is:
``services/tokens.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from domain.errors import TallystickError
from services.tokens import Caller
from warehouse.counts_query import CountsQuery

Owners = Callable[[Collection[int]], dict[int, set[int]]]
"""Takes ads, gives every advertiser that each known one has ever had."""
VERDICTS = "verdicts"
OPERATOR = "operator"


class ForbiddenError(TallystickError):
    """A caller asks for what belongs to somebody else."""


def verdict_actor(caller: Caller) -> str:
    """Under whose name verdicts are taken in; ``ForbiddenError`` for callers of another role."""
    if caller.role != VERDICTS or caller.person is None:
        raise ForbiddenError(
            f"a token of role {caller.role}",
            f"one of role {VERDICTS}",
            "let an operator make one by `tallystick token`",
        )
    return caller.person


def check_operator(caller: Caller) -> None:
    """``ForbiddenError`` for callers of another role: how the installation runs is shown to who runs it."""
    if caller.role != OPERATOR:
        raise ForbiddenError(
            f"a token of role {caller.role}", f"one of role {OPERATOR}", "make one by `tallystick token`"
        )


def narrowed(query: CountsQuery, caller: Caller, owners: Owners) -> CountsQuery:
    """The question as this caller may ask it: an advertiser's is always narrowed to the rows it pays for.

    ``ForbiddenError`` if it names another advertiser, or an ad that is known and was never the caller's, or comes from
    one that may only hand in verdicts. An ad that is not known yields no rows.
    """
    if caller.role == VERDICTS:
        raise ForbiddenError(f"a token of role {VERDICTS}", "one that may read counts", "make one with another role")
    if caller.advertiser_id is None:
        return query
    own = caller.advertiser_id
    if query.advertiser_id not in (None, own):
        raise ForbiddenError(f"advertiser {query.advertiser_id}", f"advertiser {own}, the token's", "leave it out")
    foreign = [ad for ad, advertisers in sorted(owners(query.ad_ids or ()).items()) if own not in advertisers]
    if foreign:
        raise ForbiddenError(
            f"ads of another advertiser: {', '.join(map(str, foreign))}", f"ads of advertiser {own}", "leave them out"
        )
    return replace(query, advertiser_id=own)
