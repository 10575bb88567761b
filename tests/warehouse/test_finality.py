"""Sealed is not visible: an hour counts only once a publication holds its seal."""

from __future__ import annotations

from datetime import timedelta

from domain.settings import Settings
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT, publication_draft, seal_draft
from warehouse.finality import unsealed_hours
from warehouse.publications import append_publication
from warehouse.seals import append_seals

HOURS = [FIRST_HOUR + timedelta(hours=number) for number in range(3)]


def test_an_hour_is_open_until_its_seal_is_published(settings: Settings) -> None:
    assert unsealed_hours(settings, HOURS) == HOURS
    append_seals(settings, [seal_draft(0), seal_draft(1)], 0, WRITTEN_AT)
    assert unsealed_hours(settings, HOURS) == HOURS
    append_publication(settings, publication_draft(seal_number=1), 0, WRITTEN_AT)
    assert unsealed_hours(settings, HOURS) == HOURS[1:]
    append_publication(settings, publication_draft(seal_number=2), 1, WRITTEN_AT)
    assert unsealed_hours(settings, HOURS) == HOURS[2:]
