"""Flashyard simulates flash storage devices, from the host queue to the NAND cell.

>>> import flashyard as fy
>>> r = fy.run("nvme-tlc", "mixed-70-30", seed=1)  # doctest: +SKIP
>>> r.read.p99_us, r["wa"], r.warnings  # doctest: +SKIP

A run gives the same figures, to the bit, on every machine and as the command ``flashyard``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._core import Command, Completion, FullBlock, Table, Waiting
from ._core import version as _version
from ._device import Device, device, devices
from ._fit import Fit, fit
from ._keys import Key
from ._policies import CommandPolicy, HostPolicy, VictimRule
from ._run import Comparison, Explanation, Latencies, Result, compare, run, why
from ._session import Handle, Session, Zone
from ._sweep import Sweep, sweep
from ._workload import Workload, requests, trace, workload, workloads
from .errors import ConfigError, FlashyardError, Problem, Refused, SimError, TraceError

if TYPE_CHECKING:
    from . import plot as plot

__version__ = _version()

__all__ = [
    "Command",
    "CommandPolicy",
    "Comparison",
    "Completion",
    "ConfigError",
    "Device",
    "Explanation",
    "Fit",
    "FlashyardError",
    "FullBlock",
    "Handle",
    "HostPolicy",
    "Key",
    "Latencies",
    "Problem",
    "Refused",
    "Result",
    "Session",
    "Zone",
    "SimError",
    "Sweep",
    "Table",
    "TraceError",
    "VictimRule",
    "Waiting",
    "Workload",
    "compare",
    "device",
    "devices",
    "fit",
    "requests",
    "run",
    "sweep",
    "trace",
    "why",
    "workload",
    "workloads",
]


def __getattr__(name: str) -> Any:
    if name == "plot":  # which needs matplotlib
        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
