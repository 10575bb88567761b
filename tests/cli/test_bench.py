"""The benchmark runner: figures are the last line, and a benchmark without figures is a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.bench import BenchmarkError, figure_rows, run_benchmark


def _benchmark(folder: Path, code: str) -> Path:
    script = folder / "example.py"
    script.write_text(code)
    return script


def test_figures_are_the_last_line(tmp_path: Path) -> None:
    script = _benchmark(tmp_path, "import sys; print('busy'); print('{\"arguments\": \"%s\"}' % sys.argv[1:])")
    assert run_benchmark(script, ["--quick"]) == {"arguments": "['--quick']"}


@pytest.mark.parametrize("code", ["print('no json')", "print('{}'); exit(3)", "print('[1]')", ""])
def test_without_figures_it_failed(tmp_path: Path, code: str) -> None:
    with pytest.raises(BenchmarkError, match=r"example\.py ended with code"):
        run_benchmark(_benchmark(tmp_path, code), [])


def test_figures_inside_figures_get_a_row_each() -> None:
    assert figure_rows("live", {"events": 5, "seconds": {"merge": 1.5, "read": {"kafka": 2}}}) == [
        ("live", "events", 5),
        ("live", "seconds.merge", 1.5),
        ("live", "seconds.read.kafka", 2),
    ]
