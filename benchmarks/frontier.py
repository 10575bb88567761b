"""How many URLs a second eight workers claim, with bucket and fence, on SQLite and PostgreSQL, as the frontier grows.

Three ways: one claim a transaction, sixteen, and one with its completion. The peer is a plain queue in the same
database through the same library, ``UPDATE ... RETURNING`` without bucket, fence or history. The same number of claims
is timed at each size; what was known before is made outside of the time. Prints what it does, and on its last line one
JSON object. PostgreSQL runs with its own defaults, and only where it is installed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, insert, text

from crawler.frontier.claims import Claimer
from crawler.frontier.database import Frontier, Policy, now_of, open_frontier
from crawler.frontier.leases import Completion, complete
from crawler.frontier.schema import BUCKETS
from domain.politeness import SECOND_MICROS

sys.path.append(str(Path(__file__).resolve().parent.parent))  # the server for tests is not installed with the product
from tests.support.postgres import find_binaries, postgres_server

WORKERS = 8
SIZES, QUICK_SIZES = (10_000, 1_000_000, 5_000_000), (10_000, 200_000)
ORIGINS = 5_000
CLAIMS, QUICK_CLAIMS = 500, 60
"""Of each worker in each way."""
BATCH = 16
POLICY = Policy(gap_micros=SECOND_MICROS, in_flight_cap=1, lease_micros=3_600 * SECOND_MICROS)

FILL_URLS = {
    "sqlite": """
        WITH RECURSIVE numbers(n) AS (SELECT :known UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :wanted)
        INSERT INTO urls (url_key, url, raw_url, origin_id, source, depth, priority, state, reason, due_at, rank_at,
                          added_at, changed_at)
        SELECT CAST(printf('%032d', n) AS BLOB), 'https://o' || (n % :origins) || '.example/' || n, '',
               n % :origins + 1, 'seed', 0, 0, 'ready', 'added', :now, :now + n, :now, :now
        FROM numbers""",
    "postgresql": """
        INSERT INTO urls (url_key, url, raw_url, origin_id, source, depth, priority, state, reason, due_at, rank_at,
                          added_at, changed_at)
        SELECT convert_to(lpad(n::text, 32, '0'), 'UTF8'), 'https://o' || (n % :origins) || '.example/' || n, '',
               n % :origins + 1, 'seed', 0, 0, 'ready', 'added', :now, :now + n, :now, :now
        FROM generate_series(CAST(:known AS bigint), CAST(:wanted AS bigint) - 1) AS numbers(n)""",
}
"""Knows as many URLs as are wanted, spread over the origins."""
FILL_PEER = {
    "sqlite": """
        WITH RECURSIVE numbers(n) AS (SELECT :known UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :wanted)
        INSERT INTO peer SELECT n, 'ready' FROM numbers""",
    "postgresql": """
        INSERT INTO peer SELECT n, 'ready'
        FROM generate_series(CAST(:known AS bigint), CAST(:wanted AS bigint) - 1) AS numbers(n)""",
}
TAKE_FROM_PEER = {
    "sqlite": """
        UPDATE peer SET state = 'leased' WHERE id = (SELECT id FROM peer WHERE state = 'ready' ORDER BY id LIMIT 1)
        RETURNING id""",
    "postgresql": """
        UPDATE peer SET state = 'leased' WHERE id =
            (SELECT id FROM peer WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING id""",
}


def claim_some(frontier: Frontier, name: str, count: int, *, most: int, is_completed: bool) -> int:
    """Claims that many URLs, some in one transaction; how many there were."""
    claimer, done = Claimer(frontier, name), 0
    while done < count:
        leases = claimer.claim(most)
        for lease in leases if is_completed else ():
            complete(frontier, lease, Completion("fetched", 0))
        done += len(leases)
    return done


def take_some(frontier: Frontier, _name: str, count: int) -> int:
    """The peer: that many rows, each in a transaction."""
    statement = text(TAKE_FROM_PEER[frontier.engine.dialect.name])
    done = 0
    while done < count:
        with frontier.writing() as connection:
            done += len(connection.execute(statement).all())
    return done


WAYS: dict[str, Callable[[Frontier, str, int], int]] = {
    "claims_per_second": partial(claim_some, most=1, is_completed=False),
    "batched_claims_per_second": partial(claim_some, most=BATCH, is_completed=False),
    "claims_with_completion_per_second": partial(claim_some, most=1, is_completed=True),
    "peer_claims_per_second": take_some,
}


def work(number: int, url: str, way: str, count: int, *, barrier: Any, results: Any) -> None:
    """One worker process: gets ready, waits for the others, works, and says from when until when."""
    frontier = open_frontier(url, POLICY)
    with frontier.writing() as connection:
        now_of(connection)
    barrier.wait()
    started = time.monotonic()
    done = WAYS[way](frontier, f"worker-{number}", count)
    results.put((started, time.monotonic(), done))
    frontier.close()


def rate(url: str, way: str, count: int) -> float:
    """Claims a second of all workers together, from the first start to the last end."""
    context = get_context("spawn")
    barrier, results = context.Barrier(WORKERS), context.Queue()
    shared = {"barrier": barrier, "results": results}
    workers = [context.Process(target=work, args=(n, url, way, count), kwargs=shared) for n in range(WORKERS)]
    for worker in workers:
        worker.start()
    ends = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(done for _, _, done in ends) / (max(end for _, end, _ in ends) - min(start for start, _, _ in ends))


def fill(connection: Connection, known: int, wanted: int) -> None:
    """Adds URLs until that many were ever known; all origins are free, and none has a gap running."""
    dialect, now = connection.dialect.name, now_of(connection)
    numbers = {"known": known, "wanted": wanted}
    connection.execute(text(FILL_URLS[dialect]), {**numbers, "origins": ORIGINS, "now": now})
    connection.execute(text(FILL_PEER[dialect]), numbers)


def free_all(connection: Connection) -> None:
    """What was claimed before is done, and every origin may be claimed."""
    connection.execute(text("UPDATE urls SET state = 'done', lease_expires_at = NULL WHERE state = 'leased'"))
    connection.execute(
        text(
            "UPDATE buckets SET in_flight_count = 0, claimable_at = 0, startable_at = 0, ready_count ="
            " (SELECT count(*) FROM urls WHERE urls.origin_id = buckets.bucket_id AND urls.state = 'ready')"
        )
    )


def measure(url: str, sizes: tuple[int, ...], count: int) -> dict[str, Any]:
    """Every way at every size, in one database that grows."""
    frontier = open_frontier(url, POLICY)
    dialect = frontier.engine.dialect.name
    with frontier.writing() as connection:
        rows = [
            {"kind": "origin", "key": f"https://o{n}.example", "host": f"o{n}.example", "class_name": "general"}
            | {"registrable_domain": f"o{n}.example", "gap_micros": POLICY.gap_micros, "in_flight_cap": 1}
            for n in range(ORIGINS)
        ]
        connection.execute(insert(BUCKETS), rows)
        connection.execute(text("CREATE TABLE peer (id BIGINT PRIMARY KEY, state TEXT NOT NULL)"))
        connection.execute(text("CREATE INDEX peer_ready ON peer (id) WHERE state = 'ready'"))
    figures: dict[str, Any] = {}
    for known, wanted in zip((0, *sizes), sizes, strict=False):
        with frontier.writing() as connection:
            fill(connection, known, wanted)
        found = {}
        for way in WAYS:
            with frontier.writing() as connection:
                free_all(connection)
            found[way] = round(rate(url, way, count))
            print(f"{dialect}, {wanted:,} known: {found[way]:,} {way}", flush=True)
        found["ratio_to_peer"] = round(found["claims_per_second"] / found["peer_claims_per_second"], 2)
        figures[f"known_{wanted}"] = found
    first, last = (figures[f"known_{size}"]["claims_per_second"] for size in (sizes[0], sizes[-1]))
    figures["ratio_of_largest_to_smallest"] = round(last / first, 2)
    frontier.close()
    return figures


def main(is_quick: bool) -> dict[str, Any]:
    """Both databases, one after the other."""
    sizes, count = (QUICK_SIZES, QUICK_CLAIMS) if is_quick else (SIZES, CLAIMS)
    figures: dict[str, Any] = {}
    with TemporaryDirectory(prefix="tallystick-bench-") as folder:
        figures["sqlite"] = measure(f"sqlite:///{folder}/frontier.sqlite", sizes, count)
    binaries = find_binaries()
    if binaries is None:
        print("no PostgreSQL is installed: SQLite only")
        return figures
    with postgres_server(binaries, ("max_connections=200", "listen_addresses=")) as url:
        figures["postgresql"] = measure(url, sizes, count)
    return figures


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv[1:])))
