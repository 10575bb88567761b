"""Publications in their table: one at a time, behind the expected head, the newest is what readers open."""

from __future__ import annotations

import pytest

from domain.errors import IntegrityError, LedgerConflictError
from domain.publications import check_publications
from domain.settings import Settings
from tests.support.ledgers import WRITTEN_AT, publication_draft
from warehouse.publications import append_publication, latest_publication, read_publications


def test_nothing_is_published_at_first(settings: Settings) -> None:
    assert latest_publication(settings) is None
    assert read_publications(settings) == []


def test_the_newest_is_what_readers_open(settings: Settings) -> None:
    appended = [
        append_publication(settings, publication_draft(number), head, WRITTEN_AT)
        for head, number in enumerate([1, 1, 4])
    ]
    assert read_publications(settings) == appended
    assert latest_publication(settings) == appended[-1]
    assert check_publications(appended) == []


@pytest.mark.parametrize("expected_head", [0, 2], ids=["behind", "ahead"])
def test_another_head_than_expected_publishes_nothing(settings: Settings, expected_head: int) -> None:
    append_publication(settings, publication_draft(1), 0, WRITTEN_AT)
    with pytest.raises(LedgerConflictError, match=rf"publications has number 1; expected number {expected_head}"):
        append_publication(settings, publication_draft(2), expected_head, WRITTEN_AT)
    assert len(read_publications(settings)) == 1


def test_seals_that_are_visible_are_not_hidden_again(settings: Settings) -> None:
    append_publication(settings, publication_draft(3), 0, WRITTEN_AT)
    with pytest.raises(IntegrityError, match="seals up to 2; expected at least seal 3"):
        append_publication(settings, publication_draft(2), 1, WRITTEN_AT)
    assert len(read_publications(settings)) == 1
