"""What the package costs: prints ratios and rates, each of one run on this machine.

    python python/benchmarks/speed.py
"""

import threading
import time
from array import array
from collections.abc import Callable
from typing import Optional

import flashyard as fy

_COUNT = 1_000_000


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _threads() -> None:
    device = fy.device("nvme-tlc", capacity="64GB")
    workload = fy.workload("random-read", requests=_COUNT)

    def both() -> None:
        threads = [threading.Thread(target=fy.run, args=(device, workload)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    fy.run(device, workload.replace(requests=1_000))
    one = _seconds(lambda: fy.run(device, workload))
    two = _seconds(both)
    print(f"one run {one:.2f} s, two in threads {two:.2f} s: x{two / one:.2f}")


def _table() -> None:
    try:
        import polars
    except ImportError:
        print("polars is not installed: no time of a frame")
        return
    device = fy.device("nvme-tlc", capacity="64GB")
    workload = fy.workload("random-read", requests=_COUNT)
    plain = _seconds(lambda: fy.run(device, workload))
    start = time.perf_counter()
    log = fy.run(device, workload, log=True).requests
    logged = time.perf_counter() - start
    frame = _seconds(lambda: polars.DataFrame(log))
    print(f"a log of {_COUNT:,} rows: the run takes x{logged / plain:.2f}, ", end="")
    print(f"its frame of Polars {1e3 * frame:.1f} ms")


def _session() -> None:
    # Loads that the devices keep up with, and one that nvme-tlc does not: its queue grows.
    loads = (("nvme-tlc", 4_000), ("nvme-tlc", 1_500), ("embedded-2x2", 200_000))
    for name, gap in loads:
        session = fy.Session(name)
        count = _COUNT // 2
        units = session.capacity // 4096
        offsets = array("Q", (4096 * (number * 7_919 % units) for number in range(count)))
        times = array("Q", (gap * number for number in range(count)))

        def columns(session: fy.Session = session) -> None:
            session.submit_all(at_ns=times, op="read", offset=offsets, nbytes=4096)
            session.advance_table()

        batch = _seconds(columns)
        other = fy.Session(name)

        def one_by_one(session: fy.Session = other) -> None:
            for at_ns, offset in zip(times, offsets):
                session.submit(at_ns, "read", offset, 4096)
                session.advance(at_ns)
            session.advance()

        single = _seconds(one_by_one)
        print(f"session on {name}, a read each {gap:,} ns: {count / batch:,.0f} requests/s ", end="")
        print(f"as columns, {count / single:,.0f} one by one")


class _Greedy(fy.VictimRule):
    def victim(self, blocks: list[fy.FullBlock], block_units: int) -> Optional[int]:
        return blocks[0].block if blocks else None


class _Fifo(fy.CommandPolicy):
    def place(self, command: fy.Command, now_ns: int) -> tuple[int, int]:
        return 0, 0


class _InOrder(fy.HostPolicy):
    def pick(self, waiting: list[fy.Waiting], now_ns: int) -> Optional[int]:
        return 0 if waiting else None


def _policies() -> None:
    workload = fy.workload("random-write", requests=50_000)
    pairs = [
        ("victim rule", "small-full", {"gc__policy": "greedy"}, {"victim_rule": _Greedy()}),
        ("command policy", "drs", {"policy__command": "fifo"}, {"command_policy": _Fifo()}),
        ("host policy", "ros", {"host__policy": "fifo"}, {"host_policy": _InOrder()}),
    ]
    for what, name, rust, python in pairs:
        plain, mine = fy.device(name, **rust), fy.device(name, **python)  # type: ignore[arg-type]
        one = _seconds(lambda device=plain: fy.run(device, workload))  # type: ignore[misc]
        other = _seconds(lambda device=mine: fy.run(device, workload))  # type: ignore[misc]
        print(f"{what} in Python on {name}: x{other / one:.1f} of the run with it in Rust")


if __name__ == "__main__":
    _threads()
    _table()
    _session()
    _policies()
