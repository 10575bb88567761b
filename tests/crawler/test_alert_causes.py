"""Open alerts of the crawl become causes, one a kind; where nothing was crawled, no frontier is made."""

from __future__ import annotations

from pathlib import Path

from crawler.alert_causes import crawl_causes
from crawler.frontier.alerts import close_alert, raise_alert
from crawler.frontier.database import frontier_of
from domain.settings import Settings


def test_origins_in_the_same_trouble_are_one_cause_until_it_is_closed(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    frontier = frontier_of(settings)
    with frontier.writing() as connection:
        for origin in ("https://a.example", "https://b.example"):
            raise_alert(connection, "trap", origin, f"{origin} has 9 cut URLs", 1)
        raise_alert(connection, "no_new_urls", "*", "none for 24 hours", 1)
        close_alert(connection, "no_new_urls", "*", 2)
    frontier.close()
    (cause,) = crawl_causes(settings)
    assert (cause.key, cause.severity, cause.about) == ("trap", "warn", "crawl of https://a.example and 1 more")
    assert cause.observed == "https://a.example has 9 cut URLs"


def test_where_nothing_was_crawled_nothing_is_made(tmp_path: Path) -> None:
    assert crawl_causes(Settings(home=tmp_path / "home")) == []
    assert not (tmp_path / "home").exists()
