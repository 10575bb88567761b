"""The process that parses: whatever becomes of it, the page has an outcome and the next one is read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from crawler.parse import PageSource, parse_page
from crawler.parse_worker import ParseLimits, ParseWorker

PAGE = PageSource(
    "http://a.example/", b"<title>t</title><a href=x rel=nofollow>x</a>", "text/html", None, ("none",), "t"
)
SLOW = replace(PAGE, body=b"<p " + b" ".join(b"a%d=1" % number for number in range(60_000)) + b">")
"""Each attribute is compared with all before it."""


@pytest.fixture(scope="module")
def worker() -> Iterator[ParseWorker]:
    with ParseWorker() as running:
        yield running


def test_what_comes_out_is_what_the_parser_said(worker: ParseWorker) -> None:
    outcome = worker.parse(PAGE)
    assert (outcome.reason, outcome.is_quarantined) == ("parsed", False)
    assert outcome.page == parse_page(PAGE)


def test_one_process_reads_many_pages(worker: ParseWorker) -> None:
    worker.parse(PAGE)
    pid = worker.pid
    worker.parse(PAGE)
    assert pid is not None
    assert worker.pid == pid


def test_a_suspicious_page_is_quarantined_and_counted(worker: ParseWorker) -> None:
    before_count = worker.counts["too_deep"]
    outcome = worker.parse(replace(PAGE, body=b"<div>" * 1_500))
    assert (outcome.reason, outcome.page, outcome.is_quarantined) == ("too_deep", None, True)
    assert worker.counts["too_deep"] == before_count + 1


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_costs_one_page(worker: ParseWorker, number: signal.Signals) -> None:
    """C21: the process dies as it does by a fault of the parser."""
    worker.parse(PAGE)
    assert worker.pid is not None
    os.kill(worker.pid, number)
    outcome = worker.parse(PAGE)
    assert (outcome.reason, outcome.detail) == ("parser_crashed", number.name)
    assert worker.parse(PAGE).reason == "parsed"


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        (ParseLimits(seconds=0.5, cpu_seconds=1_000), "longer than 0.5 s"),
        (ParseLimits(cpu_seconds=1, seconds=1_000.0), "more than 1 s of CPU"),
    ],
    ids=["on the wall", "of the processor"],
)
def test_a_page_that_takes_too_long_is_ended(limits: ParseLimits, detail: str) -> None:
    """C21: a hang."""
    with ParseWorker(limits) as worker:
        outcome = worker.parse(SLOW)
        assert (outcome.reason, outcome.detail) == ("parser_timeout", detail)
        assert worker.pid is None


def test_a_page_that_takes_too_much_memory_is_ended() -> None:
    """C21. Where the library cannot say that memory ran out, the process fails or dies; the page is quarantined."""
    with ParseWorker(ParseLimits(memory_bytes=256 * 1024 * 1024)) as worker:
        outcome = worker.parse(replace(PAGE, body=b"<b>x</b>" * 2_000_000))
        assert outcome.reason in {"parser_memory", "parser_failed", "parser_crashed"}
        assert worker.parse(PAGE).reason == "parsed"


def test_the_process_ends_with_its_worker() -> None:
    with ParseWorker() as worker:
        worker.parse(PAGE)
        pid = worker.pid
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
