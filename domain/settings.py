"""Every setting, typed, frozen, with its default and bounds. Reading the environment is ``warehouse/settings.py``.

A name ends in its unit. An unknown name or a value out of bounds is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from domain.errors import SettingError

PORTS = (1, 65_535)
LATE_REVISIONS = ("apply", "propose")
ALERT_FORMS = ("json", "slack")
CRAWL_GROUPS = ("origin", "registrable_domain")
CRAWL_SCOPES = ("registrable_domain", "host", "origin")


def _setting(
    default: Any, help_text: str, bounds: tuple[int, int] | None = None, choices: tuple[str, ...] | None = None
) -> Any:
    return field(default=default, metadata={"help": help_text, "bounds": bounds, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """One installation's settings. ``home`` holds all state; the rest has defaults for one machine."""

    home: Path
    tables: str = _setting("", "root folder of the Delta tables; empty means home/tables")
    kafka_bootstrap: str = _setting("", "host:port list of a Kafka; empty means the embedded broker")
    broker_port: int = _setting(19092, "port of the embedded broker (its controller listens on the next one)", PORTS)
    broker_heap_mib: int = _setting(384, "heap of the embedded broker", (256, 65_536))
    clicks_topic: str = _setting("clicks", "topic of click events")
    edge_counts_topic: str = _setting("edge_counts", "topic of requests that never became events")
    edge_watermarks_topic: str = _setting("edge_watermarks", "topic of the click servers' watermarks")
    clicks_partitions: int = _setting(8, "partitions of the clicks topic when we create it", (1, 10_000))
    replication_factor: int = _setting(1, "replicas of each topic when we create it", (1, 9))
    live_horizon_hours: int = _setting(24, "dedup horizon of the stream", (2, 168))
    final_horizon_days: int = _setting(7, "dedup horizon of the seal", (1, 60))
    late_bound_seconds: int = _setting(310, "live refuses a click this far behind its partition", (1, 86_400))
    grace_seconds: int = _setting(300, "an hour is not reconciled sooner than this after its end", (0, 86_400))
    drift_alert_per_mille: int = _setting(1, "drift above this share of an advertiser's clicks alerts", (0, 1_000))
    drift_floor_clicks: int = _setting(5, "drift of up to this many clicks an hour never alerts", (0, 1_000_000))
    dispute_hold_days: int = _setting(365, "a dispute's hours are held this long after it is resolved", (0, 36_500))
    raw_retention_days: int = _setting(
        0, "how long raw clicks and identities are kept, 397 or more; 0 keeps them for ever", (0, 36_500)
    )
    vacuum_after_hours: int = _setting(
        168, "replaced files stay this long; tables that declare longer keep them longer", (168, 87_600)
    )
    late_revisions: str = _setting(
        "apply", "whether the hourly schedule applies revisions for late clicks, or only a person", None, LATE_REVISIONS
    )
    quality_calendar: str = _setting("", "file of holidays and launches that explain drift, see docs/quality.md")
    quality_zone: str = _setting("UTC", "time zone whose clocks most visitors live by")
    quality_level_days: int = _setting(7, "a new level of clicks that lasts is usual after this", (7, 28))
    alert_webhook_file: str = _setting("", "file whose only line is the address that alerts are sent to; empty: none")
    alert_form: str = _setting("json", "form of the messages", None, ALERT_FORMS)
    alert_pause_hours: int = _setting(4, "an alert that stays open is sent again after this", (1, 8_760))
    alert_quiet_hours: str = _setting("", "times such as 22:00-07:00 in which only what blocks sealing is sent")
    alert_zone: str = _setting("UTC", "time zone of alert_quiet_hours")
    spark_master: str = _setting("local[2]", "where Spark runs")
    spark_driver_heap_mib: int = _setting(1_200, "heap of a Spark driver", (512, 262_144))
    shuffle_partitions: int = _setting(4, "Spark shuffle partitions; frozen into a checkpoint", (1, 10_000))
    trigger_seconds: int = _setting(5, "pause between two starts of a micro-batch", (0, 3_600))
    freshness_alert_seconds: int = _setting(120, "a click that live shows later than this alerts", (1, 86_400))
    max_batch_events: int = _setting(200_000, "most events of one micro-batch", (1_000, 100_000_000))
    click_port: int = _setting(18310, "port of the click service", PORTS)
    metrics_port: int = _setting(18311, "port of the metrics API", PORTS)
    crawl_api_port: int = _setting(18312, "port of the crawl API", PORTS)
    dagster_port: int = _setting(18300, "port of the Dagster page", PORTS)
    bind_address: str = _setting("127.0.0.1", "address the services listen on")
    server_id: str = _setting("edge-1", "name of this click server")
    click_workers: int = _setting(1, "processes of the click service on its port, each a server of its own", (1, 256))
    trusted_proxies: str = _setting("", "networks whose X-Forwarded-For and country header are believed, with commas")
    country_header: str = _setting("", "header in which a trusted proxy names the visitor's country")
    geoip_file: str = _setting("", "database of countries in MaxMind's format; empty: none")
    log_budget_ms: int = _setting(80, "a click that the log takes longer for goes to the spool too", (10, 5_000))
    spool_limit_mib: int = _setting(1_024, "most that waits in the spool of a click server", (1, 1_048_576))
    head_target: str = _setting("", "where heads of the ledgers are kept: a folder, or s3://bucket/prefix")
    head_retention_days: int = _setting(0, "how long an object store locks a kept head; 0 locks none", (0, 36_500))
    ads_file: str = _setting("", "catalogue of ads (JSON lines) for the ads snapshot; empty means home/ads.jsonl")
    crawl_agent: str = _setting("tallystick", "product token by which robots.txt names the crawler")
    crawl_contact_url: str = _setting("", "page about the crawler for owners of sites; empty: nothing is fetched")
    crawl_ports: str = _setting("80,443", "ports that the crawler may ask, with commas")
    crawl_test_networks: str = _setting(
        "", "networks that are not public and yet crawled, with commas; for tests alone"
    )
    frontier_url: str = _setting("", "database of the crawl's frontier; empty means SQLite under home")
    crawl_gap_seconds: int = _setting(5, "pause between two requests to a new origin", (0, 86_400))
    crawl_in_flight_count: int = _setting(1, "most requests in flight to a new origin", (1, 100))
    crawl_lease_seconds: int = _setting(120, "how long a worker holds a URL without a word", (1, 86_400))
    crawl_scope: str = _setting(
        "registrable_domain", "how far links and redirects of a page are followed", None, CRAWL_SCOPES
    )
    crawl_revisit_hours: int = _setting(
        168, "usually until a page of class general is fetched again; 0 fetches each once", (0, 87_600)
    )
    crawl_news_revisit_hours: int = _setting(1, "the same for class news", (0, 87_600))
    crawl_landing_revisit_hours: int = _setting(24, "the same for class landing", (0, 87_600))
    crawl_documentation_revisit_hours: int = _setting(720, "the same for class documentation", (0, 87_600))
    crawl_discovery_per_mille: int = _setting(
        250, "share of claims reserved for URLs that were never fetched", (0, 1_000)
    )
    crawl_unconditional_per_mille: int = _setting(
        50, "share of visits that ask without validators, to find origins whose validators lie", (0, 1_000)
    )
    crawl_discovery_window_hours: int = _setting(
        24, "an alert where sitemaps or feeds were read and no URL was new for so long", (1, 8_760)
    )
    crawl_depth_count: int = _setting(50, "links from a seed to a URL; deeper ones are cut", (0, 1_000))
    crawl_origin_urls_count: int = _setting(100_000, "URLs of an origin; more are cut", (1, 1_000_000_000))
    crawl_prefix_urls_count: int = _setting(
        20_000, "URLs of an origin under one path of two segments; more are cut", (1, 1_000_000_000)
    )
    crawl_facet_urls_count: int = _setting(
        2_000, "URLs of a path with two query keys or more; more are cut", (1, 1_000_000_000)
    )
    crawl_query_values_count: int = _setting(
        10_000, "different values of a query key of a path; more are cut", (1, 1_000_000_000)
    )
    crawl_spool_mib: int = _setting(64, "results a worker keeps on disk while the frontier is away", (1, 65_536))
    crawl_bodies_days: int = _setting(5, "how long a body is kept after it was last fetched", (1, 36_500))
    crawl_documents_days: int = _setting(30, "how long documents, links and outcomes are kept", (1, 36_500))
    crawl_group: str = _setting("origin", "what a gap holds for: each origin, or their domain too", None, CRAWL_GROUPS)

    @property
    def tables_root(self) -> str:
        return self.tables or str(self.home / "tables")

    @property
    def bootstrap(self) -> str:
        return self.kafka_bootstrap or f"127.0.0.1:{self.broker_port}"

    @property
    def is_broker_embedded(self) -> bool:
        return not self.kafka_bootstrap

    @property
    def ads_path(self) -> Path:
        return Path(self.ads_file) if self.ads_file else self.home / "ads.jsonl"

    @property
    def frontier_database_url(self) -> str:
        return self.frontier_url or f"sqlite:///{self.home / 'frontier.sqlite'}"

    @property
    def crawl_spool_path(self) -> Path:
        return self.home / "crawl-spool"

    @property
    def spool_path(self) -> Path:
        """Of this click server."""
        return self.home / "spool" / self.server_id

    @property
    def log_budget_seconds(self) -> float:
        return self.log_budget_ms / 1_000

    @property
    def spool_limit_bytes(self) -> int:
        return self.spool_limit_mib * 1024 * 1024

    @property
    def bodies_path(self) -> Path:
        return self.home / "bodies"

    @property
    def jars_path(self) -> Path:
        """Where set-up put the jars; shared by all homes of one checkout, see ``Makefile``."""
        return Path(__file__).resolve().parent.parent / ".cache" / "jars"

    @property
    def live_horizon(self) -> timedelta:
        return timedelta(hours=self.live_horizon_hours)

    @property
    def final_horizon(self) -> timedelta:
        return timedelta(days=self.final_horizon_days)

    @property
    def late_bound(self) -> timedelta:
        return timedelta(seconds=self.late_bound_seconds)

    @property
    def freshness_alert(self) -> timedelta:
        return timedelta(seconds=self.freshness_alert_seconds)

    @property
    def grace(self) -> timedelta:
        return timedelta(seconds=self.grace_seconds)


def settings_from(values: Mapping[str, Any], home: Path) -> Settings:
    """Settings from names and raw values (text or typed); ``SettingError`` names the first wrong one."""
    known = {f.name: f for f in fields(Settings) if f.name != "home"}
    typed: dict[str, Any] = {}
    for name, raw in values.items():
        if name not in known:
            raise SettingError(f"unknown setting {name}", f"one of {', '.join(sorted(known))}", "correct or remove it")
        default, bounds = known[name].default, known[name].metadata["bounds"]
        if isinstance(default, int):
            typed[name] = _bounded_int(name, raw, bounds)
        elif isinstance(raw, str):
            typed[name] = _chosen(name, raw, known[name].metadata["choices"])
        else:
            raise SettingError(f"setting {name} is {raw!r}", "text", "correct it")
    return Settings(home=home, **typed)


def _chosen(name: str, raw: str, choices: tuple[str, ...] | None) -> str:
    if choices and raw not in choices:
        raise SettingError(f"setting {name} is {raw!r}", " or ".join(choices), "correct it")
    return raw


def _bounded_int(name: str, raw: Any, bounds: tuple[int, int]) -> int:
    low, high = bounds
    refusal = SettingError(f"setting {name} is {raw!r}", f"a whole number from {low} to {high}", "correct it")
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        raise refusal
    try:
        value = int(raw)
    except ValueError:
        raise refusal from None
    if not low <= value <= high:
        raise refusal
    return value
