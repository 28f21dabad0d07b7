"""What plots show: shares of latencies, parts, bins, means of a sweep, spans of dies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union, cast

import numpy as np
import numpy.typing as npt

from . import _core
from ._keys import listed, unknown, whole
from ._run import Comparison, Result, compare

Floats = npt.NDArray[np.float64]

#: What stands for several results.
Results = Union[Result, Comparison, Mapping[str, Result], Iterable[Result]]

#: What a request of a class is called, and several of them.
CLASSES = {
    "read": "reads",
    "write": "writes",
    "trim": "trims",
    "flush": "flushes",
    "all": "requests",
}

#: Most points of a curve.
_MOST_POINTS = 2000

#: The percentiles of a report, and the share of requests that take longer.
_PERCENTILES = {"p50": 0.5, "p90": 0.1, "p95": 0.05, "p99": 0.01, "p999": 0.001, "p9999": 0.0001}


def named(results: Results) -> dict[str, Result]:
    """Results by name."""
    found = compare(results).results
    if not found:
        raise ValueError("there is no result to plot")
    return found


def checked_class(op: str) -> str:
    """The class of requests of this name."""
    if op not in CLASSES:
        raise unknown("class of requests", op, CLASSES)
    return op


class Curve(NamedTuple):
    """Latencies and the share of requests that take longer than each."""

    us: Floats
    above: Floats
    #: How many requests there are.
    total: int
    #: Whether the curve goes in steps through all of them; else it joins a few points.
    is_exact: bool


def curve(name: str, result: Result, op: str) -> Curve:
    """The latencies of a class: from the request log where there is one, else from the
    percentiles of the report.
    """
    figures = result.report["latency_ns"][op]
    if not figures["count"]:
        raise ValueError(f"{name}: there are no {CLASSES[op]} whose latency counts")
    if result.requests is None:
        return _of_percentiles(figures)
    us = np.array(result.requests["latency_ns"], dtype=np.float64)[_counted(result, op)] / 1e3
    values, counts = np.unique(us, return_counts=True)
    count = int(counts.sum())
    above = (count - np.cumsum(counts)) / count
    kept = _kept(above, count)
    return Curve(values[kept], above[kept], count, True)


def _of_percentiles(figures: Mapping[str, Any]) -> Curve:
    count = figures["count"]
    points = [(figures[name], above) for name, above in _PERCENTILES.items() if above * count > 1]
    points.append((figures["max"], 0.0))
    us, above = zip(*points)
    return Curve(np.array(us) / 1e3, np.array(above), count, False)


def _counted(result: Result, op: str) -> npt.NDArray[np.bool_]:
    """Which rows of the request log are latencies of the report: requests of measured phases,
    without the first ones where the device skips some.
    """
    log = cast(_core.Table, result.requests)
    order = np.array(log["order"], dtype=np.int64)
    order -= order.min()
    ends = np.cumsum([phase["requests"] for phase in result.report["phases"]])
    is_measured = np.array([phase["measured"] for phase in result.report["phases"]])
    phase = np.searchsorted(ends, order, side="right")
    counted = is_measured[np.minimum(phase, len(ends) - 1)]
    skipped = cast(int, result.device["metrics.skip_requests"])
    if skipped:
        first = np.sort(order[counted])[:skipped]
        counted &= ~np.isin(order, first)
    if op != "all":
        counted &= np.array(log["op"]) == op
    return cast("npt.NDArray[np.bool_]", counted)


def _kept(above: Floats, count: int) -> npt.NDArray[np.int64]:
    """Which points of a long curve are drawn: half of them evenly in shares, half of them evenly
    in the logarithm of the share above.
    """
    if len(above) <= _MOST_POINTS:
        return np.arange(len(above))
    some = _MOST_POINTS // 2
    even = np.linspace(0, 1, some)
    tail = np.geomspace(1 / count, 1, some)
    wanted = np.searchsorted(-above, -np.concatenate([even, tail]))
    last = len(above) - 1
    return np.unique(np.concatenate([np.minimum(wanted, last), [0, last]]))


def steps(found: Curve, tail: bool) -> tuple[Floats, Floats]:
    """The corners of a curve: the share at most so long, or with ``tail`` the share above."""
    us, above = found.us, found.above
    if found.is_exact:  # nothing is below the least latency
        us, above = np.concatenate([us[:1], us]), np.concatenate([[1.0], above])
    if not tail:
        return us, 1 - above
    above = above.copy()
    above[-1] = above[-2] if found.is_exact else 1 / found.total  # a logarithm has no zero
    return us, above


def mean_parts(name: str, result: Result, op: str) -> dict[str, float]:
    """The parts of the mean latency in microseconds, in the order of a request's life."""
    classes = [op] if op != "all" else [one for one in CLASSES if one != "all"]
    count = sum(result.report["latency_ns"][one]["count"] for one in classes)
    if not count:
        raise ValueError(f"{name}: there are no {CLASSES[op]} whose latency counts")
    of_all = [result.report["latency_parts_ns"][one] for one in classes]
    sums = {part: sum(found.get(part, 0) for found in of_all) for part in _core.parts()}
    return {part: total / count / 1e3 for part, total in sums.items()}


class Bins:
    """The bins of a time series, the last of which ends with the run."""

    def __init__(self, table: _core.Table, makespan_ns: int) -> None:
        self._table = table
        self.start_ns = self.column("start_ns")
        if len(self.start_ns) == 0:
            raise ValueError("the time series is empty")
        width = self.start_ns[1] - self.start_ns[0] if len(self.start_ns) > 1 else math.inf
        last = min(self._last_ns(makespan_ns), width)
        last = 1.0 if math.isinf(last) else last  # no time has passed
        ends = np.append(self.start_ns[1:], self.start_ns[-1] + last)
        #: Lengths in nanoseconds; the last one may be shorter.
        self.span_ns: Floats = ends - self.start_ns
        #: Where bins begin, and the end of the last one.
        self.edges_ns: Floats = np.append(self.start_ns, ends[-1])

    def _last_ns(self, makespan_ns: int) -> float:
        """The length of the last bin, which its energy and its power tell: the device may work on
        behind the last answer. Where it took none it ends with that answer.
        """
        energy, power = self.column("energy_pj")[-1], self.column("mean_mw")[-1]
        if energy > 0 and power > 0:
            return float(energy / power)
        left = float(makespan_ns - self.start_ns[-1])
        return left if left > 0 else math.inf

    def column(self, name: str) -> Floats:
        """A column; what is not defined is no number."""
        if name not in self._table:
            raise unknown("column of a time series", name, [*self._table.column_names])
        values = self._table[name]
        return np.array([math.nan if v is None else v for v in values], dtype=np.float64)


class Points(NamedTuple):
    """Means over seeds along one line of a sweep."""

    x: list[Any]
    mean: list[float]
    #: Half of the 95 % confidence interval; no number where there is one run only.
    half: list[float]


def sweep_points(
    runs: Any, x: str, y: str, hue: Optional[str]
) -> tuple[list[Any], dict[Any, Points]]:
    """Values of x, and the line of each value of hue."""
    column = _columns(runs)
    xs, ys = column(x), [_number(value) for value in column(y)]
    hues: Sequence[Any] = column(hue) if hue else [None] * len(xs)
    has_points = "point" in _names(runs)
    points: Sequence[Any] = column("point") if has_points else [None] * len(xs)
    groups: dict[Any, dict[Any, list[float]]] = {}
    first: dict[Any, Any] = {}
    for at, value, line, point in zip(xs, ys, hues, points):
        if first.setdefault((line, at), point) != point:
            raise ValueError(_ambiguous(runs, x, hue, at))
        kept = groups.setdefault(line, {}).setdefault(at, [])
        if value is not None:
            kept.append(value)
    lines = {line: _means(found) for line, found in groups.items()}
    if not any(line.x for line in lines.values()):
        raise ValueError(f"no run has a value of {y}")
    return list(dict.fromkeys(xs)), lines


def _means(groups: Mapping[Any, list[float]]) -> Points:
    found = [(at, values) for at, values in groups.items() if values]
    if all(is_number(at) for at, _ in found):
        found.sort(key=lambda row: row[0])
    return Points(
        [at for at, _ in found],
        [math.fsum(values) / len(values) for _, values in found],
        [half_interval(values) for _, values in found],
    )


def is_number(value: object) -> bool:
    """Whether it is a number, and no truth."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: Any) -> Optional[float]:
    return None if value is None or math.isnan(float(value)) else float(value)


def _plain(value: Any) -> Any:
    """A value of a column without the types of NumPy and pyarrow."""
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if hasattr(value, "item") else value


def _names(runs: Any) -> list[str]:
    names = getattr(_table(runs), "column_names", None)
    if names is None:
        names = getattr(_table(runs), "columns", _table(runs))
    return [str(name) for name in names]


def _is_sweep(runs: Any) -> bool:
    return isinstance(getattr(runs, "keys", None), (list, tuple))


def _table(runs: Any) -> Any:
    return runs.runs if _is_sweep(runs) else runs


def _columns(runs: Any) -> Callable[[str], list[Any]]:
    table, names = _table(runs), _names(runs)

    def column(name: str) -> list[Any]:
        if name not in names:
            raise unknown("column of the sweep", name, names)
        return [_plain(value) for value in table[name]]

    return column


def _ambiguous(runs: Any, x: str, hue: Optional[str], at: object) -> str:
    text = f"several points have {x} = {at}"
    more = [key for key in (runs.keys if _is_sweep(runs) else []) if key not in (x, hue)]
    if more:
        text += f": the sweep also varies {', '.join(more)}"
    return f"{text}; choose hue, or give the rows of one value only"


#: Student's t of 95 % on both sides, by degrees of freedom from 1.
_T = (
    12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.06390, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
)  # fmt: skip


def student_t(freedom: int) -> float:
    """Student's t of 95 % on both sides; Cornish and Fisher's expansion above the table."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = 1.959963985
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95 % confidence interval of the mean."""
    count = len(values)
    if count < 2:
        return math.nan
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return student_t(count - 1) * math.sqrt(variance / count)


#: Ends of names, with their units.
_UNITS = {
    "mb_per_s": "MB/s",
    "j_per_gb": "J/GB",
    "percent": "%",
    "permille": "per mille",
    "us": "\N{MICRO SIGN}s",
    "ns": "ns",
    "ms": "ms",
    "s": "s",
    "mib": "MiB",
    "kib": "KiB",
    "bytes": "bytes",
    "mj": "mJ",
    "w": "W",
    "mw": "mW",
    "ppb": "1e-9",
    "pj": "pJ",
    "fj": "fJ",
    "ps": "ps",
}

_SAID = {
    "wa": "write amplification",
    "iops": "requests a second (1/s)",
    "mb_per_s": "throughput (MB/s)",
    "j_per_gb": "energy a gigabyte (J/GB)",
    "read_mb_per_s": "read throughput (MB/s)",
    "write_mb_per_s": "write throughput (MB/s)",
    "dies_busy": "share of time that dies are busy",
    "tbw": "endurance (TB written)",
    "dwpd": "drive writes a day (1/day)",
    "life_years": "life (years)",
}

_PERCENTILE_NAMES = {"p999": "p99.9", "p9999": "p99.99"}


def label_of(name: str) -> str:
    """What stands at an axis: the name of a figure in words, or that of a key; and its unit."""
    units = {figure: unit for figure, unit, _ in _core.figures()}
    if name.startswith("stream."):
        own = [figure for figure in units if name.endswith("." + figure)]
        if own:
            figure = max(own, key=len)
            stream = name[len("stream.") : -len(figure) - 1]
            return f"{stream}: {label_of(figure)}"
    if name in _SAID:
        return _SAID[name]
    if name.startswith("wa_"):
        return f"write amplification, {name[3:]}"
    end = next((end for end in _UNITS if name.endswith("_" + end)), None)
    plain = name[: -len(end) - 1] if end else name
    unit = f" ({_UNITS[end]})" if end else ""
    if name not in units:
        return plain + unit
    group, _, last = plain.rpartition(".")
    if not group:
        return last.replace("_", " ") + unit
    if not end:
        return f"{CLASSES[group]} ({last})"
    last = _PERCENTILE_NAMES.get(last, last)
    return f"{'' if group == 'all' else group + ' '}latency, {last}{unit}"


def checked_dies(result: Result, dies: Union[int, Iterable[int]]) -> list[int]:
    """The numbers of dies, which the device has."""
    names = ("channels", "ways", "dies_per_way")
    count: int = math.prod(cast(int, result.device[f"geometry.{name}"]) for name in names)
    return [whole("dies", die, 0, count - 1) for die in listed("dies", dies)]


class Spans(NamedTuple):
    """What a die does: a command, with the times when it is suspended left out."""

    die: int
    op: str
    purpose: str
    #: Begin and length in microseconds of what it does.
    active: list[tuple[float, float]]
    #: Begin and length in microseconds of what it waits for, suspended.
    suspended: list[tuple[float, float]]


def spans(
    commands: _core.Table, t0_us: float, t1_us: float, dies: Optional[Sequence[int]]
) -> list[Spans]:
    """What dies do between two instants. Commands of one operation are one."""
    die = np.array(commands["die"], dtype=np.int64)
    start = np.array(commands["start_ns"], dtype=np.int64)
    end = np.array(commands["end_ns"], dtype=np.int64)
    op = np.array(commands["op"])
    purpose = np.array(commands["purpose"])
    of_dies = np.ones(len(die), dtype=bool) if dies is None else np.isin(die, np.array(dies))
    inside = (start < t1_us * 1e3) & (end > t0_us * 1e3) & (op != "poll") & of_dies
    breaks = _breaks(die, op, start, end)
    found: dict[tuple[int, str, str, int, int], None] = {}
    for row in np.flatnonzero(inside):
        key = (int(die[row]), str(op[row]), str(purpose[row]), int(start[row]), int(end[row]))
        found[key] = None
    return [_span(key, breaks.get(key[0], []), t0_us, t1_us) for key in found]


def _breaks(
    die: npt.NDArray[np.int64],
    op: npt.NDArray[Any],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> dict[int, list[tuple[int, int]]]:
    """From the begin of each suspension to the end of its resumption, by die."""
    rows = np.flatnonzero((op == "suspend") | (op == "resume"))
    rows = rows[np.argsort(start[rows], kind="stable")]
    began: dict[int, int] = {}
    found: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        number = int(die[row])
        if op[row] == "suspend":
            began.setdefault(number, int(start[row]))
        elif number in began:
            found.setdefault(number, []).append((began.pop(number), int(end[row])))
    return found


def _span(
    key: tuple[int, str, str, int, int],
    breaks: Sequence[tuple[int, int]],
    t0_us: float,
    t1_us: float,
) -> Spans:
    die, op, purpose, start, end = key
    active: list[tuple[int, int]] = []
    suspended: list[tuple[int, int]] = []
    if op in ("program", "erase"):
        suspended = [(low, high) for low, high in breaks if start <= low and high <= end]
    at = start
    for low, high in suspended:
        active.append((at, low))
        at = high
    active.append((at, end))
    return Spans(die, op, purpose, _cut(active, t0_us, t1_us), _cut(suspended, t0_us, t1_us))


def _cut(
    pieces: Sequence[tuple[int, int]], t0_us: float, t1_us: float
) -> list[tuple[float, float]]:
    """Begins and lengths of what lies between two instants."""
    inside = [(max(low / 1e3, t0_us), min(high / 1e3, t1_us)) for low, high in pieces]
    return [(low, high - low) for low, high in inside if high > low]
