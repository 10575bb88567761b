"""A lease on one URL of another origin, for a robots.txt that moved there: claimed out of turn, never out of measure.

Belongs here: that claim. Slot, gap, switch, suppression and fence of the other origin hold as for any claim; only the
choice of the URL is the caller's. Such a URL is ``done`` between its leases, so no other claim takes it.
"""

from __future__ import annotations

from sqlalchemy import bindparam, select, text, update

from crawler.frontier.adding import Candidate, bucket_ids_of, insert_url, suppressions_over, url_key
from crawler.frontier.buckets import bucket_of, write_buckets
from crawler.frontier.claims import LEASE_COLUMNS, lease_of
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.events import UrlEvent, log_urls
from crawler.frontier.schema import BUCKETS, URLS
from domain.crawl_states import ROBOTS_HOP, Lease
from domain.frontier import UrlIdentity


def claim_hop(frontier: Frontier, url: UrlIdentity, owner: str) -> Lease | None:
    """The lease, with the clock and a slot of its origin taken; None if that allows none at this instant, or never.

    Atomic. The origin is made if it is not known.
    """
    with frontier.writing() as connection:
        if connection.dialect.name == "postgresql":  # as for URLs that are taken in
            connection.execute(text("LOCK TABLE suppressions IN SHARE MODE"))
        if any(one.covers(url) for one in suppressions_over(connection, [url])):
            return None
        candidate = Candidate(url, url.url, ROBOTS_HOP)
        origin_id = bucket_ids_of(connection, frontier, [candidate])[url.origin]
        group_id = connection.execute(select(BUCKETS.c.group_id).where(BUCKETS.c.bucket_id == origin_id)).scalar()
        held = lock_buckets(connection, (origin_id, group_id))
        now = now_of(connection)
        buckets = {one: bucket_of(row) for one, row in held.items()}
        if held[origin_id]["switch"] != "open" or not all(one.is_claimable(now) for one in buckets.values()):
            return None
        insert_url(connection, candidate, origin_id, now)
        taken = connection.execute(
            _TAKE,
            {"of_key": url_key(url.url), "owner": owner, "now_at": now, "expires": now + frontier.policy.lease_micros},
        ).first()
        if taken is None:
            return None
        write_buckets(connection, {one: (bucket.claimed(now), 0) for one, bucket in buckets.items()})
        log_urls(connection, [UrlEvent(taken.url_id, now, "leased", ROBOTS_HOP, owner, taken.fence)])
        return lease_of(taken, held[origin_id], owner)


_TAKE = (
    update(URLS)
    .where(URLS.c.url_key == bindparam("of_key"), URLS.c.state == "done")
    .values(
        state="leased",
        reason=ROBOTS_HOP,
        fence=URLS.c.fence + 1,
        attempt_count=1,
        lease_owner=bindparam("owner"),
        lease_expires_at=bindparam("expires"),
        started_at=None,
        changed_at=bindparam("now_at"),
    )
    .returning(*LEASE_COLUMNS)
)
"""done > leased. Whatever else the URL is in, for example as a seed, is somebody else's plan."""
