"""Policies in Python: those of the registry, written again, give the same figures."""

import pickle
from typing import Optional

import pytest

import flashyard as fy


class Greedy(fy.VictimRule):
    """The block with the fewest valid units; among equals the one that has had them longest."""

    def victim(self, blocks: list[fy.FullBlock], block_units: int) -> Optional[int]:
        return blocks[0].block if blocks else None


class Oldest(fy.VictimRule):
    """The block that was filled first."""

    def victim(self, blocks: list[fy.FullBlock], block_units: int) -> Optional[int]:
        return max(blocks, key=lambda block: block.filled_after).block if blocks else None


class Fifo(fy.CommandPolicy):
    """One queue, in the order of arrival."""

    def place(self, command: fy.Command, now_ns: int) -> tuple[int, int]:
        return 0, 0


class Readers(fy.CommandPolicy):
    """Reads before all others."""

    queues = 2

    def place(self, command: fy.Command, now_ns: int) -> tuple[int, int]:
        return (0 if command.op == "read" else 1), 0


class InOrder(fy.HostPolicy):
    """The oldest request."""

    def pick(self, waiting: list[fy.Waiting], now_ns: int) -> Optional[int]:
        return 0 if waiting else None


_WRITES = fy.workload("random-write", requests=8_000)
_MIXED = fy.workload("mixed-70-30", requests=1_500, depth=16)


def _flash(result: fy.Result) -> object:
    return {name: result.report[name] for name in ("latency_ns", "flash", "energy_pj")}


def test_greedy_in_python_is_greedy() -> None:
    mine = fy.device("small-full", victim_rule=Greedy())
    assert mine["gc.policy"] == "python"
    found = fy.run(mine, _WRITES, check=True)
    assert found["gc_victims"] and _flash(found) == _flash(
        fy.run(fy.device("small-full", gc__policy="greedy"), _WRITES)
    )
    oldest = fy.run(mine.replace(victim_rule=Oldest()), _WRITES)
    assert oldest["wa"] != found["wa"]


def test_a_command_policy_decides_who_waits() -> None:
    device = fy.device("drs", capacity="1GB")
    found = [
        fy.run(device.replace(command_policy=policy), _MIXED, check=True)
        for policy in (Fifo(), Readers())
    ]
    assert _flash(found[0]) == _flash(fy.run(device.replace(policy__command="fifo"), _MIXED))
    assert found[1].read.mean_us < found[0].read.mean_us  # type: ignore[operator]


def test_a_host_policy_in_order_is_fifo() -> None:
    found = fy.run(fy.device("ros", host_policy=InOrder()), _MIXED)
    assert _flash(found) == _flash(fy.run(fy.device("ros", host__policy="fifo"), _MIXED))


def test_policies_go_with_their_devices() -> None:
    device = fy.device("small-full", victim_rule=Oldest())
    again = pickle.loads(pickle.dumps(device))
    assert fy.run(again, _WRITES)["wa"] == fy.run(device, _WRITES)["wa"]
    plain = device.replace(victim_rule=None)
    assert plain == fy.device("small-full")
    assert fy.run(device, _WRITES).report["provenance"]["command"] == []


class Broken(fy.VictimRule):
    """It fails."""

    def victim(self, blocks: list[fy.FullBlock], block_units: int) -> Optional[int]:
        raise LookupError("mine")


class Elsewhere(fy.VictimRule):
    """It names a block that it was not shown."""

    def victim(self, blocks: list[fy.FullBlock], block_units: int) -> Optional[int]:
        return 1 << 20


class Outside(fy.CommandPolicy):
    """It names a queue that is not there."""

    def place(self, command: fy.Command, now_ns: int) -> tuple[int, int]:
        return 1, 0


def test_an_exception_of_a_policy_is_that_of_the_run() -> None:
    with pytest.raises(LookupError, match="mine"):
        fy.run(fy.device("small-full", victim_rule=Broken()), _WRITES)
    with pytest.raises(fy.ConfigError, match="1048576"):
        fy.run(fy.device("small-full", victim_rule=Elsewhere()), _WRITES)
    with pytest.raises(fy.ConfigError, match="queue 1 of 1"):
        fy.run(fy.device("drs", command_policy=Outside()), _MIXED)
    # The interpreter goes on.
    assert fy.run("small-full", _WRITES)["wa"]


def test_an_exception_of_a_policy_in_a_sweep_is_told() -> None:
    broken = fy.device("small-full", victim_rule=Broken())
    (failed,) = fy.sweep(broken, _WRITES, {"queue.depth": [8]})["failed"]
    assert failed == "LookupError: mine"


def test_a_store_takes_no_policy_in_python(tmp_path: object) -> None:
    """Its runs would be those of whatever code the policy had before."""
    mine = fy.device("small-full", victim_rule=Greedy())
    with pytest.raises(fy.ConfigError, match="policy in Python"):
        fy.sweep(mine, _WRITES, {"queue.depth": [8]}, store=f"{tmp_path}/runs")


def test_a_key_takes_the_place_of_a_policy() -> None:
    mine = fy.device("small-full", victim_rule=Oldest(), command_policy=Fifo())
    greedy = mine.replace(gc__policy="greedy")
    assert greedy["gc.policy"] == "greedy" and greedy["policy.command"] == "python"
    assert greedy.replace(policy__command="fifo") == fy.device(
        "small-full", gc__policy="greedy", policy__command="fifo"
    )
    for keys in ({"gc__policy": "greedy"}, {"gc.policy": "greedy"}, {"gc": {"policy": "greedy"}}):
        with pytest.raises(fy.ConfigError, match="gc.policy and victim_rule"):
            fy.device("small-full", victim_rule=Oldest(), **keys)
    with pytest.raises(fy.ConfigError, match="policy.command and command_policy"):
        fy.device("small-full", command_policy=Fifo(), command="fifo")
