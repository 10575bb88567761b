"""Prometheus' text format: a typed registry of metrics, and its rendering.

Belongs here: the format. Which metrics there are, and their values, is for those who know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Gauge:
    """A value that goes up and down, or, as a counter, only up. The name ends in its unit, or says what is counted, a
    counter's in ``_total``; ``meaning`` is one line."""

    name: str
    meaning: str
    kind: Literal["gauge", "counter"] = "gauge"


@dataclass(frozen=True)
class Sample:
    """A gauge's value, by label and value of each label."""

    gauge: Gauge
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def exposition(samples: Iterable[Sample]) -> str:
    """The samples, those of a gauge together under its help; gauges in the order in which they come first."""
    lines_of: dict[Gauge, list[str]] = {}
    for sample in samples:
        lines_of.setdefault(sample.gauge, []).append(f"{sample.gauge.name}{_labels(sample.labels)} {sample.value!r}")
    return "".join(
        f"# HELP {gauge.name} {gauge.meaning}\n# TYPE {gauge.name} {gauge.kind}\n" + "\n".join(lines) + "\n"
        for gauge, lines in lines_of.items()
    )


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
