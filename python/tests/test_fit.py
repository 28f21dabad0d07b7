"""Fits: those of the command, with the device that they found."""

import json
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
