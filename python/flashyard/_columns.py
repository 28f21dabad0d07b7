"""Columns of requests, as the Rust half takes them."""

from __future__ import annotations

import array
import math
import operator
from collections.abc import Iterable, Mapping, Set
from typing import Any

from ._keys import plain, unknown
from .errors import ConfigError

#: Columns of requests.
COLUMNS = ("at_ns", "op", "offset", "nbytes", "stream", "placement", "flags")

#: The greatest number of a column.
_MOST = 2**64 - 1


def columns_of(table: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a table, and those that are given beside it, by name."""
    all_of = dict(given)
    if table is not None:
        table, names = _named(table)
        for name in COLUMNS:
            if all_of[name] is None and name in names:
                all_of[name] = table[name]
    missing = [name for name in ("at_ns", "op", "offset", "nbytes") if all_of[name] is None]
    if missing:
        raise unknown("column; it is needed", missing[0], ())
    return {name: _column(name, values) for name, values in all_of.items() if values is not None}


def _named(table: Any) -> tuple[Any, set[str]]:
    """A table whose columns are found by name, and these names."""
    # A relation of DuckDB, a lazy frame of Polars and a reader of Arrow give their table here.
    for method in ("fetchnumpy", "collect", "read_all"):
        if hasattr(table, method):
            table = getattr(table, method)()
            break
    names = getattr(getattr(table, "dtype", None), "names", None)  # an array of NumPy with fields
    for attribute in ("column_names", "columns"):
        names = getattr(table, attribute, None) if names is None else names
    if names is None and isinstance(table, Mapping):
        names = table
    if names is None:
        kind = type(table).__name__
        raise ConfigError(f"table: it has columns by name, such as a frame or a dict; not {kind}")
    return table, {str(name) for name in names}


def _column(name: str, values: Any) -> Any:
    """A column: one value, texts, an array of Arrow, or a format and bytes."""
    if hasattr(values, "fetchnumpy"):
        values = values.fetchnumpy()
        values = next(iter(values.values())) if len(values) == 1 else values
    if hasattr(values, "iloc"):  # a column of pandas, which may not have pyarrow
        values = values.to_numpy()
    elif hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return values
    values = plain(values) if getattr(values, "ndim", None) == 0 else values
    if isinstance(values, str) or not isinstance(values, Iterable):
        return _value(name, values, name)
    if isinstance(values, (bytes, Mapping, Set)):
        kind = type(values).__name__
        raise ConfigError(f"{name}: a column or one value is needed, not {kind}")
    return _array(name, values)


def _array(name: str, values: Any) -> Any:
    """A column of many values."""
    if getattr(values, "ndim", 1) != 1:
        raise ConfigError(f"{name}: a column has one dimension, not {values.ndim}")
    dtype: Any = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind in ("M", "m", "c", "V"):
        raise ConfigError(f"{name}: whole numbers are needed, not values of type {dtype}")
    if kind and hasattr(values, "filled") or kind in ("O", "U", "S", "T"):
        values = values.tolist()  # where a masked value is none
    elif kind == "f" and dtype.itemsize not in (4, 8):
        values = values.astype("float64")
    elif kind and not getattr(dtype, "isnative", True):
        values = values.astype(dtype.newbyteorder("="))
    try:
        view = memoryview(values)
    except (TypeError, ValueError):
        return _list(name, list(values))
    if view.ndim != 1:
        raise ConfigError(f"{name}: a column has one dimension, not {view.ndim}")
    return view.format, view.tobytes()


def _list(name: str, values: list[Any]) -> Any:
    """Texts as they are, or whole numbers."""
    if not any(isinstance(value, str) for value in values):
        for code in ("q", "Q"):
            try:
                return code, array.array(code, values).tobytes()
            except (TypeError, ValueError, OverflowError):
                pass
    found = [_value(name, value, f"request {row}: {name}") for row, value in enumerate(values)]
    is_text = [isinstance(value, str) for value in found]
    if all(is_text):
        return found
    if any(is_text):
        row = is_text.index(not is_text[0])
        raise ConfigError(f"request {row}: {name} is {values[row]!r}; texts and numbers are mixed")
    return "Q", array.array("Q", found).tobytes()


def _value(name: str, value: Any, place: str) -> Any:
    """One value; ``place`` is what messages call it."""
    needed = "a text or a number" if name == "op" else "a whole number"
    if getattr(getattr(value, "dtype", None), "kind", "") in ("M", "m"):
        raise ConfigError(f"{place} is {value}; {needed} is needed")
    value = plain(value)
    if name == "op" and isinstance(value, str):
        return value
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):
        raise ConfigError(f"{place} is missing")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{place} is {value!r}; {needed} is needed") from None
    if not 0 <= number <= _MOST:
        raise ConfigError(f"{place} is {number}; it lies between 0 and 2^64 - 1")
    return number
