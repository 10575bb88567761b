"""Writing the crawl's tables: a date is replaced whole, and never over somebody else's commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import LedgerConflictError
from domain.settings import Settings
from domain.suppressions import Suppression, SuppressionKind
from tests.warehouse.test_crawl_documents import DAY, NEXT, row
from warehouse import crawl_rows
from warehouse.crawl_documents import read_crawl
from warehouse.crawl_rows import append_rows, delete_pages, replace_date, writing_crawl_tables
from warehouse.layout import open_table


def events(settings: Settings) -> list[str]:
    found: list[str] = read_crawl(settings, "documents", DAY, NEXT).column("event_id").to_pylist()
    return found


def test_a_date_is_replaced_and_others_stay(settings: Settings) -> None:
    append_rows(
        settings, "documents", [row("documents", event_id="old"), row("documents", event_id="a", fetch_date=NEXT)]
    )
    replace_date(settings, "documents", DAY, [row("documents", event_id="new")])
    assert events(settings) == ["a", "new"]
    replace_date(settings, "documents", DAY, [])
    assert events(settings) == ["a"]


def test_a_date_is_not_replaced_over_a_commit_of_somebody_else(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = open_table(settings, "documents")
    append_rows(settings, "documents", [row("documents", event_id="theirs")])
    monkeypatch.setattr(crawl_rows, "open_table", lambda *_arguments: stale)
    with pytest.raises(LedgerConflictError, match="changed by somebody else"):
        replace_date(settings, "documents", DAY, [row("documents", event_id="ours")])
    monkeypatch.undo()
    assert events(settings) == ["theirs"]


@pytest.mark.parametrize(
    ("kind", "pattern", "left"),
    [
        ("url", "https://a.x.example/p", ["prefixed", "same host", "sibling", "stranger"]),
        ("prefix", "https://a.x.example/p", ["same host", "sibling", "stranger"]),
        ("host", "a.x.example", ["sibling", "stranger"]),
        ("registrable_domain", "x.example", ["stranger"]),
    ],
)
def test_pages_are_deleted_by_every_kind_of_pattern(
    settings: Settings, kind: SuppressionKind, pattern: str, left: list[str]
) -> None:
    pages = {
        "exact": ("https://a.x.example/p", "a.x.example", "x.example"),
        "prefixed": ("https://a.x.example/page", "a.x.example", "x.example"),
        "same host": ("https://a.x.example/", "a.x.example", "x.example"),
        "sibling": ("https://b.x.example/p", "b.x.example", "x.example"),
        "stranger": ("https://a.x.example.org/p", "a.x.example.org", "example.org"),
    }
    rows = [
        row("documents", event_id=name, url=url, host=host, registrable_domain=domain)
        for name, (url, host, domain) in pages.items()
    ]
    append_rows(settings, "documents", rows)
    assert delete_pages(settings, Suppression(1, kind, pattern)) == {
        "documents": 5 - len(left), "links": 0, "fetch_log": 0, "near_duplicates": 0,
    }  # fmt: skip
    assert events(settings) == left


def test_only_the_crawl_s_own_tables_are_made(tmp_path: Path) -> None:
    """A lost table of the stream is not made anew in silence by a crawl."""
    made = Settings(home=tmp_path / "home")
    with writing_crawl_tables(made):
        found = sorted(path.name for path in (made.home / "tables").iterdir())
    assert found == ["documents", "fetch_log", "links", "near_duplicates"]
