"""Seeds as people type them: bad ones are refused and counted, the others taken in.

Belongs here: what a list of raw URLs becomes. Taking candidates in is ``crawler/frontier/adding.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from crawler.frontier.adding import Added, Candidate, add_urls, refuse
from crawler.frontier.database import Frontier
from crawler.urls import UrlRefusedError, normalise
from domain.class_shares import CLASS_SHARES, DEFAULT_CLASS
from domain.crawl_states import check_priority
from domain.errors import UsageError
from domain.texts import check_actor

SOURCE = "seed"


def add_seeds(
    frontier: Frontier, raw_urls: Sequence[str], actor: str, priority: int = 0, class_name: str = DEFAULT_CLASS
) -> list[Added]:
    """What became of each, refused ones first. Repeatable; ``UsageError`` before anything is taken in."""
    check_actor(actor)
    check_priority(priority)
    if class_name not in CLASS_SHARES:
        raise UsageError(f"class {class_name!r}", f"one of {', '.join(CLASS_SHARES)}", "correct it")
    done, candidates = [], []
    for raw in raw_urls:
        try:
            candidates.append(Candidate(normalise(raw), raw, SOURCE, priority, 0, class_name))
        except UrlRefusedError as error:
            refuse(frontier, raw, error.reason, SOURCE)
            done.append(Added(raw, "refused", error.reason))
    return [*done, *add_urls(frontier, candidates, actor)]
