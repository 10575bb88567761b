"""Pages that say "not found" and pages that do not, by their text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from domain.soft_404 import HONEST, is_missing_page, missing_page_of, simhash

SORRY = "Sorry, we could not find the page {} that you were looking for. Go back to the start, or search our shop."
ARTICLE = "The bridge over the river was closed this morning after divers found a crack in its second pillar."


PROBE, CHAIRS = "https://a.example/3fa9c1", "https://a.example/garden/chairs-12"


def test_a_page_like_the_missing_one_is_missing() -> None:
    missing = missing_page_of(SORRY.format("/3fa9c1"), PROBE)
    assert is_missing_page(missing, SORRY.format("/garden/chairs-12"), CHAIRS)
    assert is_missing_page(missing, SORRY.format("chairs"), CHAIRS)
    assert not is_missing_page(missing, ARTICLE, CHAIRS)


def test_pages_that_share_their_frame_are_not_one_page() -> None:
    """Forty words of navigation, and a story of seventeen."""
    frame = " ".join(f"menu-{letter} item-{letter}" for letter in "abcdefghijklmnopqrst")
    assert not is_missing_page(missing_page_of(f"{frame} {SORRY}", PROBE), f"{frame} {ARTICLE}", CHAIRS)


def test_who_says_404_is_believed() -> None:
    assert missing_page_of(None, PROBE) == HONEST
    assert missing_page_of("gone", PROBE) == HONEST, "too little to know it again"
    assert not is_missing_page(HONEST, SORRY, CHAIRS)
    assert not is_missing_page(None, SORRY, CHAIRS)
    assert not is_missing_page(missing_page_of(SORRY, PROBE), "", CHAIRS)


@given(st.text())
def test_any_text_has_one_hash(text: str) -> None:
    hashed = simhash(text, PROBE)
    assert hashed is None or 0 <= hashed < 1 << 64
    assert is_missing_page(missing_page_of(text, PROBE), text, PROBE) is (hashed is not None)
