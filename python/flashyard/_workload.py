"""Workloads: immutable, checked when they are made, picklable."""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Union

from . import _core
from ._columns import columns_of
from ._keys import (
    Key,
    Value,
    full_names,
    given_as,
    merged,
    of_section,
    one_name,
    settings_of,
    text_of,
    unknown,
    value_of,
)
from .errors import ConfigError

#: The device that a workload is checked with before it meets its own.
_ANY_DEVICE = "drs"

#: Sections of a workload from which a key's name alone is taken, before those of the origin.
_LATER = ("stream", "phase")

#: Origins of requests that are files.
_FILES = ("trace", "profile")


class Workload:
    """Requests for a device. :func:`workload`, :func:`trace` and :func:`requests` make one.

    ``w["stream.depth"]`` is the value of a key: a number in the unit that the key's name says, a
    bool, or a word. Two workloads are equal if their phases, streams and keys are, whatever they
    are called.
    """

    __slots__ = ("_name", "_text", "_requests", "_settings", "_plan")

    def __init__(
        self,
        name: str,
        text: Optional[str] = None,
        requests: Optional[_core.Requests] = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        self._name = name
        self._text = text
        self._requests = requests
        self._settings = settings
        self._plan = _core.Plan(
            _ANY_DEVICE, None, name, text, requests, list(settings), None, None, None
        )

    @property
    def name(self) -> str:
        """The name of the built-in workload, or the path of the trace or file."""
        return self._name

    @property
    def has_seed(self) -> bool:
        """Whether its requests are drawn at random."""
        return self._plan.has_seed

    def keys(self, section: str = "") -> dict[str, Key]:
        """The keys of a section and of those below it, or all that change something; by name."""
        return of_section((Key(*row) for row in self._plan.keys(True)), section, "workload")

    def __getitem__(self, key: str) -> Value:
        keys = self.keys()
        if key not in keys:
            raise KeyError(str(unknown("key of this workload", key, keys)))
        return value_of(keys[key])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys())

    def replace(self, **keys: Any) -> Workload:
        """The same workload with other values of some keys; see :func:`workload`."""
        settings = merged(self._settings, settings_of(keys, self._full_name))
        return Workload(self._name, self._text, self._requests, settings)

    def toml(self) -> str:
        """A workload file that makes the same requests; :func:`requests` have none."""
        if self._requests is not None:
            raise ConfigError(f"{self._name}: requests of columns have no workload file")
        return self._plan.workload_toml()

    def _full_names(self, name: str) -> list[str]:
        return full_names(name, self.keys(), _LATER)

    def _full_name(self, name: str) -> str:
        return one_name(name, self._full_names(name), "workload", self.keys())

    def _is_named(self) -> bool:
        """Whether a command can name it."""
        return self._text is None and self._requests is None

    def _phases(self) -> Any:
        """What its phases and streams are, whatever it is called."""
        phases = json.loads(self._plan.workload_json())
        for stream in (stream for phase in phases for stream in phase["streams"]):
            if stream["origin"] not in _FILES:
                del stream["from"]
        return phases

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return self._requests == other._requests and self._phases() == other._phases()

    def __hash__(self) -> int:
        return hash(json.dumps(self._phases(), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return Workload, (self._name, self._text, self._requests, self._settings)

    def __repr__(self) -> str:
        settings = "".join(f", {setting}" for setting in self._settings)
        return f"<Workload {self._name}{settings}>"


def workload(name: Union[str, os.PathLike[str]], **keys: Any) -> Workload:
    """A built-in workload, a workload file, or a trace.

    Parameters
    ----------
    name
        The name of a built-in workload (:func:`workloads` lists them), the path of a workload file
        or of a trace, or the text of a workload file: a ``str`` of several lines, or with a "="
        that is no path.
    **keys
        Values of keys, as for :func:`flashyard.device`: ``depth=32`` is ``stream.depth``,
        ``requests=1_000_000`` is ``pattern.requests`` of a pattern.

    Raises
    ------
    ConfigError
        Where there is no such workload or key.
    """
    named, text = given_as(name, "workload")
    found = Workload(named, text)
    return found.replace(**keys) if keys else found


def trace(
    path: Union[str, os.PathLike[str]],
    *,
    fold: Optional[str] = None,
    format: Optional[str] = None,
    split: Optional[str] = None,
    **keys: Any,
) -> Workload:
    """A block trace; gzip and zstd are read as they are.

    Parameters
    ----------
    path
        The file. It is read when a run needs it, on the machine that runs it.
    fold
        What is done with addresses beyond the device: "modulo" folds them into it.
    format
        The format, where it cannot be told from the file.
    split
        The column that makes streams.
    **keys
        Further keys of ``[trace]`` and ``[stream]``.
    """
    named = {"fold": fold, "format": format, "split": split}
    settings = tuple(f"trace.{key}={text_of(value)}" for key, value in named.items() if value)
    found = Workload(os.fspath(path), None, None, settings)
    return found.replace(**keys) if keys else found


def requests(
    table: Any = None,
    *,
    at_ns: Any = None,
    op: Any = None,
    offset: Any = None,
    nbytes: Any = None,
    stream: Any = None,
    placement: Any = None,
    flags: Any = None,
    name: str = "requests",
) -> Workload:
    """Requests of your own, at their own times.

    Parameters
    ----------
    table
        A table with these columns by name (pandas, Polars, pyarrow, DuckDB, a dict, an array of
        NumPy with fields); columns that are given beside it come in their place.
    at_ns
        Arrivals in nanoseconds from the start, in order.
    op
        "read", "write", "trim" or "flush", or 0 to 3 in this order.
    offset, nbytes
        First byte and bytes, both in whole sectors of 512 bytes; a flush has 0 bytes.
    stream
        The number of the stream, 0 to 65,535.
    placement
        The placement identifier, 0 to 65,535; without this column the number of the stream stands
        for it.
    flags
        1 forces unit access, 2 flushes before the request, 4 writes zeroes (of a trim); sums of
        them. On a device with zones also those of :meth:`Session.submit`.
    name
        What reports call the workload.

    A column is an array of NumPy, a column of any Arrow package, a list, or one value for all
    requests. Numbers are whole, also where their type is one of floating point.

    Raises
    ------
    ConfigError
        Where a column or a value cannot be. The message names the column and, of a column of many
        values, the request, counted from 0.
    """
    given = {
        "at_ns": at_ns,
        "op": op,
        "offset": offset,
        "nbytes": nbytes,
        "stream": stream,
        "placement": placement,
        "flags": flags,
    }
    made = _core.Requests(**columns_of(table, given))
    return Workload(name, None, made)


def workloads() -> dict[str, str]:
    """The built-in workloads, each with its title."""
    return dict(_core.workloads())
