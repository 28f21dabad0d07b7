"""Sweeps: the same work with other settings, on one machine or many."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional, Union

from . import _core
from ._device import Device
from ._keys import (
    MOST_MIB,
    MOST_OF_SWEEP,
    listed,
    merged,
    one_name,
    text_of,
    unknown,
    whole,
    whole_or_none,
)
from ._run import DeviceLike, Progress, WorkloadLike, _as_device, _as_workload, _progress
from ._workload import Workload
from .errors import ConfigError, SimError, in_python

#: What points set: an axis for each key, whose combinations are the points, or a list of points.
Vary = Union[Mapping[str, Any], Iterable[Mapping[str, Any]]]

_Point = dict[str, str]

#: What an axis may set beside keys.
_NAMES = ("device", "workload")

#: Seconds that a batch on an executor is to take.
_BATCH_SECONDS = 2.0

#: How often a batch whose worker was lost is tried.
_TRIES = 4

#: What the name of a journal ends in.
_END = ".journal"


class _Spec(NamedTuple):
    """A sweep but for its points: what workers need."""

    device: Device
    workload: Workload
    seeds: list[int]
    check: bool
    memory_mib: Optional[int]

    def of(self, points: Sequence[_Point]) -> _core.Sweep:
        """The sweep of these points, as the text of a sweep file."""
        lines = [f"seeds = {json.dumps(self.seeds)}"]
        pairs: dict[tuple[str, str], None] = {}
        for point in points or [{}]:
            device = point.get("device", self.device.name)
            workload = point.get("workload", self.workload.name)
            pairs[device, workload] = None
            # Settings of the device or the workload are not for another one that a point names.
            keys = list(self.device._settings) if device == self.device.name else []
            keys += self.workload._settings if workload == self.workload.name else []
            keys += [f"{key}={value}" for key, value in point.items() if key not in _NAMES]
            lines.append("[[point]]")
            lines += [f"device = {json.dumps(device)}", f"workload = {json.dumps(workload)}"]
            lines.append(f"set = {json.dumps(list(merged((), keys)))}")
        return _core.Sweep(
            self.device.name,
            self.device._text,
            self.workload.name,
            self.workload._text,
            self.workload._requests,
            self.device._parts(),
            list(pairs),
            "\n".join(lines) + "\n",
            self.check,
            _core.__file__,
            self.memory_mib,
        )


class Sweep:
    """What a sweep found: an Arrow table with a row a run, and one for a point whose device or
    workload cannot be.

    pandas, Polars and DuckDB take it as it is: ``polars.DataFrame(t)``. Its columns are ``point``,
    ``device``, ``workload``, ``seed``, each key that the sweep varies by its full name, every
    figure (docs/SWEEPS.md), ``warnings`` and ``failed``.
    """

    def __init__(self, runs: _core.Table, keys: Sequence[str]) -> None:
        #: The table.
        self.runs: _core.Table = runs
        #: The keys that the sweep varies.
        self.keys: list[str] = list(keys)

    def __getitem__(self, column: str) -> list[Any]:
        return self.runs[column]

    def __len__(self) -> int:
        return len(self.runs)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> Any:
        return self.runs.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        failed = sum(why is not None for why in self.runs["failed"])
        some = f", {failed} failed" if failed else ""
        return f"<Sweep over {', '.join(self.keys) or 'nothing'}: {len(self)} runs{some}>"


def _full_name(device: Device, workload: Workload, name: str) -> str:
    name = name.replace("__", ".")
    if name in (*_NAMES, "capacity", "ftl") or "." in name:
        return name
    found = device._full_names(name) + workload._full_names(name)
    return one_name(name, found, "device or workload", [*device, *workload.keys()])


def _text(name: str, value: Any) -> str:
    """A value of a point."""
    if name in _NAMES and isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (Device, Workload)):
        raise ConfigError(f"{name}: points have names of devices and workloads, not {value!r}")
    try:
        return text_of(value)
    except TypeError as error:
        raise ConfigError(f"{name}: {error}") from None


def _full_names(device: Device, workload: Workload, names: Iterable[str]) -> dict[str, str]:
    """The names of keys in full, by those that were given."""
    found = {}
    for name in names:
        if name == "seed":
            raise unknown("key to vary; use seeds=", "seed", ())
        found[name] = _full_name(device, workload, name)
    return found


def _points(device: Device, workload: Workload, vary: Vary) -> list[_Point]:
    if not isinstance(vary, Mapping):
        points = listed("vary", vary)
        if not points:
            raise ConfigError("vary: there is no point")
        for point in points:
            if not isinstance(point, Mapping):
                raise ConfigError(f"vary: a point is a dict of keys with values, not {point!r}")
        names = _full_names(device, workload, dict.fromkeys(itertools.chain(*points)))
        return [{names[key]: _text(key, value) for key, value in point.items()} for point in points]
    axes = {}
    for given, name in _full_names(device, workload, vary).items():
        values = [vary[given]] if isinstance(vary[given], os.PathLike) else vary[given]
        axes[name] = [_text(name, value) for value in listed(name, values)]
        if not axes[name]:
            raise unknown("value of this axis", name, ())
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def _seeds(seeds: Union[int, Iterable[int]]) -> list[int]:
    """The seeds that were given, or as many from 1 on."""
    if isinstance(seeds, str):
        raise ConfigError(f"seeds: a number or a list of numbers is needed, not {seeds!r}")
    if not isinstance(seeds, Iterable) or getattr(seeds, "ndim", None) == 0:
        return list(range(1, 1 + whole("seeds", seeds, 1, 10**9)))
    return [whole("seeds", seed, 0, MOST_OF_SWEEP) for seed in listed("seeds", seeds)]


def sweep(
    device: DeviceLike,
    workload: WorkloadLike,
    vary: Vary,
    *,
    seeds: Union[int, Iterable[int]] = 1,
    executor: Optional[Executor] = None,
    store: Union[None, str, os.PathLike[str]] = None,
    check: bool = False,
    memory_mib: Optional[int] = None,
    progress: Union[None, bool, Progress] = None,
) -> Sweep:
    """Runs a workload on every combination of settings.

    Parameters
    ----------
    device, workload
        What all points start from.
    vary
        Values for each key, or one value, whose combinations are the points: ``{"gc.policy":
        ["greedy", "fifo"], "stream.depth": [1, 32]}``; or a list of points, ``[{"gc.policy":
        "greedy"}, ...]``. The keys are those of devices and workloads, and ``device``,
        ``workload`` (names), ``capacity`` and ``ftl``. A point that names the device or the
        workload that all start from has its settings; another one comes as it is.
    seeds
        How many seeds, from 1 on, or which.
    executor
        Where the runs go: any ``concurrent.futures.Executor``, such as that of Dask
        (``Client(...).get_executor()``). They go in batches of about two seconds. Without one they
        go side by side in threads of this process, without the lock of the interpreter.
    store
        A folder that keeps finished runs; workers on other machines must see it, too. The same
        call goes on where it was stopped, and an edited one runs what is new. Without it, runs are
        kept until the call returns. A device with a policy in Python takes none, since nobody
        knows whether its code is still the same.
    check
        Whether every rule is checked during the runs.
    memory_mib
        Memory that a device may take, in MiB, in place of what is free.
    progress
        ``True`` for a bar of tqdm where it is installed, or what is called with the share of runs
        that is over, their number, and "".

    Warns
    -----
    UserWarning
        Where a setting changes nothing in any point, since another key does not use it.

    Returns
    -------
    Sweep
        The same table, byte for byte, wherever the runs were done.

    Raises
    ------
    ConfigError
        Where a setting cannot be. A device that cannot be made of the settings of one point, or
        a run that fails, is a row with a reason in ``failed``.
    """
    on, what = _as_device(device), _as_workload(workload)
    points = _points(on, what, vary)
    keys = [name for name in dict.fromkeys(itertools.chain(*points)) if name not in _NAMES]
    if store is not None and on._parts() is not None:
        raise ConfigError(
            f"store: {on.name} has a policy in Python, whose code may be another one when the "
            "store is used again; leave store out"
        )
    memory = whole_or_none("memory_mib", memory_mib, 0, MOST_MIB)
    spec = _Spec(on, what, _seeds(seeds), check, memory)
    whole = spec.of(points)
    for unused in whole.unused():
        warnings.warn(in_python(unused), stacklevel=2)
    with _folder(store) as folder, _progress(progress, "sweep") as told:
        if executor is not None:
            shared = folder if store is not None else None
            _distribute(spec, points, whole, executor, folder, shared, told)
            told = None
        return Sweep(whole.table(folder, "sweep", keys, told), keys)


@contextmanager
def _folder(store: Union[None, str, os.PathLike[str]]) -> Iterator[str]:
    if store is None:
        with tempfile.TemporaryDirectory(prefix="flashyard-") as folder:
            yield folder
    else:
        os.makedirs(store, exist_ok=True)
        yield os.fspath(store)


class _Done(NamedTuple):
    """What a worker returns of a batch."""

    #: The name of its journal.
    name: str
    #: How long it took.
    seconds: float
    #: The journal itself where there is no folder that all see.
    journal: Optional[bytes]


def _batch(spec: _Spec, points: list[_Point], name: str, store: Optional[str]) -> _Done:
    """Runs some points on a worker."""
    start = time.monotonic()
    if store is not None and os.path.exists(os.path.join(store, name + _END)):
        # Done before, by a worker that was lost since.
        return _Done(name, 0.0, None)
    with tempfile.TemporaryDirectory(prefix="flashyard-") as folder:
        spec.of(points).run(folder, name, None, None)
        path = os.path.join(folder, name + _END)
        if store is None:
            with open(path, "rb") as file:
                return _Done(name, time.monotonic() - start, file.read())
        # Whole or not at all, whoever else writes it.
        there = os.path.join(store, f"{name}.{os.getpid()}.part")
        shutil.copyfile(path, there)
        os.replace(there, os.path.join(store, name + _END))
    return _Done(name, time.monotonic() - start, None)


class _Work(NamedTuple):
    points: list[_Point]
    runs: list[str]
    tries: int


def _distribute(
    spec: _Spec,
    points: list[_Point],
    whole: _core.Sweep,
    executor: Executor,
    folder: str,
    shared: Optional[str],
    told: Optional[Progress],
) -> None:
    """Runs what the folder lacks on an executor."""
    names = whole.names()
    have = set(_core.finished(folder))
    total = sum(map(len, names))
    missing = [
        (point, runs) for point, runs in zip(points, names) if any(run not in have for run in runs)
    ]
    wanted = {run for _, runs in missing for run in runs}
    over = total - sum(len(runs) for _, runs in missing)
    waiting: dict[Future[_Done], _Work] = {}

    def submit(work: _Work) -> None:
        name = f"{work.runs[0][:32]}-{len(work.runs)}"
        waiting[executor.submit(_batch, spec, work.points, name, shared)] = work

    def submit_all(size: int) -> None:
        for start in range(0, len(missing), size):
            some = missing[start : start + size]
            submit(_Work([p for p, _ in some], [run for _, runs in some for run in runs], 1))
        missing.clear()

    try:
        if missing:
            # The first point says how long points take.
            point, runs = missing.pop(0)
            submit(_Work([point], runs, 1))
        while waiting:
            ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ended:
                work = waiting.pop(future)
                try:
                    done = future.result()
                except Exception as error:
                    if not _is_lost(error) or work.tries >= _TRIES:
                        raise
                    submit(work._replace(tries=work.tries + 1))
                    continue
                if done.journal is not None:
                    path = os.path.join(folder, done.name)
                    with open(path + ".part", "wb") as file:
                        file.write(done.journal)
                    os.replace(path + ".part", path + _END)
                over += len(work.runs)
                if told is not None:
                    told(over / total, over, "")
                if missing:
                    size = int(_BATCH_SECONDS / max(done.seconds, 1e-3))
                    submit_all(max(1, min(size, 1_000)))
    finally:
        for future in waiting:
            future.cancel()
    if wanted and wanted.isdisjoint(_core.finished(folder)):
        raise SimError(
            "no run came back under its name: the workers run another build of flashyard, or have "
            "no memory for the device; install the same wheel everywhere"
        )


def _is_lost(error: Exception) -> bool:
    """Whether the worker was lost, and not the run."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
