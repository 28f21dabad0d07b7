"""Plots of results, which go into a paper as they are.

>>> import flashyard as fy
>>> r = fy.run("small-full", "mixed-70-30", log=True)  # doctest: +SKIP
>>> fy.plot.cdf(r, "read").figure.savefig("reads.pdf")  # doctest: +SKIP

A figure is 3.4 inches wide, a column of a paper in two columns, and its text has 8 points. Its
``savefig`` keeps text as text in PDF and SVG. Lines differ in colour, dashes and markers, so that
they are told apart with any colour vision and in print without colours. The settings of matplotlib
stay as they are; :func:`style` has those of these figures.

Every function returns what it drew on. Axes that are given as ``ax`` are drawn on in place of a
new figure, and keep their own size and type.

It needs matplotlib: ``pip install flashyard[plot]``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

try:
    import matplotlib.figure
    import matplotlib.lines
    import matplotlib.patches
    import matplotlib.ticker
    import numpy as np
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install flashyard[plot]") from error

from . import _figure, _plotted
from ._figure import Axes, Drawn, style
from ._keys import listed, unknown
from ._plotted import CLASSES, Results
from ._run import Result

__all__ = ["cdf", "parts", "series", "style", "sweep", "timeline"]

#: Latencies that go over more than this factor have a logarithmic axis.
_WIDE = 20

#: Most names in a legend inside axes.
_INSIDE = 4

#: Letters of the longest name in a legend inside axes.
_LONG = 22

#: The width of a box in a legend, in units of the size of its text.
_BOX_EM = 1.5


def cdf(
    results: Results, op: str = "all", *, tail: bool = False, ax: Optional[Axes] = None
) -> Drawn:
    """The distribution of latencies: which share of the requests takes at most so long.

    A result with a request log (``run(..., log=True)``) has a step for every request whose latency
    counts; above 2,000 different latencies there is a step at every 0.1 % and as many, evenly in
    the logarithm, in the tail. A result without a log has the points that its report has, joined
    by lines: percentiles 50, 90, 95, 99, 99.9 and 99.99, which are at most 1 % above the exact
    ones, and the greatest latency.

    Parameters
    ----------
    results
        A result, a list of results, a dict with a name for each, or what
        :func:`flashyard.compare` returns.
    op
        "read", "write", "trim", "flush" or "all".
    tail
        Whether to show the share that takes longer, on logarithmic axes: p99.99 is at 10^-4.
    ax
        Axes to draw on, in place of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Latency in microseconds along x, the share (0 to 1) along y, and a line for each result in
        their order. The x axis is logarithmic where latencies go over a factor of 20.

    Raises
    ------
    ConfigError
        Where there is no such class.
    ValueError
        Where a result has no request of the class, or only one with ``tail``.

    Examples
    --------
    >>> import flashyard as fy
    >>> ax = fy.plot.cdf({"greedy": r1, "fifo": r2}, "read", tail=True)  # doctest: +SKIP
    """
    _plotted.checked_class(op)
    curves = {
        name: _plotted.curve(name, result, op) for name, result in _plotted.named(results).items()
    }
    if tail:
        for name, found in curves.items():
            if found.total < 2:
                raise ValueError(f"{name}: only one of its {CLASSES[op]} counts; a tail needs two")
    many = len(curves) > _INSIDE or len(curves) > 1 and max(map(len, curves)) > _LONG
    with style():
        axes = _own(ax, 2.2 + (_figure.legend_in(list(curves)) if many else 0))
        for number, (name, found) in enumerate(curves.items()):
            _curve(axes, number, name, found, tail)
        us = np.concatenate([found.us for found in curves.values()])
        if us.min() > 0 and (tail or us.max() / us.min() > _WIDE):
            axes.set_xscale("log")
            _figure.scale_powers(axes.xaxis)
        axes.set_xlabel(f"latency ({_figure.US})")
        if tail:
            _tail_axis(axes, op, max(found.total for found in curves.values()))
        else:
            axes.set_ylabel(f"cumulative share of {CLASSES[op]}")
            axes.set_ylim(0, 1.02)
        _figure.light_grid(axes)
        if many:
            _figure.legend_above(axes, axes.get_lines()[-len(curves) :], ax is not None)
        elif len(curves) > 1:
            axes.legend(loc="lower left" if tail else "lower right")
    return axes


def _own(ax: Optional[Axes], height_in: float) -> Drawn:
    return _figure.own_axes(ax, height_in)


def _curve(axes: Axes, number: int, name: str, found: _plotted.Curve, tail: bool) -> None:
    us, shares = _plotted.steps(found, tail)
    look = _figure.look(number)
    # One latency of all requests has no line in a plot of the tail.
    is_line = found.is_exact and (len(found.us) > 1 or not tail)
    axes.plot(
        us,
        shares,
        color=look.colour,
        linestyle=look.dashes,
        drawstyle="steps-post" if found.is_exact else "default",
        marker="" if is_line else look.marker,
        label=name,
    )


def _tail_axis(axes: Axes, op: str, count: int) -> None:
    axes.set_yscale("log")
    axes.set_ylim(0.7 / count, 1.4)
    _figure.scale_powers(axes.yaxis)
    axes.set_ylabel(f"share of slower {CLASSES[op]}")
    shares = {"p50": 0.5, "p90": 0.1, "p99": 0.01, "p99.9": 1e-3, "p99.99": 1e-4, "p99.999": 1e-5}
    for name, share in shares.items():
        if share * count >= 1:
            axes.annotate(
                name,
                (1, share),
                (2, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                fontsize=_figure.TEXT_PT - 1,
                color="#555555",
                va="center",
            )


#: The colour and the hatching of each part. Hatched parts are waits.
_PARTS: dict[str, tuple[str, str, str]] = {
    "host_queue": ("host queue", _figure.GREY, "...."),
    "link": ("host link", _figure.GREY, ""),
    "firmware": ("firmware", _figure.PURPLE, ""),
    "map_stall": ("map cache stalls", _figure.GREEN, "++++"),
    "slot": ("slot of the queue", _figure.YELLOW, "||||"),
    "own_map": ("own map commands", _figure.GREEN, ""),
    "delaying": ("other requests", _figure.BLACK, "----"),
    "die_read": ("die reads others", _figure.SKY, "\\\\\\\\"),
    "die_program": ("die programs", _figure.ORANGE, "////"),
    "die_erase": ("die erases", _figure.PURPLE, "oo"),
    "die_gc": ("garbage collection", _figure.VERMILLION, "xxxx"),
    "die_fold": ("folding", _figure.ORANGE, "xxxx"),
    "bus": ("waits for channel", _figure.BLUE, "--||"),
    "array": ("flash array", _figure.BLUE, ""),
    "retry": ("read retries", _figure.ORANGE, ""),
    "transfer": ("transfer", _figure.SKY, ""),
    "status": ("status", _figure.YELLOW, ""),
    "buffer": ("write buffer", _figure.VERMILLION, ""),
    "flush": ("flushes", _figure.GREEN, "////"),
}

_OTHERS = ("others", "#DDDDDD", "")


def parts(results: Results, op: str = "read", *, ax: Optional[Axes] = None) -> Drawn:
    """What the mean latency is made of: a bar for each result, with a piece for each part.

    The pieces of a bar add up to the mean latency. Hatched parts are waits for something else;
    plain parts are mostly work for the request itself. docs/JSON.md says what each part is
    (``latency_parts_ns``). A part has the same colour in every figure. Parts that are below 1 % of
    every bar are joined as "others".

    Parameters
    ----------
    results
        A result, a list of results, a dict with a name for each, or what
        :func:`flashyard.compare` returns.
    op
        "read", "write", "trim", "flush", or "all" for the mean over all four.
    ax
        Axes to draw on, in place of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Mean latency in microseconds along x; the results along y, the first one on top.
        ``ax.containers`` has the pieces, part by part.

    Raises
    ------
    ConfigError
        Where there is no such class.
    ValueError
        Where a result has no request of the class.
    """
    _plotted.checked_class(op)
    means = {
        name: _plotted.mean_parts(name, result, op)
        for name, result in _plotted.named(results).items()
    }
    bars = list(means.values())
    shown = [part for part in bars[0] if any(_is_large(part, bar) for bar in bars)]
    if not any(value > 0 for bar in bars for value in bar.values()):
        shown = [next(iter(bars[0]))]  # every latency is 0: a bar without a length
    rows = [(*_PARTS[part], [bar[part] for bar in bars]) for part in shown]
    rest = [sum(value for part, value in bar.items() if part not in shown) for bar in bars]
    if any(value > 0 for value in rest):
        rows.append((*_OTHERS, rest))
    with style():
        labels = [label for label, *_ in rows]
        axes = _own(ax, 0.65 + 0.27 * len(bars) + _figure.legend_in(labels, _BOX_EM))
        left = np.zeros(len(bars))
        pieces = []
        for label, colour, hatch, values in rows:
            pieces.append(
                axes.barh(
                    range(len(bars)),
                    values,
                    left=left,
                    height=0.66,
                    facecolor=_figure.paler(colour) if hatch else colour,
                    edgecolor=colour,
                    hatch=hatch or None,
                    linewidth=0.4,
                    label=label,
                )
            )
            left += np.array(values)
        axes.set_yticks(range(len(bars)), list(means))
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.set_xlim(0, 1.02 * left.max() or 1)
        axes.set_xlabel(f"mean latency of {CLASSES[op]} ({_figure.US})")
        axes.tick_params(axis="y", length=0)
        _figure.light_grid(axes, "x")
        _row_legend(axes, pieces, ax is not None)
    return axes


def _row_legend(axes: Axes, handles: Sequence[Any], given: bool) -> None:
    """The legend of a plot with rows, which reach from one side to the other."""
    if given:
        _figure.legend_over_rows(axes, handles, _BOX_EM)
    else:
        _figure.legend_above(axes, handles, False, _BOX_EM)


def _is_large(part: str, bar: dict[str, float]) -> bool:
    return bar[part] >= 0.01 * sum(bar.values()) and bar[part] > 0


#: What plots of time series show in one: label, whether it is logarithmic, and for each line its
#: column, its name, and what it is multiplied with.
_SERIES: dict[str, tuple[str, bool, tuple[tuple[str, str, float], ...]]] = {
    "throughput": ("MB/s", False, (("read_bytes", "read", 1e3), ("write_bytes", "write", 1e3))),
    "latency": (
        f"latency ({_figure.US})",
        True,
        (("latency_mean_ns", "mean", 1e-3), ("latency_max_ns", "max", 1e-3)),
    ),
    "read_latency": (
        f"reads ({_figure.US})",
        True,
        (("read_latency_mean_ns", "mean", 1e-3), ("read_latency_max_ns", "max", 1e-3)),
    ),
    "write_latency": (
        f"writes ({_figure.US})",
        True,
        (("write_latency_mean_ns", "mean", 1e-3), ("write_latency_max_ns", "max", 1e-3)),
    ),
    "write_amplification": ("write ampl.", False, (("write_amplification", "", 1.0),)),
    "free_blocks": ("free blocks", False, (("free_blocks", "", 1.0),)),
    "power": ("power (mW)", False, (("mean_mw", "", 1.0),)),
}

#: Columns of a bin that are amounts, which are shown a second.
_AMOUNTS = ("bytes", "programs", "reads", "writes", "trims", "flushes", "erases")

_USUAL = ("throughput", "latency", "write_amplification", "free_blocks")


def series(
    result: Result,
    columns: Union[str, Iterable[str]] = _USUAL,
) -> matplotlib.figure.Figure:
    """What happened over time: small axes, one above the other, with one time axis.

    Parameters
    ----------
    result
        A run with a time series (``run(..., series_ms=10)``).
    columns
        What to show, from top to bottom, or one of them: "throughput" (reads and writes, MB/s),
        "latency", "read_latency", "write_latency" (mean and greatest in each bin, microseconds,
        logarithmic),
        "write_amplification", "free_blocks", "power" (mW), or any column of ``result.series``.
        Columns of amounts (requests, bytes, programs, erases) are shown a second.

    Returns
    -------
    matplotlib.figure.Figure
        Its ``axes`` are those of ``columns``, in their order. The time is that of measured phases
        without gaps, in seconds, or milliseconds where the run is shorter than one second. A
        value holds for its bin; what is not defined in a bin is left out.

    Raises
    ------
    ConfigError
        Where there is no such column.
    ValueError
        Where the run has no time series.
    """
    if result.series is None:
        raise ValueError("the run has no time series: run it with series_ms=")
    bins = _plotted.Bins(result.series, result.report["throughput"]["makespan_ns"])
    columns = listed("columns", columns)
    if not columns:
        raise ValueError("there is no column to plot")
    known = [*_SERIES, *result.series.column_names]
    for name in columns:
        if name not in known:
            raise unknown("column of a time series", name, known)
    in_seconds = bins.edges_ns[-1] >= 1e9
    times = bins.edges_ns / (1e9 if in_seconds else 1e6)
    with style():
        figure = _figure.new_figure(_figure.COLUMN_IN, 0.45 + 0.8 * len(columns))
        stacked = figure.subplots(len(columns), 1, sharex=True, squeeze=False)[:, 0]
        for axes, name in zip(stacked, columns):
            _figure.fix_ticks(axes)
            _panel(axes, name, bins, times)
        stacked[-1].set_xlabel("time (s)" if in_seconds else "time (ms)")
        stacked[-1].set_xlim(times[0], times[-1])
        figure.align_ylabels()
    return figure


def _panel(axes: Axes, name: str, bins: _plotted.Bins, times: _plotted.Floats) -> None:
    """One of the small axes."""
    label, by_powers, lines = _SERIES.get(name, ("", False, ()))
    if not lines:
        is_amount = name.endswith(_AMOUNTS)
        label = f"{name} (1/s)" if is_amount else _plotted.label_of(name)
        label = label.replace("_", " ")
        lines = ((name, "", 1e9 if is_amount else 1.0),)
    top = 0.0
    for number, (column, line, factor) in enumerate(lines):
        values = bins.column(column) * factor
        if name == "throughput" or column.endswith(_AMOUNTS):
            values = np.divide(values, bins.span_ns, where=bins.span_ns > 0, out=values * np.nan)
        look = _figure.look(number)
        axes.plot(
            times,
            np.append(values, values[-1]),
            drawstyle="steps-post",
            color=look.colour,
            linestyle=look.dashes,
            linewidth=0.9,
            label=line or name,
        )
        finite = values[np.isfinite(values)]
        top = max(top, float(finite.max())) if len(finite) else top
    if by_powers:
        axes.set_yscale("log")
        _figure.scale_powers(axes.yaxis)
    elif top > 0:
        axes.set_ylim(0, 1.1 * top)
    if not by_powers:
        whole = name == "free_blocks"
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(3, integer=whole))
    axes.set_ylabel(_figure.wrapped(label))
    _figure.light_grid(axes)
    if len(lines) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 0.98), ncols=2, borderaxespad=0)


def sweep(
    t: Any, x: str, y: str, hue: Optional[str] = None, *, ax: Optional[Axes] = None
) -> Drawn:
    """A figure of a sweep against a key: means over seeds with their 95 % confidence intervals.

    Parameters
    ----------
    t
        What :func:`flashyard.sweep` returns, or its runs in a table of another package: a frame of
        Polars or pandas, a table of Arrow, or a dict of lists, with a row for each run. With a
        column ``point``, rows of one point are the seeds of one mean.
    x
        The key along x, by the name of its column, such as "ftl.over_provisioning_percent".
    y
        The figure along y, such as "read.p99_us" or "wa".
    hue
        The key that makes lines.
    ax
        Axes to draw on, in place of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Where x has numbers: a line with markers for each value of hue, in the order in which they
        appear, and a band of Student's t around it. The x axis is logarithmic where the values go
        by powers. Where x has words: a marker with an error bar for each. A point of one run has
        no interval. Runs without the figure, such as failed ones, are left out.

    Raises
    ------
    ConfigError
        Where there is no such column.
    ValueError
        Where several points share a place, because the sweep varies yet another key; or where no
        run has the figure.

    Examples
    --------
    >>> import flashyard as fy
    >>> t = fy.sweep(d, w, vary={"gc.policy": ["greedy", "fifo"],
    ...     "ftl.over_provisioning_percent": range(10, 31, 5)}, seeds=3)  # doctest: +SKIP
    >>> fy.plot.sweep(t, "ftl.over_provisioning_percent", "wa", "gc.policy")  # doctest: +SKIP
    """
    xs, lines = _plotted.sweep_points(t, x, y, hue)
    is_numeric = all(_plotted.is_number(value) for value in xs)
    named = hue is not None
    inside = is_numeric and len(lines) <= _INSIDE
    labels = [_value_text(line) if named else y for line in lines]
    with style():
        axes = _own(ax, 2.2 + (_figure.legend_in(labels, 2.2, True) if named and not inside else 0))
        drawn = []
        for number, (label, points) in enumerate(zip(labels, lines.values())):
            if is_numeric:
                drawn.append(_band(axes, number, label, points))
            else:
                places = [xs.index(at) for at in points.x]
                drawn.append(_bars(axes, number, label, points, places, len(lines)))
        if is_numeric:
            _figure.scale_numbers(axes, xs)
        else:
            _words(axes, [_value_text(value) for value in xs])
        axes.set_xlabel(_plotted.label_of(x))
        axes.set_ylabel(_plotted.label_of(y))
        _figure.light_grid(axes, "both" if is_numeric else "y")
        if hue is not None:
            said = _plotted.label_of(hue)
            if inside:
                legend = axes.legend(handles=drawn, loc="best", title=said)
                legend.get_title().set_fontsize(_figure.TEXT_PT)
            else:
                more: dict[str, Any] = {"title": said, "title_fontsize": _figure.TEXT_PT}
                _figure.legend_above(axes, drawn, ax is not None, **more)
    return axes


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _figure.number_text(value) if _plotted.is_number(value) else str(value)


def _band(axes: Axes, number: int, label: str, points: _plotted.Points) -> Any:
    """A line with its confidence band."""
    look = _figure.look(number)
    (line,) = axes.plot(
        points.x,
        points.mean,
        color=look.colour,
        linestyle=look.dashes,
        marker=look.marker,
        label=label,
    )
    mean, half = np.array(points.mean), np.array(points.half)
    if np.isfinite(half).any():
        axes.fill_between(
            points.x, mean - half, mean + half, color=look.colour, alpha=0.2, linewidth=0
        )
    return line


def _bars(
    axes: Axes, number: int, label: str, points: _plotted.Points, at: Sequence[int], lines: int
) -> Any:
    """Markers with error bars, those of several lines side by side."""
    look = _figure.look(number)
    aside = (number - (lines - 1) / 2) * min(0.18, 0.7 / lines)
    half = np.nan_to_num(np.array(points.half))
    return axes.errorbar(
        [place + aside for place in at],
        points.mean,
        yerr=half if half.any() else None,
        color=look.colour,
        linestyle="",
        marker=look.marker,
        capsize=2,
        elinewidth=0.9,
        label=label,
    )


def _words(axes: Axes, words: Sequence[str]) -> None:
    turned = sum(len(word) + 2 for word in words) > 42
    axes.set_xticks(range(len(words)), list(words))
    if turned:
        for tick in axes.get_xticklabels():
            tick.set(rotation=30, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.5, len(words) - 0.5)


#: Colours of what dies work for.
_PURPOSES = {
    "host": ("host", _figure.BLUE),
    "map_fetch": ("map fetch", _figure.GREEN),
    "map_writeback": ("map writeback", _figure.PURPLE),
    "gc": ("gc", _figure.VERMILLION),
    "map_gc": ("map gc", _figure.ORANGE),
    "wear": ("wear", _figure.BLACK),
    "merge": ("merge", _figure.SKY),
    "fold": ("fold", _figure.YELLOW),
    "journal": ("journal", _figure.GREY),
    "recovery": ("recovery", _figure.GREY),
    "read_ahead": ("read ahead", _figure.SKY),
}

_OPS = ("read", "program", "erase")


def timeline(
    result: Result,
    t0_us: float,
    t1_us: float,
    dies: Union[None, int, Iterable[int]] = None,
    *,
    ax: Optional[Axes] = None,
) -> Drawn:
    """What dies do between two instants: a row for each die, a bar for each operation.

    The colour says what an operation is for; reads are pale, programs full and erases hatched. An
    operation that is suspended is a thin line until it goes on, and the time to suspend and resume
    it is grey. Commands that one operation serves are one bar.

    Parameters
    ----------
    result
        A run with a command log (``run(..., commands=True)``).
    t0_us, t1_us
        Where the plot begins and ends, in microseconds from the start of the run. Operations that
        lie across an end are cut there.
    dies
        The numbers of the dies, from top to bottom, or one of them; all that do something if none
        are given.
    ax
        Axes to draw on, in place of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Time in microseconds along x, dies along y. Beyond 100 ms ticks are in milliseconds; the
        data stay in microseconds.

    Raises
    ------
    ConfigError
        Where the device has no such die.
    ValueError
        Where the run has no command log, or no die does anything in this time.
    """
    if result.commands is None:
        raise ValueError("the run has no command log: run it with commands=True")
    if not t0_us < t1_us:
        raise ValueError(f"the plot must end after it begins, not at {t1_us} us")
    wanted = None if dies is None else _plotted.checked_dies(result, dies)
    found = _plotted.spans(result.commands, t0_us, t1_us, wanted)
    if not found:
        raise ValueError(f"no die does anything between {t0_us} and {t1_us} us")
    rows = sorted({span.die for span in found}) if wanted is None else wanted
    row_of = {die: row for row, die in enumerate(rows)}
    handles = _kinds_shown(found)
    labels = [str(handle.get_label()) for handle in handles]
    with style():
        axes = _own(
            ax, min(0.5 + 0.2 * max(len(rows), 3) + _figure.legend_in(labels, _BOX_EM), 8)
        )
        for span in found:
            _draw_span(axes, span, row_of[span.die])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), [str(die) for die in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylabel("die")
        _time_axis(axes, t0_us, t1_us)
        _figure.light_grid(axes, "x")
        _row_legend(axes, handles, ax is not None)
    return axes


def _kinds_shown(found: Sequence[_plotted.Spans]) -> list[Any]:
    """What a legend has of operations."""
    kinds = sorted({(span.purpose, span.op) for span in found if span.op in _OPS}, key=_kind_order)
    has_breaks = any(span.op in ("suspend", "resume") for span in found)
    handles: list[Any] = [_patch(f"{_PURPOSES[of][0]} {op}", of, op) for of, op in kinds]
    if has_breaks:
        handles.append(_patch("suspend, resume", "", "suspend"))
    if any(span.suspended for span in found):
        handles.append(matplotlib.lines.Line2D([], [], color="#444444", label="suspended"))
    return handles


def _time_axis(axes: Axes, t0_us: float, t1_us: float) -> None:
    """Ticks in milliseconds where numbers in microseconds would be long."""
    in_ms = t1_us >= 1e5
    axes.set_xlim(t0_us, t1_us)
    axes.set_xlabel("time (ms)" if in_ms else f"time ({_figure.US})")
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, steps=[1, 2, 5, 10]))
    factor = 1e3 if in_ms else 1
    axes.xaxis.set_major_formatter(
        matplotlib.ticker.FuncFormatter(lambda us, _: f"{us / factor:.10g}")
    )


def _kind_order(kind: tuple[str, str]) -> tuple[int, int]:
    return list(_PURPOSES).index(kind[0]), _OPS.index(kind[1])


def _fill(purpose: str, op: str) -> dict[str, Any]:
    """How an operation is painted."""
    if op in ("suspend", "resume"):
        return {"facecolor": _figure.GREY, "edgecolor": _figure.GREY}
    colour = _PURPOSES[purpose][1]
    if op == "read":
        return {"facecolor": _figure.paler(colour), "edgecolor": colour}
    if op == "erase":
        return {"facecolor": "white", "edgecolor": colour, "hatch": "//////"}
    return {"facecolor": colour, "edgecolor": colour}


def _patch(label: str, purpose: str, op: str) -> matplotlib.patches.Patch:
    return matplotlib.patches.Patch(linewidth=0.5, label=label, **_fill(purpose, op))


def _draw_span(axes: Axes, span: _plotted.Spans, row: int) -> None:
    axes.broken_barh(
        span.active, (row - 0.38, 0.76), linewidth=0.3, **_fill(span.purpose, span.op)
    )
    if span.suspended:
        colour = _PURPOSES[span.purpose][1]
        axes.broken_barh(span.suspended, (row - 0.47, 0.09), facecolor=colour, linewidth=0)
