"""Sweeps on Dask: a worker is killed in the middle, and the table is that of one machine."""

import os
import random
import signal
import threading
import time
from typing import Any

import pytest

import flashyard as fy

pl = pytest.importorskip("polars")
distributed = pytest.importorskip("distributed")

_POINTS = 1_000


def test_a_killed_worker_costs_no_row_and_doubles_none(tmp_path: Any) -> None:
    workload = fy.workload("random-read", requests=60)
    vary = {"nand.read_us": range(1, _POINTS + 1)}
    whole = pl.DataFrame(fy.sweep("embedded-2x2", workload, vary))
    assert whole.height == _POINTS
    draw = random.Random(os.environ.get("SEED", "1"))
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None
    )
    with cluster, distributed.Client(cluster) as client:
        # The first import takes longer than the work.
        client.run(lambda: __import__("flashyard").__version__)
        pids = list(client.run(os.getpid).values())
        store = str(tmp_path / "runs")

        def kill() -> None:
            while not os.path.isdir(store) or not os.listdir(store):
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 2))
            os.kill(draw.choice(pids), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        executor = client.get_executor(pure=False)
        found = pl.DataFrame(
            fy.sweep("embedded-2x2", workload, vary, executor=executor, store=store)
        )
        killer.join()
    assert found.equals(whole)
    runs = []
    for name in os.listdir(store):
        with open(os.path.join(store, name)) as file:
            runs += file.read().splitlines()[1:]
    assert len(runs) == len(set(runs)) == _POINTS
