"""Fits: those of the command, with the device that they found."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import flashyard as fy

_CELLS = str(Path(__file__).parents[2] / "measurements" / "samsung-980-pro-randread.csv")


def test_a_fit_is_that_of_the_command() -> None:
    found = fy.fit(
        _CELLS,
        fy.device("nvme-tlc", capacity="64GB"),
        keys=["nand.read_us=20..200"],
        hold_out=["queue_depth=8"],
        requests=400,
        evaluations=12,
    )
    told = subprocess.run(
        [sys.executable, "-m", "flashyard", "fit", _CELLS, "nvme-tlc", "--set=capacity=64GB"]
        + ["--key=nand.read_us=20..200", "--hold-out=queue_depth=8"]
        + ["--requests=400", "--evaluations=12", "--json"],
        capture_output=True,
        check=True,
    )
    wanted = json.loads(told.stdout)
    (key,) = wanted["keys"]
    assert found.settings == {"nand.read_us": found.settings["nand.read_us"]}
    assert float(found.settings["nand.read_us"]) == float(key["fitted"])
    assert found.device["nand.read_us"] == float(found.settings["nand.read_us"])
    assert found.device.capacity == fy.device("nvme-tlc", capacity="64GB").capacity
    rows = [found.cells.row(number) for number in range(len(found.cells))]
    held = [row for row in rows if row["held_out"]]
    assert held and len(held) < len(rows)
    assert all("queue depth 8" in row["cell"] or "8" in row["cell"] for row in held)
    errors = sorted(
        abs(row["modelled"] / row["measured"] - 1) for row in rows
        if row["figure"].endswith("mean") and not row["held_out"]
    )
    middle = len(errors) // 2
    median = (errors[middle] + errors[-middle - 1]) / 2
    assert found.error() == pytest.approx(median)


def test_what_cannot_be_fitted_is_said() -> None:
    with pytest.raises(fy.ConfigError, match="did you mean"):
        fy.fit(_CELLS, keys=["nand.reed_us=1..2"])
    with pytest.raises(fy.ConfigError, match="hold-out"):
        fy.fit(_CELLS, hold_out=["queue_depth=7"])
    with pytest.raises(fy.ConfigError, match="nope"):
        fy.fit("nope.csv")


def test_a_fit_begins_at_the_device_that_is_given(tmp_path: Path) -> None:
    """Whatever became of its file, and in a pickle."""
    file = tmp_path / "mine.toml"
    file.write_text('base = "nvme-tlc"\n[nand]\nread_us = 300\n')
    mine = fy.device(str(file), capacity="64GB")
    file.write_text('base = "nvme-tlc"\n[nand]\nread_us = 1\n')

    def fitted(device: fy.Device) -> object:
        return fy.fit(
            _CELLS, device, keys=["firmware.read_ns=2000..4000"], requests=200, evaluations=4
        ).cells["modelled"]

    wanted = fitted(fy.device("nvme-tlc", capacity="64GB", nand__read_us=300))
    assert fitted(mine) == wanted and fitted(pickle.loads(pickle.dumps(mine))) == wanted


def test_a_short_fit_finds_a_device_that_can_be() -> None:
    """Where dies are searched, the blocks of each change: some such devices have no room."""
    found = fy.fit(_CELLS, requests=300, evaluations=8)
    assert fy.run(found.device, fy.workload("random-read", requests=100)).requests is None
