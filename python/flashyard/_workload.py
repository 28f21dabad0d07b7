"""Workloads: immutable, checked when they are made, picklable."""

from __future__ import annotations

import array
import os
from collections.abc import Iterable
from typing import Any, Optional, Union

from . import _core
from ._keys import Key, merged, settings_of, text_of, unknown

#: The device that a workload is checked with before it meets its own.
_ANY_DEVICE = "drs"

#: Sections of a workload from which a key's name alone is taken, before those of the origin.
_LATER = ("stream", "phase")


class Workload:
    """Requests for a device. :func:`workload`, :func:`trace` and :func:`requests` make one."""

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
        rows = (Key(*row) for row in self._plan.keys(True))
        inside = section + "." if section else ""
        return {row.name: row for row in rows if row.name.startswith(inside)}

    def __getitem__(self, key: str) -> str:
        keys = self.keys()
        if key not in keys:
            raise KeyError(str(unknown("key of this workload", key, keys)))
        return keys[key].value

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys())

    def replace(self, **keys: Any) -> Workload:
        """The same workload with other values of some keys; see :func:`workload`."""
        settings = merged(self._settings, settings_of(keys, self._full_name))
        return Workload(self._name, self._text, self._requests, settings)

    def toml(self) -> str:
        """A workload file that makes the same requests."""
        return self._plan.workload_toml()

    def _full_name(self, name: str) -> str:
        known = [key for key in self.keys() if key.endswith("." + name)]
        first = [key for key in known if not key.startswith(_LATER)]
        for some in (first, known):
            if len(some) == 1:
                return some[0]
        if known:
            few = " or ".join(known)
            raise unknown(f"key of its own: it may be {few}", name, ())
        raise unknown(
            "key of this workload", name, [key.rpartition(".")[2] for key in self.keys()]
        )

    def _is_named(self) -> bool:
        """Whether a command can name it."""
        return self._text is None and self._requests is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        same = self._plan.workload_json() == other._plan.workload_json()
        if self._requests is None or other._requests is None:
            return same and self._requests is other._requests and self._name == other._name
        return same and self._requests == other._requests

    def __hash__(self) -> int:
        return hash((self._name, self._plan.workload_json()))

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
        or of a trace, or the text of a workload file.
    **keys
        Values of keys, as for :func:`flashyard.device`: ``depth=32`` is ``stream.depth``,
        ``requests=1_000_000`` is ``pattern.requests`` of a pattern.

    Raises
    ------
    ConfigError
        Where there is no such workload or key.
    """
    given = os.fspath(name)
    if "\n" in given or "=" in given:
        found = Workload("workload", given)
    elif given.lower().endswith(".toml") and os.path.exists(given):
        with open(given, encoding="utf-8") as file:
            found = Workload(given, file.read())
    else:
        found = Workload(given)
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


#: Columns of requests.
_COLUMNS = ("at_ns", "op", "offset", "nbytes", "stream", "flags")


def requests(
    table: Any = None,
    *,
    at_ns: Any = None,
    op: Any = None,
    offset: Any = None,
    nbytes: Any = None,
    stream: Any = None,
    flags: Any = None,
    name: str = "requests",
) -> Workload:
    """Requests of your own, at their own times.

    Parameters
    ----------
    table
        A table with these columns by name (pandas, Polars, pyarrow, a dict); columns that are
        given beside it come in their place.
    at_ns
        Arrivals in nanoseconds from the start, in order.
    op
        "read", "write", "trim" or "flush", or 0 to 3 in this order.
    offset, nbytes
        First byte and bytes, both in whole sectors of 512 bytes; a flush has 0 bytes.
    stream
        The number of the stream, 0 to 65,535.
    flags
        1 forces unit access, 2 flushes before the request, 4 writes zeroes (of a trim); sums of
        them.
    name
        What reports call the workload.

    A column is an array of NumPy, a column of any Arrow package, a list, or one value for all
    requests.

    Raises
    ------
    ConfigError
        Where a value cannot be; the message has the number of the request.
    """
    given = {
        "at_ns": at_ns,
        "op": op,
        "offset": offset,
        "nbytes": nbytes,
        "stream": stream,
        "flags": flags,
    }
    made = _core.Requests(**_columns(table, given))
    return Workload(name, None, made)


def _columns(table: Any, given: dict[str, Any]) -> dict[str, Any]:
    if table is not None:
        names = set(getattr(table, "column_names", None) or getattr(table, "columns", table))
        for column in _COLUMNS:
            if given[column] is None and column in names:
                given[column] = table[column]
    missing = [column for column in ("at_ns", "op", "offset", "nbytes") if given[column] is None]
    if missing:
        raise unknown("column; it is needed", missing[0], ())
    return {column: _column(values) for column, values in given.items() if values is not None}


def _column(values: Any) -> Any:
    """A column as the Rust half takes it."""
    if isinstance(values, (str, int)):
        return values
    if hasattr(values, "iloc"):  # a column of pandas, which may not have pyarrow
        values = values.to_numpy()
    elif hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return values
    if hasattr(values, "dtype") and values.dtype.kind in "OUST":
        values = values.tolist()
    try:
        view = memoryview(values)
    except TypeError:
        pass
    else:
        return view.format, view.tobytes()
    return _list(values)


def _list(values: Iterable[Any]) -> Any:
    listed = list(values)
    if all(isinstance(value, str) for value in listed):
        return listed
    try:
        numbers = array.array("q", listed)
    except OverflowError:
        numbers = array.array("Q", listed)
    return numbers.typecode, numbers.tobytes()


def workloads() -> dict[str, str]:
    """The built-in workloads, each with its title."""
    return dict(_core.workloads())
