"""Sweeps: the same table wherever the runs were done, and nothing lost or done twice."""

import glob
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable

import pytest

import flashyard as fy

np = pytest.importorskip("numpy")
pl = pytest.importorskip("polars")

_WORKLOAD = fy.workload("mixed-70-30", requests=150)
_VARY: dict[str, Any] = {
    "gc.policy": ["greedy", "fifo"],
    "stream.depth": [1, 8],
    "nand.read_us": [40, 80],
}


def _frame(found: fy.Sweep) -> Any:
    return pl.DataFrame(found)


@pytest.fixture(scope="module")
def whole() -> Any:
    return _frame(fy.sweep("embedded-2x2", _WORKLOAD, _VARY, seeds=3))


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_rows_are_runs_with_the_figures_of_runs(whole: Any) -> None:
    assert whole.height == 2 * 2 * 2 * 3
    assert whole["failed"].null_count() == whole.height
    row = whole.row(-1, named=True)
    values = {key: row[key] for key in _VARY}
    assert values == {"gc.policy": "fifo", "stream.depth": 8, "nand.read_us": 80}
    device = fy.device("embedded-2x2", gc__policy="fifo", nand__read_us=80)
    result = fy.run(device, _WORKLOAD.replace(depth=8), seed=row["seed"])
    for name, value in result.figures.items():
        assert row[name] == value, name
    assert list(whole["point"].unique(maintain_order=True)) == list(range(8))
    assert list(whole["seed"])[:4] == [1, 2, 3, 1]


def test_settings_without_effect_are_told() -> None:
    device = fy.device("embedded-2x2", gc__rga__choices=5)
    with pytest.warns(UserWarning, match="gc.rga.choices changes nothing: gc.policy = greedy"):
        fy.run(device, _WORKLOAD)
    with pytest.warns(UserWarning, match="gc.rga.choices changes nothing") as told:
        fy.sweep(device, _WORKLOAD, {"gc.policy": ["greedy", "fifo"]})
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fy.sweep(device, _WORKLOAD, {"gc.policy": ["greedy", "rga"]})


def test_an_executor_gives_the_same_table(whole: Any, pool: Executor) -> None:
    found = fy.sweep("embedded-2x2", _WORKLOAD, _VARY, seeds=3, executor=pool)
    assert _frame(found).equals(whole)


def test_a_store_goes_on_where_it_was_stopped(
    whole: Any, pool: Executor, tmp_path: object
) -> None:
    half = {**_VARY, "stream.depth": [8]}
    fy.sweep("embedded-2x2", _WORKLOAD, half, seeds=3, executor=pool, store=str(tmp_path))
    before = _lines(tmp_path)
    assert len(before) == 12
    told: list[int] = []
    found = fy.sweep(
        "embedded-2x2",
        _WORKLOAD,
        _VARY,
        seeds=3,
        executor=pool,
        store=str(tmp_path),
        progress=lambda share, count, stage: told.append(count),
    )
    assert _frame(found).equals(whole)
    assert told[-1] == 24 and min(told) > 12
    assert len(_lines(tmp_path)) == 24 and before < _lines(tmp_path)


def _lines(store: object) -> set[str]:
    """The runs of all journals of a folder, each as its line."""
    found: list[str] = []
    for path in glob.glob(f"{store}/*.journal"):
        with open(path) as file:
            found += file.read().splitlines()[1:]
    assert len(found) == len(set(found)), "no run was done twice"
    return set(found)


class _Dying(Executor):
    """An executor whose workers are lost before they answer, now and then, as tasks of a cluster
    are: the work is done, and nobody hears of it.
    """

    def __init__(self, lose: Callable[[int], bool]) -> None:
        self.pool = ThreadPoolExecutor(2)
        self.lose = lose
        self.number = 0

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.number += 1
        lost = self.lose(self.number)

        def one() -> Any:
            done = work(*args, **kwargs)
            if lost:
                raise BrokenProcessPool("a worker has gone")
            return done

        return self.pool.submit(one)


def test_the_work_of_lost_workers_is_taken_over(whole: Any, tmp_path: object) -> None:
    executor = _Dying(lambda number: number % 2 == 1)
    found = fy.sweep(
        "embedded-2x2", _WORKLOAD, _VARY, seeds=3, executor=executor, store=str(tmp_path)
    )
    assert executor.number > 2 and _frame(found).equals(whole)
    assert len(_lines(tmp_path)) == 24


def test_workers_that_are_always_lost_are_an_error() -> None:
    with pytest.raises(BrokenProcessPool):
        fy.sweep("embedded-2x2", _WORKLOAD, _VARY, executor=_Dying(lambda number: True))


class _Elsewhere(Executor):
    """An executor whose workers do other runs, as those with another build of the package do."""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        spec, *rest = args
        future: Future[Any] = Future()
        future.set_result(work(spec._replace(seeds=[77]), *rest, **kwargs))
        return future


def test_workers_with_another_build_are_an_error() -> None:
    with pytest.raises(fy.SimError, match="another build"):
        fy.sweep("embedded-2x2", _WORKLOAD, _VARY, executor=_Elsewhere())


def test_points_may_be_a_list_and_name_devices() -> None:
    points = [{"device": "toy", "workload": "toy-write"}, {"device": "embedded-2x2"}]
    found = fy.sweep("drs", _WORKLOAD, points)
    assert found["device"] == ["toy", "embedded-2x2"]
    assert found["workload"] == ["toy-write", "mixed-70-30"]
    assert found.keys == []


def test_own_requests_and_policies_are_swept(pool: Executor) -> None:
    requests = fy.requests(at_ns=[0, 10_000], op="read", offset=[0, 4096], nbytes=4096)
    found = fy.sweep("embedded-2x2", requests, {"read_us": [40, 80]}, executor=pool)
    assert found["read.count"] == [2.0, 2.0] and found["seed"] == [None, None]
    means = found["read.mean_us"]
    # The map page is read first, and then the data.
    assert means[1] == pytest.approx(means[0] + 2 * 40)


def test_a_point_that_cannot_be_says_why() -> None:
    found = fy.sweep("embedded-2x2", _WORKLOAD, {"geometry.page_bytes": [4096, 5000]})
    assert found["failed"][0] is None and "page_bytes" in found["failed"][1]
    assert found["read.count"][1] is None


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ({"gc.polcy": ["greedy"]}, "did you mean gc.policy"),
        ({"gc.policy": ["greedyy"]}, "did you mean greedy"),
        ({"depth": [1]}, "queue.depth or stream.depth"),
        ({"gc.policy": []}, "gc.policy: there is no such value"),
        ({"gc.policy": {"greedy": 1}}, "gc.policy: a list is needed"),
        ({"gc.policy": ["greedy", None]}, "gc.policy: a key is set to a number"),
        ({"device": [fy.device("toy")]}, "device: points have names"),
        ({"seed": [1]}, "use seeds="),
        ([{"seed": 1}], "use seeds="),
        ("gc.policy", "vary: a point is a dict"),
    ],
)
def test_wrong_axes_are_refused(vary: Any, says: str) -> None:
    with pytest.raises(fy.ConfigError) as caught:
        fy.sweep("embedded-2x2", _WORKLOAD, vary)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("vary", "values"),
    [
        ({"gc.policy": "fifo"}, ["fifo"]),
        ({"nand.read_us": "35"}, [35]),
        ({"nand.read_us": 35}, [35]),
        ({"nand.read_us": np.arange(30, 30.35, 0.1)}, [30, 30.1, 30.2, 30.3]),
        ({"nand.read_us": (us for us in (30, 40))}, [30, 40]),
        (({"gc.policy": policy} for policy in ("greedy", "fifo")), ["greedy", "fifo"]),
    ],
)
def test_one_value_is_an_axis_and_iterables_are_taken(vary: Any, values: list[Any]) -> None:
    found = fy.sweep("embedded-2x2", _WORKLOAD.replace(requests=10), vary)
    assert found[found.keys[0]] == values


@pytest.mark.parametrize(
    ("seeds", "wanted"), [(np.int64(2), [1, 2]), (np.array([4, 7]), [4, 7]), ((5,), [5])]
)
def test_seeds_are_a_number_or_a_list(seeds: Any, wanted: list[int]) -> None:
    workload = _WORKLOAD.replace(requests=10)
    assert fy.sweep("embedded-2x2", workload, {}, seeds=seeds)["seed"] == wanted


@pytest.mark.parametrize("seeds", ["12", [1.7], 1.7, [2**63], [-1], 0, ["1"]])
def test_seeds_that_are_none_are_refused(seeds: Any) -> None:
    with pytest.raises(fy.ConfigError, match="seeds: "):
        fy.sweep("embedded-2x2", _WORKLOAD, {}, seeds=seeds)


def test_a_point_that_names_what_it_starts_from_has_its_settings() -> None:
    device = fy.device("small-full", gc__policy="fifo")
    workload = fy.workload("random-write", requests=200)
    own = fy.run(device, workload)
    vary = {"device": ["small-full", "embedded-2x2"]}
    found = fy.sweep(device, workload, vary)
    assert found["wa"][0] == own["wa"]
    assert found["wa"][1] == fy.run("embedded-2x2", workload)["wa"]
    points = [{"workload": "random-write"}, {"workload": "toy-write"}]
    assert fy.sweep("toy", workload, points)["write.count"] == [200, 400]


def test_ctrl_c_ends_a_sweep_and_keeps_what_is_done(tmp_path: object) -> None:
    workload = fy.workload("random-read", requests=300)
    vary = {"nand.read_us": range(1, 2_001)}

    def progress(share: object, count: int, stage: str) -> None:
        if count >= 20:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fy.sweep("embedded-2x2", workload, vary, store=str(tmp_path), progress=progress)
    kept = len(_lines(tmp_path))
    assert 20 <= kept < 2_000
    assert threading.active_count() < 10


def test_the_command_takes_the_store_over(tmp_path: object) -> None:
    """The journals of a sweep in Python are those of `flashyard sweep --journal`."""
    store, out = f"{tmp_path}/runs", f"{tmp_path}/out.parquet"
    fy.sweep("embedded-2x2", _WORKLOAD, {"gc.policy": ["greedy", "fifo"]}, store=store)
    before = _lines(store)
    file = f"{tmp_path}/s.toml"
    with open(file, "w") as to:
        to.write(
            'device = "embedded-2x2"\nworkload = "mixed-70-30"\n'
            'set = ["pattern.requests=150"]\nvary = ["gc.policy=greedy,fifo"]\n'
        )
    status = os.system(
        f"{sys.executable} -m flashyard sweep {file} --journal {store} --out {out}"
    )
    assert status == 0 and os.path.exists(out)
    assert _lines(store) == before


def test_the_script_for_slurm_starts_python(tmp_path: object) -> None:
    """Printed from Python, the script runs the command of the package, not the interpreter."""
    file = f"{tmp_path}/s.toml"
    with open(file, "w") as to:
        to.write('device = "toy"\nset = ["pattern.requests=20"]\nvary = ["gc.policy=greedy,fifo"]\n')
    start = f"{sys.executable} -m flashyard sweep"
    script = subprocess.run(
        [*start.split(), file, "--journal", f"{tmp_path}/runs", "--slurm=1"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    runs = [line for line in script.splitlines() if line.startswith("exec ")]
    assert len(runs) == 2 and all(line.startswith(f"exec {start} {file}") for line in runs)
    # A task of the array, as the script has it.
    task = runs[0].removeprefix("exec ")
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "1"}
    subprocess.run(task, shell=True, check=True, env=environment)
    assert _lines(f"{tmp_path}/runs")
