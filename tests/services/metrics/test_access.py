"""Law 13: an advertiser's question is narrowed to its own rows on every path, or refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from domain.buckets import parse_utc
from services.metrics.access import ForbiddenError, check_operator, narrowed, verdict_actor
from services.tokens import Caller
from warehouse.counts_query import CountsQuery

QUERY = CountsQuery(parse_utc("2026-05-03T00:00Z"), parse_utc("2026-05-04T00:00Z"))
KNOWN = {1: {10}, 2: {11}, 3: {10, 11}}
TEN, FINANCE = Caller("advertiser", 10), Caller("finance")


def _owners(ad_ids: Collection[int]) -> dict[int, set[int]]:
    return {ad_id: KNOWN[ad_id] for ad_id in ad_ids if ad_id in KNOWN}


NARROWED = {
    "everything is its own": QUERY,
    "its own by name": replace(QUERY, advertiser_id=10),
    "its own ad": replace(QUERY, ad_ids=frozenset({1})),
    "an ad that was its own once": replace(QUERY, ad_ids=frozenset({1, 3})),
    "an ad that nobody knows": replace(QUERY, ad_ids=frozenset({99})),
    "S3: no ads": replace(QUERY, ad_ids=frozenset()),
    "anybody's campaign": replace(QUERY, campaign_id=200),
}


@pytest.mark.parametrize("query", NARROWED.values(), ids=NARROWED)
def test_an_advertiser_asks_for_its_own_rows(query: CountsQuery) -> None:
    assert narrowed(query, TEN, _owners) == replace(query, advertiser_id=10)


FORBIDDEN = {
    "another advertiser": (replace(QUERY, advertiser_id=11), "advertiser 11"),
    "another's ad": (replace(QUERY, ad_ids=frozenset({2})), "ads of another advertiser: 2"),
    "another's ad among its own": (replace(QUERY, ad_ids=frozenset({1, 2})), "ads of another advertiser: 2"),
}


@pytest.mark.parametrize(("query", "found"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_is_another_s_is_refused(query: CountsQuery, found: str) -> None:
    with pytest.raises(ForbiddenError) as caught:
        narrowed(query, TEN, _owners)
    assert caught.value.found == found


@pytest.mark.parametrize("query", [*NARROWED.values(), *(query for query, _ in FORBIDDEN.values())])
def test_other_roles_ask_as_they_like(query: CountsQuery) -> None:
    assert narrowed(query, FINANCE, _owners) == query


def test_who_hands_in_verdicts_sees_nothing() -> None:
    with pytest.raises(ForbiddenError, match="a token of role verdicts; expected one that may read counts"):
        narrowed(QUERY, Caller("verdicts", person="lab"), _owners)


def test_only_its_role_hands_in_verdicts() -> None:
    assert verdict_actor(Caller("verdicts", person="lab")) == "lab"
    for caller in (TEN, FINANCE, Caller("operator", person="lab"), Caller("approve", person="lab")):
        with pytest.raises(ForbiddenError, match="expected one of role verdicts"):
            verdict_actor(caller)


def test_how_the_stream_is_doing_is_shown_to_operators() -> None:
    check_operator(Caller("operator"))
    for caller in (TEN, FINANCE, Caller("auditor"), Caller("approve", person="ada"), Caller("verdicts", person="lab")):
        with pytest.raises(ForbiddenError, match="expected one of role operator"):
            check_operator(caller)
