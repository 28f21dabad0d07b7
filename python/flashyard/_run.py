"""Runs, their results, and what explains them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Union, cast

from . import _core
from ._device import Device, device
from ._keys import unknown
from ._workload import Workload, workload

#: Hears how far a run is: the share that is over, or ``None`` where it is not known; how many
#: requests have been issued, of several runs how many are over; and what is done now, empty for
#: the run itself.
Progress = Callable[[Optional[float], int, str], object]

#: What stands for a device.
DeviceLike = Union[Device, str]

#: What stands for a workload.
WorkloadLike = Union[Workload, str]

_CLASSES = ("read", "write", "trim", "flush", "all")


def _as_device(given: DeviceLike) -> Device:
    return given if isinstance(given, Device) else device(given)


def _as_workload(given: WorkloadLike) -> Workload:
    return given if isinstance(given, Workload) else workload(given)


class Latencies:
    """Latencies of a class of requests, in microseconds; ``None`` where there is no request.

    ``count``, ``mean_us``, ``p50_us``, ``p90_us``, ``p99_us``, ``p999_us``, ``p9999_us``,
    ``max_us``.
    """

    def __init__(self, name: str, figures: Mapping[str, Optional[float]]) -> None:
        self._name = name
        start = name + "."
        self._values = {
            key[len(start) :]: value for key, value in figures.items() if key.startswith(start)
        }

    def __getattr__(self, name: str) -> Optional[float]:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"latencies have no figure {name}: {', '.join(self._values)}")
        return self._values[name]

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._values]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_number(value)}" for name, value in self._values.items())
        return f"<{self._name}: {shown}>"


class Result:
    """What a run found.

    ``r.read.p99_us`` are latencies of a class, ``r["wa"]`` is any figure of ``r.figures``, and
    ``r.report`` is everything, as docs/JSON.md describes it.
    """

    def __init__(
        self,
        outcome: _core.Outcome,
        device: Device,
        workload: Optional[Workload],
        seed: Optional[int],
    ) -> None:
        #: The text that ``flashyard run --json`` prints for the same run.
        self.json: str = outcome.json
        #: Every figure by name, in the unit that the name says (docs/SWEEPS.md); ``None`` where
        #: the run has no such figure.
        self.figures: dict[str, Optional[float]] = dict(outcome.figures)
        #: Figures by stream, where there are several.
        self.streams: dict[str, dict[str, Optional[float]]] = {
            name: dict(figures) for name, figures in outcome.streams
        }
        #: The request log, a row a request, where it was asked for: an Arrow table.
        self.requests: Optional[_core.Table] = outcome.requests
        #: The command log, a row a flash command, where it was asked for: an Arrow table.
        self.commands: Optional[_core.Table] = outcome.commands
        #: The time series, a row a bin, where it was asked for: an Arrow table.
        self.series: Optional[_core.Table] = outcome.series
        #: The device, the workload (none of a session) and the seed (none where none is used).
        self.device = device
        self.workload = workload
        self.seed = seed
        self._report: Optional[dict[str, Any]] = None

    @property
    def report(self) -> dict[str, Any]:
        """The JSON contract as a dict (docs/JSON.md)."""
        if self._report is None:
            self._report = cast("dict[str, Any]", json.loads(self.json))
        return self._report

    @property
    def warnings(self) -> list[str]:
        """What makes figures of this run misleading, a sentence each."""
        return cast("list[str]", self.report["verdict"]["warnings"])

    @property
    def read(self) -> Latencies:
        """Latencies of reads."""
        return Latencies("read", self.figures)

    @property
    def write(self) -> Latencies:
        """Latencies of writes."""
        return Latencies("write", self.figures)

    @property
    def trim(self) -> Latencies:
        """Latencies of trims."""
        return Latencies("trim", self.figures)

    @property
    def flush(self) -> Latencies:
        """Latencies of flushes."""
        return Latencies("flush", self.figures)

    @property
    def all(self) -> Latencies:
        """Latencies of all requests."""
        return Latencies("all", self.figures)

    def __getitem__(self, figure: str) -> Optional[float]:
        if figure not in self.figures:
            raise KeyError(str(unknown("figure", figure, self.figures)))
        return self.figures[figure]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.figures)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_report": None}

    def __repr__(self) -> str:
        about = self.workload.name if self.workload else "session"
        lines = [f"<Result of {about} on {self.device.name}"]
        for name in _CLASSES:
            if self.figures.get(f"{name}.count") and name != "all":
                lines.append(f"  {Latencies(name, self.figures)!r}")
        others = ("iops", "read_mb_per_s", "write_mb_per_s", "wa")
        shown = [
            f"{name}={_number(self.figures[name])}"
            for name in others
            if self.figures.get(name) is not None
        ]
        lines.append("  " + ", ".join(shown))
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        about = self.workload.name if self.workload else "session"
        return compare({f"{about} on {self.device.name}": self})._repr_html_()


def _number(value: Optional[float]) -> str:
    if value is None:
        return "-"
    return str(int(value)) if value == int(value) else f"{value:.6g}"


@contextmanager
def _progress(
    progress: Union[None, bool, Progress], what: str
) -> Iterator[Optional[Progress]]:
    """What hears how far a run is."""
    if callable(progress) or not progress:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=100, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}") as bar:

        def tell(share: Optional[float], count: int, stage: str) -> None:
            bar.set_description_str(f"{what}: {stage}" if stage else what, refresh=False)
            bar.n = 0 if share is None else round(100 * share)
            bar.refresh()

        yield tell
        bar.n = 100
        bar.refresh()


def _command(device: Device, workload: Workload, seed: Optional[int]) -> list[str]:
    """The arguments of ``flashyard`` that do the same; none where it cannot."""
    if not (device._is_named() and workload._is_named()):
        return []
    settings = [f"--set={setting}" for setting in (*device._settings, *workload._settings)]
    seeds = [] if seed is None else [f"--seed={seed}"]
    return ["run", device.name, workload.name, *settings, *seeds, "--json"]


def run(
    device: DeviceLike = "nvme-tlc",
    workload: WorkloadLike = "mixed-70-30",
    *,
    seed: Optional[int] = None,
    log: bool = False,
    commands: bool = False,
    series_ms: Optional[float] = None,
    progress: Union[None, bool, Progress] = None,
    check: bool = False,
    memory_mib: Optional[int] = None,
) -> Result:
    """Runs a workload on a device.

    Other threads of Python go on meanwhile, and Ctrl-C ends the run.

    Parameters
    ----------
    device, workload
        A device and a workload, or their names.
    seed
        The seed of a workload that is drawn at random; 1 if none is given.
    log
        Whether ``result.requests`` has a row for each request (about 440 bytes a row).
    commands
        Whether ``result.commands`` has a row for each flash command.
    series_ms
        The width of the bins of ``result.series`` in milliseconds.
    progress
        ``True`` for a bar of tqdm where it is installed, or what is called with the share that is
        over (0 to 1, or ``None``), the number of requests, and what is done.
    check
        Whether every rule is checked during the run, data integrity among them; it then takes
        several times as long.
    memory_mib
        Memory that the device may take, in MiB, in place of what is free.

    Returns
    -------
    Result
        The same request by request, device and seed given, on every machine.

    Raises
    ------
    ConfigError, TraceError
        Where the device, the workload or one of its requests cannot be.
    SimError
        Where the simulation failed.
    """
    on = _as_device(device)
    if series_ms is not None:
        on = on.replace(**{"metrics.bin_ms": series_ms})
    what = _as_workload(workload)
    if seed is not None and not what.has_seed:
        raise unknown("seed of this workload: it is not drawn at random", "seed", ())
    plan = on._planned(
        what._name, what._text, what._requests, what._settings, seed, memory_mib
    )
    with _progress(progress, f"{what.name} on {on.name}") as told:
        outcome = plan.run(log, commands, check, _command(on, what, seed), told)
    used = (1 if seed is None else seed) if plan.has_seed else None
    return Result(outcome, on, what, used)


class Comparison:
    """Figures of several runs side by side."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        #: The runs by name.
        self.results: dict[str, Result] = dict(results)

    @property
    def figures(self) -> dict[str, list[Optional[float]]]:
        """Every figure that a run has, with its value of each run."""
        runs = list(self.results.values())
        names = runs[0].figures if runs else {}
        rows = {name: [run.figures[name] for run in runs] for name in names}
        return {name: row for name, row in rows.items() if any(v is not None for v in row)}

    def __getitem__(self, figure: str) -> dict[str, Optional[float]]:
        return {name: result[figure] for name, result in self.results.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def _rows(self) -> list[list[str]]:
        wanted = ("mean_us", "p50_us", "p99_us", "p999_us")
        shown = [f"{name}.{end}" for name in ("read", "write") for end in wanted]
        shown += ["iops", "read_mb_per_s", "write_mb_per_s", "wa", "energy_mj", "j_per_gb"]
        figures = self.figures
        return [[name, *map(_number, figures[name])] for name in shown if name in figures]

    def __repr__(self) -> str:
        rows = [["", *self.results], *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = []
        for first, *rest in rows:
            cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:])]
            lines.append("  ".join([first.ljust(widths[0]), *cells]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], kind: str) -> str:
            inside = "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells)
            return f"<tr>{inside}</tr>"

        head = row(["", *self.results], "th")
        return f"<table>{head}{''.join(row(cells, 'td') for cells in self._rows())}</table>"


def compare(results: Union[Mapping[str, Result], Sequence[Result]]) -> Comparison:
    """Figures of several results side by side: a list, or a dict with a name for each."""
    if isinstance(results, Mapping):
        return Comparison(results)
    names = [_difference(result, results) for result in results]
    numbered = [f"{number}: {name}" for number, name in enumerate(names, 1)]
    return Comparison(dict(zip(names if len(set(names)) == len(names) else numbered, results)))


def _difference(result: Result, among: Sequence[Result]) -> str:
    """What tells a result from the others."""
    parts = []
    if any(other.device.name != result.device.name for other in among):
        parts.append(result.device.name)
    if any(_name(other) != _name(result) for other in among):
        parts.append(_name(result))
    for key in result.device:
        values = [other.device[key] if key in other.device else None for other in among]
        if any(value != result.device[key] for value in values):
            parts.append(f"{key}={result.device[key]}")
    if any(other.seed != result.seed for other in among):
        parts.append(f"seed={result.seed}")
    return " ".join(parts[:4]) or _name(result)


def _name(result: Result) -> str:
    return result.workload.name if result.workload else "session"


class Explanation:
    """What slow requests waited for."""

    def __init__(self, text: str, findings: list[str]) -> None:
        #: The object of ``flashyard why --json`` (docs/WHY.md).
        self.data: dict[str, Any] = json.loads(text)
        #: The first finding of each group of requests, as a sentence.
        self.findings: list[str] = findings

    def __repr__(self) -> str:
        return "\n".join(self.findings)


def why(
    result: Union[Result, DeviceLike],
    workload: Optional[WorkloadLike] = None,
    *,
    above: Union[str, float] = "p99",
    slowest: Optional[int] = None,
    request: Optional[int] = None,
    op: Optional[str] = None,
    by_stream: bool = False,
    seed: Optional[int] = None,
    check: bool = False,
    progress: Union[None, bool, Progress] = None,
) -> Explanation:
    """What slow requests waited for: whose work it was, and why that was done.

    The workload runs twice.

    Parameters
    ----------
    result
        A result, whose run is explained; or a device, with a workload.
    above
        The percentile above which requests count: "p99" or 99.
    slowest, request
        In place of it, so many of the slowest requests, or one by its number.
    op
        "read", "write", "trim" or "flush"; all if none is named.
    by_stream
        Whether each stream is explained by itself.
    """
    if isinstance(result, Result):
        if result.workload is None:
            raise unknown("workload: a session cannot run again", "result", ())
        on, what = result.device, result.workload
        seed = result.seed if seed is None else seed
    else:
        on = _as_device(result)
        what = _as_workload("mixed-70-30" if workload is None else workload)
    digits = str(above).removeprefix("p")
    if digits.isdecimal() and digits.startswith("99"):  # p999 is 99.9
        digits = f"{digits[:2]}.{digits[2:]}"
    share = float(digits)
    if not 0 < share < 100:
        raise unknown("percentile", str(above), ())
    plan = on._planned(what._name, what._text, what._requests, what._settings, seed, None)
    with _progress(progress, f"why {what.name} on {on.name}") as told:
        text, findings = plan.why(
            round(share * 100), slowest, request, op, by_stream, check, told
        )
    return Explanation(text, findings)
