"""Publications: the chain, and that visible seals stay visible."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.chain import GENESIS_HASH
from domain.errors import IntegrityError
from domain.publications import Publication, chain_draft, check_publications
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT, publication_draft


def _publications(*seal_numbers: int) -> list[Publication]:
    publications: list[Publication] = []
    for number in seal_numbers:
        before = publications[-1] if publications else None
        publications.append(chain_draft(before, publication_draft(number), WRITTEN_AT))
    return publications


def test_each_follows_the_one_before() -> None:
    first, second, third = _publications(1, 1, 5)
    assert [first.publication_number, second.publication_number, third.publication_number] == [1, 2, 3]
    assert [first.previous_hash, second.previous_hash, third.previous_hash] == [GENESIS_HASH, first.hash, second.hash]
    assert check_publications([first, second, third]) == []


def test_the_hash_of_a_publication_is_what_it_always_was() -> None:
    """A golden value, made with sha256sum: a change of the rule would break every chain there is."""
    assert _publications(1)[0].hash == "392b04cf78137e3c178fc6928dbc1ae461107af55d0b860195552a8b7023e042"


def test_fewer_seals_than_are_visible_are_refused() -> None:
    with pytest.raises(IntegrityError, match="seals up to 4; expected at least seal 5"):
        _publications(5, 4)


def test_what_is_final_stays_final() -> None:
    """A reader was told so, and may have billed it."""
    (known,) = _publications(1)
    earlier = replace(publication_draft(2), final_until=known.final_until - timedelta(hours=1))
    with pytest.raises(IntegrityError, match="a publication that is final until"):
        chain_draft(known, earlier, WRITTEN_AT)


@pytest.mark.parametrize(
    "change",
    [
        {"seal_number": 9},
        {"minute_version": 9},
        {"hour_version": 9},
        {"day_version": 9},
        {"final_until": FIRST_HOUR},
        {"published_at": WRITTEN_AT + timedelta(microseconds=1)},
    ],
    ids="+".join,
)
def test_a_changed_column_is_found(change: dict[str, Any]) -> None:
    publications = _publications(1, 2, 3)
    publications[1] = replace(publications[1], **change)
    assert check_publications(publications) == ["publication 2: its columns do not have its hash, they were changed"]
