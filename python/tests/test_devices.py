"""Devices and workloads: keys by name, immutability, pickles, errors."""

import pathlib
import pickle
import textwrap
from typing import Any

import pytest

import flashyard as fy

np = pytest.importorskip("numpy")

_FIFO: dict[str, Any] = {"gc.policy": "fifo"}


@pytest.mark.parametrize("name", list(fy.devices()))
def test_a_device_comes_back_from_its_pickle_and_from_its_text(name: str) -> None:
    device = fy.device(name)
    assert pickle.loads(pickle.dumps(device)) == device
    assert fy.device(device.toml()) == device
    assert fy.device(device.toml(every=True)) == device


def test_keys_are_set_in_three_ways_and_by_their_names_alone() -> None:
    ways = [
        fy.device("nvme-tlc", gc__policy="fifo"),
        fy.device("nvme-tlc", gc={"policy": "fifo"}),
        fy.device("nvme-tlc", **_FIFO),
    ]
    assert all(device == ways[0] for device in ways)
    assert ways[0] != fy.device("nvme-tlc")
    assert ways[0]["gc.policy"] == ways[0].gc.policy == "fifo"
    short = fy.device("nvme-tlc", over_provisioning_percent=20)
    assert short["ftl.over_provisioning_percent"] == 20


def test_values_have_the_types_of_their_keys() -> None:
    device = fy.device("nvme-tlc", nand__read_us=61.5)
    assert device["nand.read_us"] == 61.5
    assert isinstance(device["geometry.channels"], int)
    assert isinstance(device["gc.policy"], str)
    assert {type(device[key]) for key in device} == {bool, int, float, str, tuple}
    assert len(device) == len(list(device)) == len(device.keys())


def test_a_device_does_not_change() -> None:
    device = fy.device("nvme-tlc", capacity="64GB")
    other = device.replace(gc__policy="fifo")
    assert (device["gc.policy"], other["gc.policy"]) != (other["gc.policy"], device["gc.policy"])
    assert device.capacity == other.capacity
    assert device.replace(capacity="32GB").capacity < device.capacity
    with pytest.raises(AttributeError):
        setattr(device, "gc", 1)


def test_a_section_does_not_change() -> None:
    device = fy.device("nvme-tlc")
    with pytest.raises(AttributeError, match=r"replace\(gc__policy=\.\.\.\)"):
        device.gc.policy = "fifo"
    assert device.gc.policy == device["gc.policy"] == "greedy"


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (0.1 + 0.2, 0.3),
        (30 + 2 * 0.1 + 4e-15, 30.2),
        (np.arange(30, 31, 0.1)[2], 30.2),
        (np.geomspace(1, 1000, 4)[1], 10),
        (np.float32(30.2), 30.2),
        (np.array(31), 31),
        (1234567.891, 1234567.891),
    ],
)
def test_numbers_are_set_without_what_floating_point_adds(given: Any, value: float) -> None:
    assert fy.device("nvme-tlc", nand__read_us=given)["nand.read_us"] == value


def test_a_number_needs_no_exponent() -> None:
    assert fy.device("nvme-tlc", buffer__idle_ms=-0.0)["buffer.idle_ms"] == 0
    device = fy.device("nvme-tlc", metrics__bin_ms=5e-5)
    assert device["metrics.bin_ms"] == 5e-5
    assert device.replace(metrics__bin_ms=device["metrics.bin_ms"]) == device
    with pytest.raises(fy.ConfigError, match=r"in steps of 0\.001"):
        device.replace(nand__read_us=30.00012)


def test_a_path_may_have_an_equals_sign(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "gc=fifo"
    folder.mkdir()
    (folder / "d.toml").write_text('base = "toy"\n[gc]\npolicy = "fifo"\n')
    (folder / "w.toml").write_text(fy.workload("toy-write").toml())
    for path in (folder / "d.toml", str(folder / "d.toml")):
        assert fy.device(path)["gc.policy"] == "fifo"
    assert fy.device('base = "toy"') == fy.device("toy")
    for path in (folder / "w.toml", str(folder / "w.toml")):
        assert fy.workload(path) == fy.workload("toy-write")
    with pytest.raises(fy.ConfigError, match="no such device preset or file"):
        fy.device(pathlib.Path("gc=fifo"))
    assert fy.run(folder / "d.toml", folder / "w.toml")["write.count"] == 400
    assert fy.Session(folder / "d.toml").capacity == fy.device("toy").capacity


def test_a_key_says_what_it_is() -> None:
    key = fy.device("nvme-tlc").keys("nand")["nand.read_us"]
    assert key.doc and key.source and "us" in key.accepts
    assert float(key.value) == fy.device("nvme-tlc")["nand.read_us"]


def test_a_file_is_carried_by_the_pickle(tmp_path: object) -> None:
    path = f"{tmp_path}/mine.toml"
    with open(f"{tmp_path}/base.toml", "w") as file:
        file.write('base = "nvme-tlc"\n[gc]\npolicy = "fifo"\n')
    with open(path, "w") as file:
        file.write('base = "base.toml"\n[nand]\nread_us = 33\n')
    device = fy.device(path)
    assert (device["gc.policy"], device["nand.read_us"]) == ("fifo", 33)
    text = pickle.dumps(device)
    with open(f"{tmp_path}/base.toml", "w") as file:
        file.write("")
    assert pickle.loads(text) == device


def test_every_problem_is_named_with_its_key() -> None:
    with pytest.raises(fy.ConfigError) as caught:
        fy.device("nvme-tlc", gc__policy="greedyy", nand__read_us=-1)
    assert [problem.key for problem in caught.value.problems] == ["gc.policy", "nand.read_us"]
    assert "did you mean greedy?" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.problems == caught.value.problems


def test_a_problem_of_a_file_has_its_line(tmp_path: object) -> None:
    path = f"{tmp_path}/mine.toml"
    with open(path, "w") as file:
        file.write("[nand]\nread_us = 10\nreed_us = 10\n")
    with pytest.raises(fy.ConfigError) as caught:
        fy.device(path)
    (problem,) = caught.value.problems
    assert problem.place == f"{path}:3" and "read_us" in problem.what


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: fy.device("nvme-tlx"), "did you mean nvme-tlc"),
        (lambda: fy.device("nvme-tlc", polcy="x"), "did you mean policy"),
        (lambda: fy.device("nvme-tlc", policy="x"), "gc.policy"),
        (lambda: fy.device("nvme-tlc")["gc.polcy"], "did you mean gc.policy"),
        (lambda: fy.workload("random-reed"), "did you mean random-read"),
        (lambda: fy.workload("random-read", request=1), "did you mean requests"),
        (lambda: fy.device("nvme-tlc").keys("gcc"), "did you mean gc?"),
        (lambda: fy.workload("random-read").keys("patern"), "did you mean pattern?"),
        (lambda: fy.run("nvme-tlc", "random-read", seed=-1), "seed: -1 is not between"),
        (lambda: fy.run("nvme-tlc", "random-read", seed=2**64), "seed: 18446744073709551616 is"),
        (lambda: fy.run("nvme-tlc", "random-read", memory_mib=-1), "memory_mib: -1 is not"),
        (lambda: fy.run("nvme-tlc", "random-read", memory_mib=1), "insist with memory_mib="),
    ],
)
def test_what_is_wrong_is_said(wrong: object, says: str) -> None:
    with pytest.raises((fy.ConfigError, KeyError, fy.SimError)) as caught:
        wrong()  # type: ignore[operator]
    assert says in str(caught.value)


def test_a_value_that_no_key_can_have_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="number"):
        fy.device("nvme-tlc", gc__policy=None)


def test_workloads_take_keys_by_name() -> None:
    workload = fy.workload("random-read", requests=1_000, depth=7)
    assert (workload["pattern.requests"], workload["stream.depth"]) == (1000, 7)
    assert (workload["pattern.access"], workload["pattern.scatter"]) == ("uniform", True)
    assert workload["pattern.zipf_exponent"] == 0.99
    assert workload == fy.workload("random-read", **{"stream.depth": 7, "pattern.requests": 1000})
    assert workload != fy.workload("random-read")
    assert pickle.loads(pickle.dumps(workload)) == workload
    columns: dict[str, Any] = {"at_ns": [0, 5], "op": [1, 0], "offset": 0, "nbytes": 512}
    columns |= {"stream": 3, "flags": 1}
    placed = fy.requests(**columns, placement=[0, 65_535])
    assert pickle.loads(pickle.dumps(placed)) == placed != fy.requests(**columns)
    same = fy.workload(workload.toml())
    assert same == workload and hash(same) == hash(workload)
    assert workload != fy.workload("random-read", requests=1_000, depth=8)
    with pytest.raises(fy.ConfigError, match="no workload file"):
        fy.requests(at_ns=[0], op=0, offset=0, nbytes=512).toml()


def test_a_trace_takes_its_options(tmp_path: object) -> None:
    path = f"{tmp_path}/t.csv"
    with open(path, "w") as file:
        file.write(
            textwrap.dedent(
                """\
                128166372003061629,hm,0,Read,383496192,32768,413
                128166372016382155,hm,0,Write,2822144,4096,694
                """
            )
        )
    result = fy.run("embedded-2x2", fy.trace(path, fold="modulo"))
    assert (result["read.count"], result["write.count"]) == (1, 1)
    with pytest.raises(fy.ConfigError, match=r"trace\.fold"):
        fy.trace(path, fold="modul")
    with open(path, "a") as file:
        file.write("128166372026382155,hm,0,Wrte,2822144,4096,694\n")
    with pytest.raises(fy.TraceError) as caught:
        fy.run("embedded-2x2", fy.trace(path, fold="modulo"))
    assert (caught.value.file, caught.value.line) == (path, 3)
