"""Devices from measurements of drives."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from typing import Optional, Union

from . import _core
from ._device import Device
from ._keys import listed
from ._run import DeviceLike, Progress, _as_device, _progress
from .errors import ConfigError


class Fit:
    """A device whose keys were fitted to measured cells."""

    def __init__(
        self, device: Device, settings: dict[str, str], cells: _core.Table, notes: list[str]
    ) -> None:
        #: The device with the fitted keys.
        self.device = device
        #: The fitted keys with their values, as files have them.
        self.settings = settings
        #: A row a figure: ``cell``, ``figure``, ``measured``, ``modelled``, ``held_out`` (1 where
        #: the fit did not see it). An Arrow table.
        self.cells = cells
        #: What is to be known about the figures, a sentence each.
        self.notes = notes

    def error(self, figure: str = "mean", held_out: bool = False) -> Optional[float]:
        """The median of abs(modelled / measured - 1) over the cells that were fitted to or those
        that were held out, of figures whose name ends in ``figure``; ``None`` without any.
        """
        rows = zip(*(self.cells[name] for name in ("figure", "measured", "modelled", "held_out")))
        errors = [
            abs(modelled / measured - 1)
            for name, measured, modelled, held in rows
            if name.endswith(figure) and modelled is not None and bool(held) == held_out
        ]
        return statistics.median(errors) if errors else None

    def __repr__(self) -> str:
        keys = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        error = self.error()
        shown = "" if error is None else f"; median error of means {100 * error:.1f} %"
        return f"<Fit of {self.device.name}: {keys}{shown}>"


def fit(
    measurements: Union[str, os.PathLike[str]],
    device: DeviceLike = "nvme-tlc",
    *,
    keys: Sequence[str] = (),
    drive: Optional[str] = None,
    hold_out: Sequence[str] = (),
    requests: int = 20_000,
    evaluations: int = 1_200,
    seed: int = 1,
    progress: Union[None, bool, Progress] = None,
) -> Fit:
    """Fits keys of a device to measurements of a drive (docs/FITTING.md).

    Parameters
    ----------
    measurements
        A file of measured cells: CSV, or the JSON of fio.
    device
        What the fit starts from.
    keys
        Keys with their bounds, ``"nand.read_us=20..200"``; without any, those that the cells tell
        something about.
    drive
        The drive, where the file has several.
    hold_out
        Cells that the fit does not see, ``"queue_depth=8"``.
    requests
        Requests of the run of a cell.
    evaluations
        How often all cells are run.
    seed
        The seed of the requests.
    progress
        As for :func:`flashyard.run`.

    Raises
    ------
    ConfigError
        Where the file, the keys or the device cannot be used.
    """
    on = _as_device(device)
    if on._parts() is not None:
        raise ConfigError(f"{on.name}: a device with a policy in Python cannot be fitted")
    with _progress(progress, "fit") as told:
        found, cells, notes = _core.fit(
            os.fspath(measurements),
            on.name,
            on._text,
            on._settings,
            listed("keys", keys),
            drive,
            listed("hold_out", hold_out),
            requests,
            evaluations,
            seed,
            told,
        )
    settings = dict(found)
    return Fit(on.replace(**settings), settings, cells, notes)
