"""How fast one click process on one core redirects, against nginx, the broker's own acknowledgements and fsync.

The click service and nginx (``return 302``, one worker) take turns on the same core; wrk, the broker and this program
have the other. Three figures: the largest rate with keep-alive; the time of a redirect at 80 % of it, against the time
in which the broker acknowledges records at that rate when nobody else asks it; and the same with the broker killed,
against the time of an fsync of a click's size. Prints what it does, and on its last line one JSON object.
``--quick`` takes seconds instead of a minute for each. Needs wrk and nginx (Debian: wrk and nginx-light).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clicklog.broker import start_broker
from clicklog.producer import ClickProducer, OnAck
from domain.links import CLICK_PATH, link_query
from domain.settings import Settings
from services.click.keys import load_key_ring

sys.path.append(str(Path(__file__).resolve().parent.parent))  # the makers of tests are not installed with the product
from tests.support.click_parts import home_with_ads
from tests.support.click_process import ClickProcess
from tests.support.ports import free_broker_port, free_port

SECONDS, QUICK_SECONDS = 20, 4
CONNECTIONS = 64
LINKS = 20_000
SERVICE_CORE, OTHER_CORE = 0, 1
LOAD_SHARE = 0.8
FSYNCS = 200
WARM_UP_SECONDS = 2
MILLISECONDS = 1_000

PACED = """
local links, next_link = {{}}, 0
for line in io.lines("{links}") do links[#links + 1] = line end
local step = 0
function setup(thread) thread:set("step", step); step = step + 1 end
function request()
  next_link = next_link + 1
  return wrk.format("GET", links[(next_link + (step or 0) * 7919) % #links + 1])
end
{delay}
"""
DELAY = "function delay() return math.random(0, {most_ms}) end"
NGINX = """
worker_processes 1; daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 100000000;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; location / {{ return 302 https://shop.example/landing; }} }} }}
"""


@dataclass(frozen=True)
class Load:
    """What wrk saw: answers a second, and milliseconds at two quantiles."""

    rate: float
    p50_ms: float
    p99_ms: float


def main() -> None:
    seconds = QUICK_SECONDS if "--quick" in sys.argv else SECONDS
    missing = [name for name in ("wrk", "nginx", "taskset") if shutil.which(name) is None]
    if missing:
        sys.exit(f"missing: {', '.join(missing)}; on Debian: apt-get install wrk nginx-light util-linux")
    with TemporaryDirectory(prefix="redirect-") as folder:
        print(json.dumps(_measured(Path(folder), seconds)))


def _measured(folder: Path, seconds: int) -> dict[str, float]:
    settings = home_with_ads(folder / "home", broker_port=free_broker_port(), click_port=free_port())
    settings = replace(settings, spool_limit_mib=8_192)
    links = _links(settings, folder)
    os.sched_setaffinity(0, {OTHER_CORE})
    nginx = _nginx_rate(folder, links, seconds)
    print(f"nginx return 302: {nginx.rate:,.0f} a second")
    with start_broker(settings) as broker, _on_core(SERVICE_CORE, lambda: ClickProcess(settings)) as service:
        service.wait_until_ready()
        _wrk(settings.click_port, links, folder, seconds)
        largest = _wrk(settings.click_port, links, folder, seconds)
        print(f"redirects: {largest.rate:,.0f} a second")
        loaded = _wrk_at(settings.click_port, links, folder, seconds, LOAD_SHARE * largest.rate)
        ack_ms = _ack_p99_ms(settings, loaded.rate, seconds)
        print(f"at {loaded.rate:,.0f} a second: p99 {loaded.p99_ms:.1f} ms; the broker alone {ack_ms:.1f} ms")
        os.kill(broker.pid, signal.SIGKILL)
        time.sleep(2)
        spooling = _wrk(settings.click_port, links, folder, seconds)
        spool_loaded = _wrk_at(settings.click_port, links, folder, seconds, LOAD_SHARE * spooling.rate)
        fsync_ms = _fsync_p99_ms(folder)
        print(
            f"broker away: {spooling.rate:,.0f} a second; at {spool_loaded.rate:,.0f} p99 {spool_loaded.p99_ms:.1f} ms"
        )
        print(f"an fsync: p99 {fsync_ms:.1f} ms")
        service.process.kill()
    return {
        "nginx_redirects_per_second": round(nginx.rate),
        "redirects_per_second": round(largest.rate),
        "rate_to_nginx_ratio": round(largest.rate / nginx.rate, 3),
        "p99_at_80_percent_ms": loaded.p99_ms,
        "broker_ack_p99_ms": ack_ms,
        "p99_to_ack_ratio": round(loaded.p99_ms / ack_ms, 2),
        "spooled_redirects_per_second": round(spooling.rate),
        "spooled_p99_at_80_percent_ms": spool_loaded.p99_ms,
        "fsync_p99_ms": fsync_ms,
        "spooled_p99_to_fsync_ratio": round(spool_loaded.p99_ms / fsync_ms, 2),
    }


def _links(settings: Settings, folder: Path) -> Path:
    ring = load_key_ring(settings)
    path = folder / "links"
    path.write_text("".join(f"{CLICK_PATH}?{link_query(ring.sign(f'imp-{n}', 17))}\n" for n in range(LINKS)))
    return path


def _nginx_rate(folder: Path, links: Path, seconds: int) -> Load:
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port))
    command = ["taskset", "-c", str(SERVICE_CORE), "nginx", "-p", str(folder), "-c", str(config)]
    process = subprocess.Popen(command)
    try:
        time.sleep(1)
        return _wrk(port, links, folder, seconds)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _on_core(core: int, start: Callable[[], ClickProcess]) -> Iterator[ClickProcess]:
    """A process inherits the cores of who starts it."""
    os.sched_setaffinity(0, {core})
    with start() as process:
        os.sched_setaffinity(0, {OTHER_CORE})
        yield process


def _wrk(port: int, links: Path, folder: Path, seconds: int, delay: str = "") -> Load:
    script = folder / "wrk.lua"
    script.write_text(PACED.format(links=links, delay=delay))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(script)]
    ran = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    if "Non-2xx" in ran.stdout or "Socket errors" in ran.stdout:
        sys.exit(f"not every request was redirected:\n{ran.stdout}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", ran.stdout)
    assert rate is not None, ran.stdout
    return Load(float(rate[1]), _quantile(ran.stdout, 50), _quantile(ran.stdout, 99))


def _wrk_at(port: int, links: Path, folder: Path, seconds: int, rate: float) -> Load:
    """Each connection pauses for a random time, so that together they come to about this rate.

    A first short run tells how much of the cycle the answers take; the pause is what is left of it.
    """
    cycle = CONNECTIONS / rate
    tried = _wrk(port, links, folder, max(2, seconds // 4), DELAY.format(most_ms=round(2 * cycle * MILLISECONDS)))
    pause = max(0.0, cycle - (CONNECTIONS / tried.rate - cycle))
    return _wrk(port, links, folder, seconds, DELAY.format(most_ms=round(2 * pause * MILLISECONDS)))


def _quantile(output: str, percent: int) -> float:
    found = re.search(rf"{percent}(?:\.000)?%\s+([\d.]+)(us|ms|s)", output)
    assert found is not None, output
    return float(found[1]) * {"us": 0.001, "ms": 1, "s": MILLISECONDS}[found[2]]


def _ack_p99_ms(settings: Settings, rate: float, seconds: int) -> float:
    """A producer like that of the service, at this rate, on the core of the service."""
    os.sched_setaffinity(0, {SERVICE_CORE})
    producer = ClickProducer(settings)
    taken: list[float] = []
    value = b"x" * 420
    started = time.perf_counter()
    sent = 0
    while (passed := time.perf_counter() - started) < seconds + WARM_UP_SECONDS:
        while sent < passed * rate:
            at = time.perf_counter()
            producer.send(
                b"key-%d" % sent, value, lambda _error, _message, at=at: taken.append(time.perf_counter() - at)
            )
            sent += 1
        producer.poll(0.001)
    producer.flush(30)
    os.sched_setaffinity(0, {OTHER_CORE})
    return round(statistics.quantiles(taken, n=100)[98] * MILLISECONDS, 2)


def _taking(taken: list[float]) -> OnAck:
    """An acknowledgement adds the seconds since now."""
    at = time.perf_counter()
    return lambda _error, _message: taken.append(time.perf_counter() - at)


def _fsync_p99_ms(folder: Path) -> float:
    taken = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(FSYNCS):
            at = time.perf_counter()
            file.write(b"x" * 420)
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - at)
    return round(statistics.quantiles(taken, n=100)[98] * MILLISECONDS, 2)


if __name__ == "__main__":
    main()
