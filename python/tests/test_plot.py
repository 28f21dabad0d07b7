"""Plots: their data, labels and files, against figures that are computed in another way."""

import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import numpy as np
import pandas as pd
import polars as pl
from matplotlib import pyplot
from matplotlib.collections import PathCollection, PolyCollection

import flashyard as fy
from flashyard import _plotted

_KEY = "ftl.over_provisioning_percent"
_WORKLOAD = fy.workload("mixed-70-30", requests=20_000)
_STEADY = fy.device("nvme-tlc", capacity="16GB", state__initial="steady")


@pytest.fixture(scope="module")
def runs() -> dict[str, fy.Result]:
    """With a log: two victim rules of a small device."""
    return {
        rule: fy.run(fy.device("small-full", gc__policy=rule), _WORKLOAD, log=True, series_ms=20)
        for rule in ("greedy", "fifo")
    }


@pytest.fixture(scope="module")
def suspending() -> fy.Result:
    return fy.run(_STEADY, _WORKLOAD.replace(requests=4_000), commands=True, log=True)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def _points(line: Any) -> tuple[list[float], list[float]]:
    return list(line.get_xdata()), list(line.get_ydata())


def _figure(axes: Any) -> Any:
    return axes.figure


def _texts(legend: Any) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def _share_at(line: Any, us: float) -> float:
    """The value of a line of steps."""
    xs, ys = _points(line)
    return ys[int(np.searchsorted(xs, us, side="right")) - 1]


def test_a_cdf_has_a_step_for_every_latency(runs: dict[str, fy.Result]) -> None:
    axes = fy.plot.cdf(runs, "read")
    assert _texts(axes.get_legend()) == ["greedy", "fifo"]
    assert axes.get_xlabel() == "latency (\u00b5s)"
    assert axes.get_ylabel() == "cumulative share of reads"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    for line, result in zip(axes.get_lines(), runs.values()):
        assert line.get_drawstyle() == "steps-post"
        reads = pl.DataFrame(result.requests).filter(op="read")["latency_ns"]
        for us in (100.0, 300.0, 1_000.0, 20_000.0):
            assert _share_at(line, us) == pytest.approx((reads <= us * 1e3).mean())
        xs, ys = _points(line)
        assert (ys[0], ys[-1]) == (0.0, 1.0)
        assert xs[-1] * 1e3 == pytest.approx(reads.max())


def test_a_tail_shows_the_slowest_request(runs: dict[str, fy.Result]) -> None:
    axes = fy.plot.cdf(runs["greedy"], "write", tail=True)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "share of slower writes"
    assert axes.get_legend() is None
    writes = pl.DataFrame(runs["greedy"].requests).filter(op="write")["latency_ns"]
    xs, ys = _points(axes.get_lines()[0])
    assert ys[-1] == pytest.approx((writes == writes.max()).mean())
    for share in (0.5, 0.1, 0.01):
        ns = int(writes.sort()[math.ceil((1 - share) * len(writes)) - 1])
        above = _share_at(axes.get_lines()[0], ns / 1e3)
        assert above == pytest.approx((writes > ns).mean(), rel=0.01)
    assert {text.get_text() for text in axes.texts} == {"p50", "p90", "p99", "p99.9"}


def test_a_cdf_without_a_log_has_the_percentiles_of_the_report() -> None:
    result = fy.run("small-full", _WORKLOAD.replace(requests=4_000))
    axes = fy.plot.cdf([result], "read")
    xs, ys = _points(axes.get_lines()[0])
    read = result.read
    shares: dict[Any, float] = dict(zip(xs, ys))
    assert shares[read.p99_us] == pytest.approx(0.99)
    assert shares[read.p50_us] == pytest.approx(0.5)
    assert (xs[-1], ys[-1]) == (read.max_us, 1.0)
    # p99.99 of fewer than 10,000 reads is the greatest latency.
    assert len(xs) == 6
    _, tail = _points(fy.plot.cdf([result], "read", tail=True).get_lines()[0])
    assert tail[-1] == pytest.approx(1 / float(read.count or 0))


def test_long_curves_keep_every_share_and_the_tail() -> None:
    result = fy.run("small-full", _WORKLOAD.replace(requests=40_000), log=True)
    latencies = np.sort(np.array(pl.DataFrame(result.requests)["latency_ns"])) / 1e3
    assert len(np.unique(latencies)) > 5_000
    found = _plotted.curve("", result, "all")
    assert len(found.us) <= 2_002
    exact = 1 - np.searchsorted(latencies, found.us, side="right") / len(latencies)
    assert np.allclose(found.above, exact)
    drawn = found.above[np.searchsorted(found.us, latencies, side="right") - 1]
    real = 1 - np.searchsorted(latencies, latencies, side="right") / len(latencies)
    assert np.all((drawn - real >= -1e-9) & (drawn - real <= 0.0011))
    assert found.us[-10:] == pytest.approx(np.unique(latencies)[-10:])


def test_only_requests_that_count_are_in_a_cdf() -> None:
    text = """
[[phase]]
name = "before"
measure = false
workload = "random-write"
requests = 300
[[phase]]
name = "measured"
requests = 500
workload = "mixed-70-30"
"""
    device = fy.device("small-full", metrics__skip_requests=40)
    result = fy.run(device, text, log=True)
    for op, latencies in (("all", result.all), ("read", result.read), ("write", result.write)):
        found = _plotted.curve("", result, op)
        assert found.total == latencies.count
        assert found.us[-1] == pytest.approx(latencies.max_us)
        above = found.above[found.us > float(latencies.p50_us or 0)]
        assert above.max() < 0.5
    assert result.all.count == 460


def test_parts_add_up_to_the_mean(runs: dict[str, fy.Result]) -> None:
    axes = fy.plot.parts(runs, "read")
    assert axes.get_xlabel() == "mean latency of reads (\u00b5s)"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["greedy", "fifo"]
    for place, result in enumerate(runs.values()):
        total = sum(pieces[place].get_width() for pieces in axes.containers)
        assert total == pytest.approx(result.read.mean_us)
    log = pl.DataFrame(runs["greedy"].requests).filter(op="read")
    widths = {str(p.get_label()): p[0].get_width() for p in axes.containers}
    for label, column in (("flash array", "array"), ("garbage collection", "die_gc")):
        mean = log[f"part_{column}_ns"].mean()
        assert widths[label] * 1e3 == pytest.approx(mean)
    assert _texts(_figure(axes).legends[0]) == list(widths)


def test_parts_of_all_requests_and_small_ones(suspending: fy.Result) -> None:
    axes = fy.plot.parts(suspending, "all")
    widths = {str(p.get_label()): p[0].get_width() for p in axes.containers}
    mean = float(suspending.all.mean_us or 0)
    assert sum(widths.values()) == pytest.approx(mean)
    large = [width for label, width in widths.items() if label != "others"]
    assert min(large) >= 0.01 * mean


def test_every_part_has_its_own_look() -> None:
    from flashyard import _core

    assert list(fy.plot._PARTS) == list(_core.parts())
    looks = [(colour, hatch) for _, colour, hatch in fy.plot._PARTS.values()]
    assert len(set(looks)) == len(looks)


def test_series_share_a_time_axis(runs: dict[str, fy.Result]) -> None:
    result = runs["greedy"]
    figure = fy.plot.series(result)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["MB/s", "latency (\u00b5s)", "write ampl.", "free blocks"]
    assert figure.axes[-1].get_xlabel() == "time (s)"
    read, write = figure.axes[0].get_lines()
    bins = pl.DataFrame(result.series)
    assert _points(read)[1][3] == pytest.approx(bins["read_bytes"][3] / 0.02 / 1e6)
    assert _points(read)[0][3] == pytest.approx(0.06)
    # All bytes are under the line, in the shorter last bin too.
    widths = np.diff(_points(write)[0])
    total = float(np.sum(widths * np.array(_points(write)[1])[:-1]) * 1e6)
    assert total == pytest.approx(bins["write_bytes"].sum())
    mean, most = figure.axes[1].get_lines()
    assert _points(most)[1][3] == pytest.approx(bins["latency_max_ns"][3] / 1e3)
    assert np.nanmax(_points(most)[1]) == pytest.approx(result.all.max_us)
    assert figure.axes[1].get_yscale() == "log"
    wa = _points(figure.axes[2].get_lines()[0])[1]
    where = bins["write_amplification"].is_null().to_list()
    assert [math.isnan(value) for value in wa[:-1]] == where


def test_the_last_bin_ends_with_the_run_whatever_it_takes() -> None:
    # Reads of the buffer take no energy of the flash; two trims take no time at all.
    device = fy.device("small-full", buffer__bytes="1MiB")
    at_ns = [0, *range(10_000_000, 10_000_100)]
    table = fy.requests(at_ns=at_ns, op=["write"] + 100 * ["read"], offset=0, nbytes=4096)
    read = fy.run(device, table, series_ms=10)
    makespan = read.report["throughput"]["makespan_ns"]
    assert 10_000_000 < makespan < 11_000_000
    assert read.series is not None
    bins = _plotted.Bins(read.series, makespan)
    assert bins.edges_ns.tolist() == [0, 10_000_000, makespan]
    # The device collects behind the last answer: longer than a bin here.
    mixed = fy.workload("mixed-70-30", requests=8000)
    work = fy.run("small-full", mixed, series_ms=20, commands=True)
    assert work.series is not None and work.commands is not None
    makespan = work.report["throughput"]["makespan_ns"]
    bins = _plotted.Bins(work.series, makespan)
    assert bins.edges_ns[-1] == max(work.commands["end_ns"]) > makespan + 20_000_000
    trims = fy.requests(at_ns=[0, 4096], op="trim", offset=[0, 4096], nbytes=4096)
    nothing = fy.run("small-full", trims, series_ms=10)
    assert nothing.report["latency_ns"]["trim"]["max"] == 0
    assert nothing.series is not None
    assert _plotted.Bins(nothing.series, 4096).edges_ns.tolist() == [0, 4096]
    assert fy.plot.series(nothing, "throughput").axes[0].get_xlim()[1] > 0
    assert fy.plot.parts(nothing, "trim").get_xlim() == (0, 1)


def test_series_of_columns_by_name(runs: dict[str, fy.Result]) -> None:
    figure = fy.plot.series(runs["fifo"], ["erases", "outstanding_mean"])
    assert figure.axes[0].get_ylabel() == "erases (1/s)"
    bins = pl.DataFrame(runs["fifo"].series)
    at = int(bins["erases"].arg_max() or 0)
    drawn = _points(figure.axes[0].get_lines()[0])[1]
    assert drawn[at] == pytest.approx(bins["erases"][at] / 0.02)


@pytest.fixture(scope="module")
def swept() -> fy.Sweep:
    vary: dict[str, Any] = {"gc.policy": ["greedy", "fifo"], _KEY: [15, 20, 30]}
    return fy.sweep("small-full", fy.workload("random-write", requests=12_000), vary, seeds=3)


def test_a_sweep_has_means_and_confidence_bands(swept: fy.Sweep) -> None:
    axes = fy.plot.sweep(swept, _KEY, "wa", "gc.policy")
    assert axes.get_xlabel() == "ftl.over_provisioning (%)"
    assert axes.get_ylabel() == "write amplification"
    assert _texts(axes.get_legend()) == ["greedy", "fifo"]
    assert axes.get_xscale() == "linear"
    bands = [part for part in axes.collections if isinstance(part, PolyCollection)]
    for rule, line, band in zip(("greedy", "fifo"), axes.get_lines(), bands):
        xs, ys = _points(line)
        assert xs == [15, 20, 30]
        rows = pl.DataFrame(swept).filter(pl.col("gc.policy") == rule)
        corners = band.get_paths()[0].vertices
        for x, y in zip(xs, ys):
            values = rows.filter(pl.col(_KEY) == x)["wa"].to_list()
            assert y == pytest.approx(statistics.mean(values))
            half = 4.30265 * statistics.stdev(values) / math.sqrt(3)
            here = np.asarray(corners)[np.isclose(np.asarray(corners)[:, 0], x), 1]
            assert (here.min(), here.max()) == pytest.approx((y - half, y + half))


def test_a_sweep_over_words_has_error_bars(swept: fy.Sweep) -> None:
    axes = fy.plot.sweep(swept, "gc.policy", "write.p99_us", _KEY)
    assert axes.get_ylabel() == "write latency, p99 (\u00b5s)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["greedy", "fifo"]
    legend = _figure(axes).legends[0]
    assert _texts(legend) == ["15", "20", "30"]
    frame = pl.DataFrame(swept)
    for value, bars in zip((15, 20, 30), axes.containers):
        marks = bars[0]
        rows = frame.filter((pl.col(_KEY) == value) & (pl.col("gc.policy") == "fifo"))
        assert marks.get_ydata()[1] == pytest.approx(rows["write.p99_us"].mean())


def test_a_sweep_may_come_from_any_package(swept: fy.Sweep) -> None:
    drawn = _points(fy.plot.sweep(swept, _KEY, "iops", "gc.policy").get_lines()[1])
    polars = pl.DataFrame(swept)
    for table in (polars, polars.to_pandas(), polars.to_arrow(), polars.to_dict(as_series=False)):
        axes = fy.plot.sweep(table, _KEY, "iops", "gc.policy")
        assert _points(axes.get_lines()[1]) == drawn
    assert axes.get_ylabel() == "requests a second (1/s)"
    only = polars.to_pandas()
    only = only[only["gc.policy"] == "fifo"]
    assert isinstance(only, pd.DataFrame)
    assert _points(fy.plot.sweep(only, _KEY, "iops").get_lines()[0]) == drawn


def test_keys_that_would_be_mixed_are_refused(swept: fy.Sweep) -> None:
    with pytest.raises(ValueError, match="the sweep also varies gc.policy"):
        fy.plot.sweep(swept, _KEY, "wa")
    with pytest.raises(fy.ConfigError, match="did you mean"):
        fy.plot.sweep(swept, "ftl.over_provisioning", "wa")
    with pytest.raises(ValueError, match="no run has a value of trim.mean_us"):
        fy.plot.sweep(swept, _KEY, "trim.mean_us", "gc.policy")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("read.p9999_us", "read latency, p99.99 (\u00b5s)"),
        ("all.mean_us", "latency, mean (\u00b5s)"),
        ("write.count", "writes (count)"),
        ("wa_gc", "write amplification, gc"),
        ("life_years", "life (years)"),
        ("energy_mj", "energy (mJ)"),
        ("gc_victims", "gc victims"),
        ("stream.log.write.p99_us", "log: write latency, p99 (\u00b5s)"),
        ("stream.depth", "stream.depth"),
        ("nand.read_us", "nand.read (\u00b5s)"),
        ("gc.policy", "gc.policy"),
        ("seed", "seed"),
    ],
)
def test_axes_have_words_and_units(name: str, label: str) -> None:
    assert _plotted.label_of(name) == label


def test_failed_runs_are_left_out_and_powers_are_logarithmic() -> None:
    table = {
        "point": [0, 0, 1, 1, 2, 3],
        "queue.depth": [1, 1, 4, 4, 16, 64],
        "iops": [10.0, 12.0, 40.0, 44.0, None, 90.0],
    }
    axes = fy.plot.sweep(table, "queue.depth", "iops")
    assert axes.get_xscale() == "log"
    assert axes.get_legend() is None
    assert _points(axes.get_lines()[0]) == ([1, 4, 64], [11.0, 42.0, 90.0])
    assert list(axes.get_xticks()) == [1, 4, 16, 64]
    _figure(axes).draw_without_rendering()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "16", "64"]


def _t_by_quadrature(freedom: int) -> float:
    """The t of which 95 % of the distribution lie inside, by bisection of its integral."""
    scale = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)

    def inside(t: float) -> float:
        x = np.linspace(0, t, 200_001)
        return float(2 * np.trapezoid(scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2), x))

    low, high = 1.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < 0.95 else (low, middle)
    return low


@pytest.mark.parametrize("freedom", [1, 2, 7, 30, 31, 50, 100])
def test_confidence_is_that_of_student(freedom: int) -> None:
    assert _plotted.student_t(freedom) == pytest.approx(_t_by_quadrature(freedom), abs=2e-4)


def _bars(axes: Any) -> list[Any]:
    """Left, right and lower edge of every box, and its colour."""
    found = []
    for part in axes.collections:
        assert not isinstance(part, PathCollection)
        for path in part.get_paths():
            xs, ys = path.vertices[:, 0], path.vertices[:, 1]
            found.append((xs.min(), xs.max(), ys.min(), ys.max()))
    return found


def test_a_timeline_has_what_dies_do(suspending: fy.Result) -> None:
    axes = fy.plot.timeline(suspending, 500, 3_500)
    assert axes.get_xlabel() == "time (\u00b5s)"
    assert axes.get_ylabel() == "die"
    assert axes.get_xlim() == (500, 3_500)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1", "2", "3"]
    legend = _texts(_figure(axes).legends[0])
    assert legend == ["host read", "host program", "suspend, resume", "suspended"]
    log = pl.DataFrame(suspending.commands).filter(
        (pl.col("start_ns") < 3_500_000) & (pl.col("end_ns") > 500_000)
    )
    # Full boxes of a die cover the time when it is busy, and nothing else does.
    for die in range(4):
        at = np.arange(500.5, 3_500, 1.0)
        rows = log.filter(die=die).select("start_ns", "end_ns").rows()
        busy = np.zeros(len(at), dtype=bool)
        for start, end in rows:
            busy |= (start / 1e3 <= at) & (at <= end / 1e3)
        drawn = np.zeros(len(at), dtype=bool)
        for low, high, below, above in _bars(axes):
            if above - below > 0.5 and round((below + above) / 2) == die:
                drawn |= (low <= at) & (at <= high)
        assert np.array_equal(busy, drawn)


def test_suspended_programs_are_thin_lines(suspending: fy.Result) -> None:
    axes = fy.plot.timeline(suspending, 500, 3_500, dies=[1])
    log = pl.DataFrame(suspending.commands).filter(die=1)
    first = log.filter(op="suspend", purpose="host").sort("start_ns")
    start = int(first.filter(pl.col("start_ns") > 500_000)["start_ns"][0])
    ends = log.filter((pl.col("op") == "resume") & (pl.col("start_ns") > start))["end_ns"]
    end = min(ends.to_list())
    thin = [(low, high) for low, high, below, above in _bars(axes) if above - below < 0.2]
    assert any(
        low == pytest.approx(start / 1e3) and high == pytest.approx(end / 1e3)
        for low, high in thin
    )
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1"]


def test_commands_of_one_operation_are_one_bar(suspending: fy.Result) -> None:
    found = _plotted.spans(suspending.commands, 0, 1e9, None)  # type: ignore[arg-type]
    log = pl.DataFrame(suspending.commands)
    operations = log.select("die", "op", "purpose", "start_ns", "end_ns").unique()
    assert len(found) == operations.height < log.height


def test_late_timelines_have_ticks_in_milliseconds(suspending: fy.Result) -> None:
    axes = fy.plot.timeline(suspending, 100_000, 104_000)
    assert axes.get_xlabel() == "time (ms)"
    _figure(axes).draw_without_rendering()
    assert "102" in [label.get_text() for label in axes.get_xticklabels()]


def test_what_cannot_be_plotted_says_why(runs: dict[str, fy.Result]) -> None:
    result = runs["greedy"]
    with pytest.raises(ValueError, match="greedy: there are no trims"):
        fy.plot.cdf(runs, "trim")
    with pytest.raises(ValueError, match="there are no flushes"):
        fy.plot.parts(result, "flush")
    with pytest.raises(fy.ConfigError, match="did you mean read"):
        fy.plot.cdf(result, "reads")
    with pytest.raises(ValueError, match="series_ms="):
        fy.plot.series(fy.run("toy", "toy-write"))
    with pytest.raises(fy.ConfigError, match="did you mean latency"):
        fy.plot.series(result, ["latencies"])
    with pytest.raises(ValueError, match="commands=True"):
        fy.plot.timeline(result, 0, 100)
    with pytest.raises(ValueError, match="no result"):
        fy.plot.cdf([])
    one = fy.run("toy", fy.requests(at_ns=[0], op="write", offset=0, nbytes=4096), log=True)
    with pytest.raises(ValueError, match="only one of its requests counts; a tail needs two"):
        fy.plot.cdf(one, tail=True)


def test_a_timeline_that_is_empty_says_so(suspending: fy.Result) -> None:
    with pytest.raises(ValueError, match="no die does anything"):
        fy.plot.timeline(suspending, 1e9, 2e9)
    with pytest.raises(ValueError, match="must end after it begins"):
        fy.plot.timeline(suspending, 5, 5)
    with pytest.raises(fy.ConfigError, match="dies: 9999 is not between 0 and 3"):
        fy.plot.timeline(suspending, 500, 3_500, dies=[0, 9999])


def test_one_column_and_one_die_are_no_list(
    runs: dict[str, fy.Result], suspending: fy.Result
) -> None:
    figure = fy.plot.series(runs["fifo"], "energy_pj")
    assert [axes.get_ylabel() for axes in figure.axes] == ["energy (pJ)"]
    axes = fy.plot.timeline(suspending, 500, 3_500, dies=3)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["3"]


def test_requests_of_one_latency_are_a_marker_in_a_tail() -> None:
    same = fy.requests(at_ns=[0, 10**9], op="write", offset=0, nbytes=4096)
    axes = fy.plot.cdf(fy.run("toy", same, log=True), tail=True)
    assert axes.get_lines()[0].get_marker() == "o"


def test_legends_on_given_axes_have_room(
    runs: dict[str, fy.Result], suspending: fy.Result
) -> None:
    """Rows make way for the legend, which is on top of them."""
    draws: list[Callable[[Any], Any]] = [
        lambda axes: fy.plot.parts(runs, ax=axes),
        lambda axes: fy.plot.timeline(suspending, 500, 3_500, range(4), ax=axes),
    ]
    for draw in draws:
        with fy.plot.style():
            figure, axes = pyplot.subplots(figsize=(3.4, 3), layout="constrained")
            draw(axes)
        figure.draw_without_rendering()
        legend: Any = axes.get_legend()
        first = axes.transData.transform((0, -0.38))[1]
        assert legend.get_frame_on() and legend.get_window_extent().y0 >= first


def test_ticks_of_a_narrow_logarithm_are_few_and_plain() -> None:
    same = fy.run("nvme-tlc", fy.workload("random-read", requests=300, depth=1), series_ms=1)
    wide = fy.run("nvme-tlc", fy.workload("random-read", requests=300, depth=8), series_ms=1)
    for result in (same, wide):
        figure = fy.plot.series(result, "latency")
        figure.draw_without_rendering()
        axis = figure.axes[0].yaxis
        low, high = axis.get_view_interval()
        ticks = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
        assert 2 <= len(ticks) <= 7
        assert not any(label.get_text() for label in axis.get_minorticklabels())
        assert all("$" not in label.get_text() for label in axis.get_majorticklabels())


def test_given_axes_are_drawn_on(runs: dict[str, fy.Result], swept: fy.Sweep) -> None:
    _, given = pyplot.subplots(1, 3)
    assert fy.plot.cdf(runs, ax=given[0]) is given[0]
    assert fy.plot.parts(runs, ax=given[1]) is given[1]
    assert fy.plot.sweep(swept, _KEY, "wa", "gc.policy", ax=given[2]) is given[2]
    assert len(pyplot.get_fignums()) == 1


def test_settings_of_matplotlib_stay_and_files_keep_text(
    runs: dict[str, fy.Result], tmp_path: Path
) -> None:
    before = dict(matplotlib.rcParams)
    axes = fy.plot.cdf(runs, "read")
    axes.figure.savefig(tmp_path / "a.pdf")
    axes.figure.savefig(tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before
    assert b"/CIDFontType2" in (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()
    assert "cumulative share of reads</text>" in (tmp_path / "a.svg").read_text("utf-8")
    assert _figure(axes).get_figwidth() == 3.4
    legend: Any = axes.get_legend()
    labels = [axes.xaxis.label, *axes.get_xticklabels(), *legend.get_texts()]
    assert {label.get_fontsize() for label in labels} == {8}


def test_nothing_is_cut_off(runs: dict[str, fy.Result], suspending: fy.Result) -> None:
    many = {f"{name} {n}": run for n in range(4) for name, run in runs.items()}
    made = [
        fy.plot.cdf(many, tail=True),
        fy.plot.parts(many),
        fy.plot.timeline(suspending, 500, 3_500),
        fy.plot.series(runs["fifo"], ["latency", "outstanding_mean", "erases"]).axes[0],
    ]
    for axes in made:
        figure = _figure(axes)
        figure.draw_without_rendering()
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert drawn.x0 >= -0.01 and drawn.x1 <= width + 0.01
        assert drawn.y0 >= -0.01 and drawn.y1 <= height + 0.01


def test_matplotlib_is_imported_by_plots_only() -> None:
    program = "import sys, flashyard as fy; assert 'matplotlib' not in sys.modules; fy.plot"
    subprocess.run([sys.executable, "-c", program], check=True)
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import flashyard as fy\n"
        "try: fy.plot.cdf\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert told.stdout == "plots need matplotlib: pip install flashyard[plot]\n"
    with pytest.raises(AttributeError, match="no attribute 'plots'"):
        fy.plots  # noqa: B018
