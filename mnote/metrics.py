"""Numbers for a monitoring system, in Prometheus' text format. Each app registers gauges of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

#: Labels and value of one line.
Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One number, or one for each set of labels. `read` must be cheap: it is called at every scrape."""

    name: str
    help: str
    read: Callable[[], Iterable[Sample]]


_gauges: dict[str, Gauge] = {}


def register(gauge: Gauge) -> None:
    """Add a gauge; one with the same name is replaced."""
    _gauges[gauge.name] = gauge


def exposition() -> str:
    """Read every gauge and write them down."""
    return "".join(f"{line}\n" for gauge in _gauges.values() for line in _lines(gauge))


def _lines(gauge: Gauge) -> Iterator[str]:
    yield f"# HELP {gauge.name} {gauge.help}"
    yield f"# TYPE {gauge.name} gauge"
    for labels, value in gauge.read():
        inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in sorted(labels.items()))
        yield f"{gauge.name}{{{inner}}} {value}" if inner else f"{gauge.name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
