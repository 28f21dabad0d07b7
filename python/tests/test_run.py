"""Runs: the same figures as the command, tables, signals, threads, pickles."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import flashyard as fy

#: The preset that the usual workloads do not fit.
_WORKLOADS = {"toy": "toy-write"}


def _short(device: str) -> fy.Workload:
    workload = fy.workload(_WORKLOADS.get(device, "mixed-70-30"))
    return workload.replace(requests=100) if device not in _WORKLOADS else workload


@pytest.mark.parametrize("name", list(fy.devices()))
def test_a_run_is_that_of_the_command_byte_for_byte(name: str) -> None:
    result = fy.run(name, _short(name), seed=None)
    command = result.report["provenance"]["command"]
    assert command[:3] == ["run", name, result.workload.name]  # type: ignore[union-attr]
    told = subprocess.run(
        [sys.executable, "-m", "flashyard", *command], capture_output=True, check=True
    )
    assert told.stdout.decode() == result.json


def test_cuts_are_a_table_and_those_of_the_command() -> None:
    workload = fy.workload("random-write", requests=500)
    result = fy.run("nvme-tlc", workload, cuts=40)
    assert result.cuts is not None
    lost = [int(units) for units in result.cuts["lost_units"]]
    assert len(lost) == 40 and max(lost) == result.report["power_cuts"]["lost_units"]["most"]
    command = result.report["provenance"]["command"]
    assert "--cuts=40" in command
    told = subprocess.run(
        [sys.executable, "-m", "flashyard", *command], capture_output=True, check=True
    )
    assert told.stdout.decode() == result.json
    assert fy.run("nvme-tlc", workload).cuts is None


def test_settings_and_seeds_are_part_of_the_command() -> None:
    device = fy.device("nvme-tlc", capacity="64GB", gc__policy="fifo")
    result = fy.run(device, fy.workload("random-write", requests=300, depth=4), seed=9)
    command = result.report["provenance"]["command"]
    told = subprocess.run(
        [sys.executable, "-m", "flashyard", *command], capture_output=True, check=True
    )
    assert told.stdout.decode() == result.json
    assert result.report["provenance"]["seed"] == result.seed == 9


def test_the_command_of_the_package_has_the_statuses_of_the_command() -> None:
    def status(*arguments: str) -> int:
        told = subprocess.run([sys.executable, "-m", "flashyard", *arguments], capture_output=True)
        return told.returncode

    assert status("--version") == 0
    assert status("run", "nope") == 2
    assert status("nope") == 2


def test_figures_are_those_of_the_report() -> None:
    result = fy.run("nvme-tlc", fy.workload("mixed-70-30", requests=2_000))
    for op in ("read", "write"):
        latency = result.report["latency_ns"][op]
        shown = getattr(result, op)
        assert shown.count == latency["count"]
        assert shown.p99_us == latency["p99"] / 1e3
        assert shown.mean_us == pytest.approx(latency["mean"] / 1e3, rel=1e-12)
        assert result[f"{op}.p99_us"] == shown.p99_us
    assert result.trim.mean_us is None
    assert set(dir(result.read)) >= {"p50_us", "p9999_us"}
    with pytest.raises(KeyError, match=r"read\.p99_us"):
        result["read.p99"]
    with pytest.raises(AttributeError, match="p99_us"):
        _ = result.read.p99


def test_a_request_log_has_every_request_and_explains_its_latency() -> None:
    result = fy.run(
        "nvme-tlc", fy.workload("mixed-70-30", requests=70_000), log=True, commands=True
    )
    log = result.requests
    assert log is not None and len(log) == 70_000
    assert sorted(log["order"]) == list(range(70_000))
    latency = log["latency_ns"]
    parts = [name for name in log.column_names if name.startswith("part_")]
    sums = [sum(row) for row in zip(*(log[name] for name in parts))]
    assert sums == latency
    reads = [ns for ns, op in zip(latency, log["op"]) if op == "read"]
    assert max(reads) / 1e3 == result.read.max_us
    assert sum(reads) / len(reads) / 1e3 == pytest.approx(result.read.mean_us, rel=1e-9)
    assert log.units["latency_ns"] == "ns" and "arrival" in log.descriptions["latency_ns"]
    assert result.commands is not None and set(result.commands["op"]) >= {"read"}
    assert fy.run("nvme-tlc", _short("nvme-tlc")).requests is None


def test_a_series_adds_up_to_the_report() -> None:
    result = fy.run("nvme-tlc", fy.workload("mixed-70-30", requests=5_000), series_ms=1)
    series = result.series
    assert series is not None
    assert sum(series["reads"]) == result.read.count
    assert series["start_ns"] == [1_000_000 * number for number in range(len(series))]


def test_two_runs_are_equal_and_so_are_their_pickles() -> None:
    workload = fy.workload("mixed-70-30", requests=1_000)
    first, second = (fy.run("nvme-tlc", workload, log=True) for _ in range(2))
    assert first.json == second.json
    again = pickle.loads(pickle.dumps(first))
    assert (again.json, again.figures, again.device) == (first.json, first.figures, first.device)
    for column in first.requests.column_names:  # type: ignore[union-attr]
        assert again.requests[column] == first.requests[column]  # type: ignore[index]


def test_a_row_is_found_by_its_number() -> None:
    log = fy.run("nvme-tlc", _short("nvme-tlc"), log=True).requests
    assert log is not None
    assert log.row(-1) == log.row(99)
    assert log.row(0) == {name: log[name][0] for name in log.column_names}
    with pytest.raises(IndexError):
        log.row(100)
    with pytest.raises(KeyError):
        log["nope"]


@pytest.mark.parametrize("what", ["run", "building"])
def test_ctrl_c_ends_a_run_and_the_building_of_a_state(what: str) -> None:
    if what == "run":
        device = fy.device("nvme-tlc", capacity="64GB")
        workload = fy.workload("random-read", requests=200_000_000)
    else:
        device = fy.device("nvme-tlc", capacity="2TB", state__initial="steady")
        workload = fy.workload("random-read", requests=1)
    told = []
    sent: list[float] = []

    def progress(share: object, count: int, stage: str) -> None:
        told.append(stage)
        if not sent and (what == "run" or stage):
            sent.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fy.run(device, workload, progress=progress, memory_mib=16_384)
    # The promise is half a second; a machine that does other things gets ten times that.
    assert time.monotonic() - sent[0] < 5
    assert (what == "building") == (told[0] != "")


def test_an_exception_of_progress_ends_the_run() -> None:
    def progress(share: object, count: int, stage: str) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        fy.run("nvme-tlc", fy.workload("random-read", requests=10_000_000), progress=progress)


def test_progress_goes_from_nothing_to_all() -> None:
    shares = []
    workload = fy.workload("random-read", requests=300_000)
    fy.run("nvme-tlc", workload, progress=lambda share, count, stage: shares.append((share, count)))
    known = [share for share, _ in shares if share is not None]
    assert known == sorted(known) and known[-1] > 0.98
    assert shares[-1][1] > 290_000


def test_threads_run_side_by_side() -> None:
    """A thread runs while another one is in the middle of a run: the lock is free."""
    inside = threading.Event()
    seen = []
    workload = fy.workload("random-read", requests=400_000)

    def progress(share: object, count: int, stage: str) -> None:
        inside.set()

    def first() -> None:
        seen.append(fy.run("nvme-tlc", workload, progress=progress).json)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(60)
    between = fy.run("nvme-tlc", workload.replace(requests=10)).json
    thread.join()
    assert seen == [fy.run("nvme-tlc", workload).json] != [between]


def test_a_request_beyond_the_device_is_an_exception() -> None:
    requests = fy.requests(at_ns=[0], op="read", offset=2**50, nbytes=4096)
    with pytest.raises(fy.ConfigError, match="fold"):
        fy.run("embedded-2x2", requests)


def test_compare_names_what_differs() -> None:
    workload = fy.workload("random-read", requests=500)
    results = [fy.run(fy.device("nvme-tlc", nand__read_us=us), workload) for us in (40, 80)]
    both = fy.compare(results)
    assert list(both) == ["nand.read_us=40", "nand.read_us=80"]
    assert both["read.p50_us"]["nand.read_us=80"] == results[1].read.p50_us
    assert "read.p99_us" in repr(both) and "<td>" in both._repr_html_()
    named = fy.compare({"a": results[0], "b": results[1]})
    assert named.figures["iops"] == [results[0]["iops"], results[1]["iops"]]


def test_compare_takes_what_stands_for_results() -> None:
    workload = fy.workload("random-read", requests=50)
    first, second = (fy.run("embedded-2x2", workload.replace(depth=depth)) for depth in (1, 2))
    names = ["stream.depth=1", "stream.depth=2"]
    both = fy.compare(result for result in (first, second))
    assert list(both) == names == list(fy.compare(both))
    assert list(fy.compare(first)) == ["random-read"]
    wrong: list[Any] = [3, "ab", [first, "ab"], {"a": 3}]
    for results in wrong:
        with pytest.raises(fy.ConfigError, match="results: "):
            fy.compare(results)


def test_results_are_named_by_what_tells_them_apart() -> None:
    workload = fy.workload("random-read", requests=50)

    def names(*devices: fy.Device) -> list[str]:
        return list(fy.compare([fy.run(device, workload) for device in devices]))

    nvme, sata = fy.device("nvme-tlc"), fy.device("sata-mlc")
    assert names(nvme, sata) == ["nvme-tlc", "sata-mlc"]
    fifo = nvme.replace(gc__policy="fifo")
    assert names(nvme, sata, fifo) == [
        "nvme-tlc gc.policy=greedy",
        "sata-mlc",
        "nvme-tlc gc.policy=fifo",
    ]
    assert names(nvme, nvme.replace(metrics__bin_ms=1)) == ["1: random-read", "2: random-read"]
    small = nvme.replace(capacity="64GB")
    assert names(small, nvme) == ["capacity=64.4831GB", "capacity=1000.22GB"]
    seeds = fy.compare([fy.run("nvme-tlc", workload, seed=seed) for seed in (1, 2)])
    assert list(seeds) == ["seed=1", "seed=2"]


@pytest.mark.parametrize(
    ("above", "says"),
    [("P99", "p99 of"), ("p9999", "p99.99 of"), (99.9, "p99.9 of"), ("p0.01", "p0.01 of")],
)
def test_percentiles_are_in_hundredths(above: Any, says: str) -> None:
    found = fy.why("embedded-2x2", fy.workload("random-read", requests=200), above=above)
    assert found.findings[0].startswith(says)


@pytest.mark.parametrize("above", [99.999, "p99999", 0.001, "mean", "p100", 0])
def test_percentiles_that_are_none_are_refused(above: Any) -> None:
    with pytest.raises(fy.ConfigError, match="above: .* in steps of 0.01"):
        fy.why("embedded-2x2", "random-read", above=above)


def test_messages_have_words_of_python() -> None:
    workload = fy.workload("random-write", requests=200)
    result = fy.run("nvme-tlc", workload)
    assert "(state.initial=steady makes one)" in result.warnings[0]
    with pytest.raises(fy.ConfigError, match=r"^request=1000000: "):
        fy.why(result, request=1_000_000)
    with pytest.raises(fy.ConfigError, match=r"^by_stream: "):
        fy.why(result, by_stream=True)


def test_why_explains_all_of_the_latency() -> None:
    workload = fy.workload("mixed-70-30", requests=5_000, depth=64)
    result = fy.run(fy.device("nvme-tlc", capacity="64GB"), workload)
    found = fy.why(result, above="p99")
    assert len(found.findings) == 1 and found.findings[0].startswith("p99 of requests is")
    command = result.report["provenance"]["command"][1:-1]
    told = subprocess.run(
        [sys.executable, "-m", "flashyard", "why", *command, "--above=p99", "--json"],
        capture_output=True,
        check=True,
    )
    assert json.loads(told.stdout) == found.data
    with pytest.raises(fy.ConfigError):
        fy.why(result, above="p100")


def test_a_process_pool_runs_devices(tmp_path: object) -> None:
    script = f"{tmp_path}/pool.py"
    with open(script, "w") as file:
        file.write(
            "import multiprocessing as m\n"
            "from concurrent.futures import ProcessPoolExecutor\n"
            "import flashyard as fy\n"
            "if __name__ == '__main__':\n"
            "    w = fy.workload('random-read', requests=200)\n"
            "    ds = [fy.device('nvme-tlc', nand__read_us=us) for us in (40, 80)]\n"
            "    with ProcessPoolExecutor(2, m.get_context('spawn')) as pool:\n"
            "        found = list(pool.map(fy.run, ds, [w, w]))\n"
            "    assert [f.json for f in found] == [fy.run(d, w).json for d in ds]\n"
        )
    subprocess.run([sys.executable, script], check=True, env=dict(os.environ))
