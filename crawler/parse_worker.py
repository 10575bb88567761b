"""Pages parsed in a process of their own, which is killed when one takes too long or too much.

Belongs here: the process, its limits, and what its death says of the page. Parsing is ``crawler/parse.py``. Nothing
that comes from the process is unpickled or waited for without end: a page may have taken it over.
"""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
import resource
import signal
import threading
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Literal, Self

import orjson

from crawler.parse import Link, Page, PageSource, QuarantineError, QuarantineReason, parse_page

PARSE_CPU_SECONDS = 10
PARSE_SECONDS = 60.0
"""By the clock on the wall, for what hangs; a busy computer is no fault of a page."""
PARSE_MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of the process, code and all; a page of 20 MiB needs about 400 MiB."""
STOP_SECONDS = 2.0
MAX_ANSWER_BYTES = 256 * 1024 * 1024
_READY = b"ready"
_FIELDS = [field.name for field in dataclasses.fields(PageSource) if field.name != "body"]

ParseReason = QuarantineReason | Literal["parsed", "parser_timeout", "parser_crashed", "parser_memory", "parser_failed"]


@dataclass(frozen=True)
class ParseLimits:
    """What one page may take."""

    cpu_seconds: int = PARSE_CPU_SECONDS
    seconds: float = PARSE_SECONDS
    memory_bytes: int = PARSE_MEMORY_BYTES


@dataclass(frozen=True)
class ParseOutcome:
    """A page, or why there is none: then it is quarantined, and ``detail`` is for people."""

    reason: ParseReason
    page: Page | None = None
    detail: str = ""

    @property
    def is_quarantined(self) -> bool:
        return self.page is None


class ParseWorker:
    """One process for one page at a time; used from one thread. Closed as a context.

    ``counts`` has how often each reason was the outcome.
    """

    def __init__(self, limits: ParseLimits | None = None) -> None:
        self._limits = limits or ParseLimits()
        self._context = multiprocessing.get_context("spawn")
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self.counts: Counter[ParseReason] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def pid(self) -> int | None:
        """The process that parses now, if there is one."""
        return self._process.pid if self._process else None

    def parse(self, source: PageSource) -> ParseOutcome:
        """Parse a page. Blocks up to the limit; whatever the page does, the caller lives and may go on."""
        outcome = self._parsed(source)
        self.counts[outcome.reason] += 1
        return outcome

    def _parsed(self, source: PageSource) -> ParseOutcome:
        is_late = threading.Event()
        try:
            process, pipe = self._started()
            watch = threading.Timer(self._limits.seconds, _kill, (process, is_late))
            watch.start()
            try:
                pipe.send_bytes(_packed(source))
                pipe.send_bytes(source.body)
                outcome = _outcome_of(orjson.loads(pipe.recv_bytes(MAX_ANSWER_BYTES)))
            finally:
                watch.cancel()
                watch.join()
            if is_late.is_set():
                self._end()  # killed just after it had answered: the next page gets another
        except (EOFError, OSError, ValueError, KeyError, TypeError) as error:
            code = self._end()
            if is_late.is_set():
                return ParseOutcome("parser_timeout", None, f"longer than {self._limits.seconds} s")
            if code == -signal.SIGXCPU:
                return ParseOutcome("parser_timeout", None, f"more than {self._limits.cpu_seconds} s of CPU")
            return ParseOutcome("parser_crashed", None, _ending(code, error))
        return outcome

    def _started(self) -> tuple[SpawnProcess, Connection]:
        """A process that is ready for a page, so that starting is not counted against one."""
        if self._process is None or self._pipe is None:
            ours, theirs = self._context.Pipe()
            self._process = self._context.Process(target=serve, args=(theirs, self._limits), name="parser", daemon=True)
            self._process.start()
            theirs.close()
            self._pipe = ours
            ours.recv_bytes()
        return self._process, self._pipe

    def _end(self) -> int | None:
        """End the process, which a closed pipe tells to; the next page starts another. How it ended."""
        process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if pipe is not None:
            pipe.close()
        if process is None:
            return None
        process.join(STOP_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        code = process.exitcode
        process.close()
        return code


def _kill(process: SpawnProcess, is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


def serve(pipe: Connection, limits: ParseLimits) -> None:
    """The process: pages in, outcomes out, until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the crawler, which ends us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    pipe.send_bytes(_READY)
    while True:
        try:
            request, body = pipe.recv_bytes(), pipe.recv_bytes()
        except EOFError:
            return
        _allow_cpu(limits.cpu_seconds)
        pipe.send_bytes(_answer(request, body))


def _allow_cpu(seconds: int) -> None:
    """From now on so much; then the kernel ends us, wherever we are."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used_seconds = math.ceil(usage.ru_utime + usage.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (used_seconds + seconds, resource.RLIM_INFINITY))


def _answer(request: bytes, body: bytes) -> bytes:
    try:
        return orjson.dumps({"reason": "parsed", "page": dataclasses.asdict(parse_page(_source(request, body)))})
    except QuarantineError as error:
        return orjson.dumps({"reason": error.reason, "detail": ""})
    except MemoryError:
        return orjson.dumps({"reason": "parser_memory", "detail": "no more memory"})
    except Exception as error:  # noqa: BLE001 - the edge of a process: whatever a page does is its outcome
        return orjson.dumps({"reason": "parser_failed", "detail": f"{type(error).__name__}: {error}"[:500]})


def _packed(source: PageSource) -> bytes:
    """All of a page's source but its body, which follows as it is."""
    return orjson.dumps({name: getattr(source, name) for name in _FIELDS})


def _source(request: bytes, body: bytes) -> PageSource:
    fields = orjson.loads(request)
    return PageSource(**{**fields, "body": body, "robots_tags": tuple(fields["robots_tags"])})


def _outcome_of(answer: dict[str, Any]) -> ParseOutcome:
    page = answer.get("page")
    if page is None:
        return ParseOutcome(answer["reason"], None, answer["detail"])
    links = tuple(Link(**link) for link in page["links"])
    return ParseOutcome("parsed", Page(**{**page, "links": links, "robots": tuple(page["robots"])}))


def _ending(code: int | None, error: Exception) -> str:
    """How a process ended, for people; one that had to be ended had answered with something else than a page."""
    if code is None or code == 0:
        return f"{type(error).__name__}: {error}"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
