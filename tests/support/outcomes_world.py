"""Sealed hours with their outcomes in table click_outcomes_hour, added up from raw by other code than the product's."""

from __future__ import annotations

from datetime import datetime

from domain.seals import Seal
from quality.outcome_tallies import read_tallies
from tests.support.sealed_world import SealedWorld
from warehouse.outcomes import append_outcomes


def seal_with_outcomes(world: SealedWorld, *hours: datetime) -> list[Seal]:
    """Seals the hours and writes what reconcile would say of them."""
    seals = world.seal(*hours)
    attempts = {seal.hour: seal.attempt for seal in seals}
    append_outcomes(world.settings, [[(attempts[tally.hour], tally) for tally in read_tallies(world.settings, seals)]])
    return seals
