"""Runs, their results, and what explains them."""

from __future__ import annotations

import html
import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Union, cast

from . import _core
from ._device import Device, device
from ._keys import MOST, Value, unknown, whole, whole_or_none
from ._workload import Workload, workload
from .errors import ConfigError, in_python

#: Hears how far a run is: the share that is over, or ``None`` where it is not known; how many
#: requests have been issued, of several runs how many are over; and what is done now, empty for
#: the run itself.
Progress = Callable[[Optional[float], int, str], object]

#: What stands for a device.
DeviceLike = Union[Device, str, os.PathLike[str]]

#: What stands for a workload.
WorkloadLike = Union[Workload, str, os.PathLike[str]]

#: Most keys in the name of a result.
_MOST_KEYS = 4

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
        #: The text that ``flashyard run --json`` prints for the same run. Its provenance has the
        #: arguments of that command; none of a text or a file that Python has read, of columns of
        #: requests, and of policies in Python.
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
        #: What each power cut would lose, a row a cut, where it was asked for: an Arrow table.
        self.cuts: Optional[_core.Table] = outcome.cuts
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
        return [in_python(warning) for warning in self.report["verdict"]["warnings"]]

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


def _command(device: Device, workload: Workload, seed: Optional[int], cuts: int) -> list[str]:
    """The arguments of ``flashyard`` that do the same; none where it cannot."""
    if not (device._is_named() and workload._is_named()):
        return []
    settings = [f"--set={setting}" for setting in (*device._settings, *workload._settings)]
    seeds = [] if seed is None else [f"--seed={seed}"]
    power = [f"--cuts={cuts}"] if cuts else []
    return ["run", device.name, workload.name, *settings, *seeds, *power, "--json"]


def run(
    device: DeviceLike = "nvme-tlc",
    workload: WorkloadLike = "mixed-70-30",
    *,
    seed: Optional[int] = None,
    log: bool = False,
    commands: bool = False,
    series_ms: Optional[float] = None,
    cuts: int = 0,
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
        Whether ``result.requests`` has a row for each request (about 490 bytes a row).
    commands
        Whether ``result.commands`` has a row for each flash command.
    series_ms
        The width of the bins of ``result.series`` in milliseconds.
    cuts
        How many power cuts are looked at: ``result.cuts`` has a row for each, with what it would
        lose (docs/POWER.md). The run itself is not cut.
    progress
        ``True`` for a bar of tqdm where it is installed, or what is called with the share that is
        over (0 to 1, or ``None``), the number of requests, and what is done.
    check
        Whether every rule is checked during the run, data integrity among them; it then takes
        several times as long.
    memory_mib
        Memory that the device may take, in MiB, in place of what is free.

    Warns
    -----
    UserWarning
        Where a setting changes nothing, since another key has a value that does not use it.

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
    cuts = whole("cuts", cuts, 0, 2**32 - 1)
    if series_ms is not None:
        on = on.replace(**{"metrics.bin_ms": series_ms})
    what = _as_workload(workload)
    if seed is not None and not what.has_seed:
        raise unknown("seed of this workload: it is not drawn at random", "seed", ())
    plan = on._planned(
        what._name, what._text, what._requests, what._settings, seed, memory_mib
    )
    for unused in plan.unused:
        warnings.warn(in_python(unused), stacklevel=2)
    with _progress(progress, f"{what.name} on {on.name}") as told:
        command = _command(on, what, seed, cuts)
        outcome = plan.run((log, commands, cuts), check, command, told)
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


def compare(
    results: Union[Result, Comparison, Mapping[str, Result], Iterable[Result]],
) -> Comparison:
    """Figures of several results side by side: of a list, or of a dict with a name for each.

    Results of a list are named by what tells them apart: the device, the workload, or where these
    are the same for several, the keys that differ among them and the seed.
    """
    if isinstance(results, Comparison):
        return results
    if isinstance(results, Result):
        results = [results]
    named = results if isinstance(results, Mapping) else None
    if named is None and (isinstance(results, str) or not isinstance(results, Iterable)):
        raise ConfigError(f"results: a list or a dict of results is needed, not {results!r}")
    listed = list(results if named is None else named.values())
    for result in listed:
        if not isinstance(result, Result):
            raise ConfigError(f"results: {result!r} is no result of a run")
    return Comparison(dict(zip(_names(listed) if named is None else named, listed)))


def _names(results: Sequence[Result]) -> list[str]:
    """What tells results apart."""
    about = [(result.device.name, _name(result)) for result in results]
    differ = [len(set(column)) > 1 for column in zip(*about)]
    groups: dict[str, list[int]] = {}
    for place, names in enumerate(about):
        short = " ".join(itertools.compress(names, differ))
        groups.setdefault(short, []).append(place)
    found = [""] * len(results)
    for short, places in groups.items():
        more = _differences([results[place] for place in places])
        for place, parts in zip(places, more):
            found[place] = " ".join([short, *parts]).strip() or about[place][1]
    if len(set(found)) == len(found):
        return found
    return [f"{number}: {name}" for number, name in enumerate(found, 1)]


def _differences(results: Sequence[Result]) -> list[list[str]]:
    """Keys that results do not have in common, and the seed; if some of these keys were set, only
    those.
    """
    if len(results) < 2:
        return [[] for _ in results]
    values = [_values(result) for result in results]
    every = list(dict.fromkeys(itertools.chain(*values)))
    differ = [key for key in every if len({one.get(key) for one in values}) > 1]
    chosen = {setting.split("=")[0] for one in results for setting in _settings(one)}
    keys = [key for key in differ if key in chosen] or differ
    has_seeds = len({result.seed for result in results}) > 1
    return [
        [f"{key}={one[key]}" for key in keys[:_MOST_KEYS] if key in one]
        + ([f"seed={result.seed}"] if has_seeds else [])
        for result, one in zip(results, values)
    ]


def _values(result: Result) -> dict[str, Value]:
    """The keys that may tell a result from others: those of what it runs, not of its report."""
    values: dict[str, Value] = {"capacity": f"{result.device.capacity / 1e9:.6g}GB"}
    values.update((key, result.device[key]) for key in result.device if key[:8] != "metrics.")
    if result.workload is not None:
        values.update((key.name, key.value) for key in result.workload.keys().values())
    return values


def _settings(result: Result) -> tuple[str, ...]:
    return result.device._settings + (result.workload._settings if result.workload else ())


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
        The percentile above which requests count: "p99" or 99, in steps of 0.01 ("p999" is 99.9).
    slowest, request
        In place of it, so many of the slowest requests, or one by its number.
    op
        "read", "write", "trim" or "flush"; all if none is named.
    by_stream
        Whether each stream is explained by itself.
    seed
        The seed of a workload that is drawn at random; that of the result if none is given.
    check, progress
        As for :func:`run`.

    Returns
    -------
    Explanation
        ``findings`` has a sentence for each group of requests, and ``data`` everything.

    Raises
    ------
    ConfigError, TraceError
        Where the device, the workload or one of its requests cannot be, where there is no such
        percentile, class or request, or where the result is that of a session.
    SimError
        Where the simulation failed.
    """
    if isinstance(result, Result):
        if result.workload is None:
            raise unknown("workload: a session cannot run again", "result", ())
        if workload is not None:
            raise ConfigError("workload: that of the result is explained; leave it out")
        on, what = result.device, result.workload
        seed = result.seed if seed is None else seed
    else:
        on = _as_device(result)
        what = _as_workload("mixed-70-30" if workload is None else workload)
    if slowest is not None and request is not None:
        raise ConfigError("slowest: one request is explained; leave one of the two out")
    number = whole_or_none("request", request, 0, MOST)
    most = whole_or_none("slowest", slowest, 1, MOST)
    share = _percentile(above)
    plan = on._planned(what._name, what._text, what._requests, what._settings, seed, None)
    with _progress(progress, f"why {what.name} on {on.name}") as told:
        text, findings = plan.why(share, most, number, op, by_stream, check, told)
    return Explanation(text, findings)


def _percentile(above: Union[str, float]) -> int:
    """A percentile in parts of 10,000."""
    digits = str(above).lower()
    if digits.startswith("p"):
        digits = digits[1:]
        if digits.isdecimal() and digits.startswith("99"):  # p999 is 99.9
            digits = f"{digits[:2]}.{digits[2:]}"
    try:
        share = 100 * float(digits)
    except ValueError:
        share = 0.0
    if not 0.5 < share < 9999.5 or abs(share - round(share)) > 1e-6:
        raise ConfigError(
            f"above: {above} is no percentile; there are p0.01 to p99.99 in steps of 0.01"
        )
    return round(share)
