"""Keys by name, and their values as files have them."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Optional, Union

from .errors import ConfigError

#: What a key may be set to.
Value = Union[bool, int, float, str, tuple[int, ...]]


class Key(NamedTuple):
    """A key of a device or of a workload."""

    #: ``section.key``.
    name: str
    #: What it means.
    doc: str
    #: What it accepts: the unit and the range of a number, or the words.
    accepts: str
    #: Its value, as a file has it.
    value: str
    #: Its default, as a file has it; empty for keys of workloads.
    default: str
    #: Where the default comes from: a paper, a standard, a formula, or "assumed".
    source: str


def value_of(key: Key) -> Value:
    """The value of a key in the type that it accepts."""
    if key.accepts == "true or false":
        return key.value == "true"
    if key.accepts.startswith(("a number", "a whole number")):
        try:
            number = float(key.value)
        except ValueError:
            return key.value
        return int(key.value) if key.value.lstrip("-").isdecimal() else number
    if key.accepts.startswith("a list of"):
        return tuple(int(one) for one in key.value.strip("[]").split(",") if one)
    return key.value


#: What NumPy rounds off: a number within this share of a shorter one is meant as that.
_NOISE = 1e-14


def plain(value: Any) -> Any:
    """A number of NumPy, or its array without dimensions, as Python's own; others as they are."""
    if not hasattr(value, "item") or getattr(value, "size", 1) != 1:
        return value
    dtype: Any = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") == "f" and dtype.itemsize != 8:
        return float(str(value[()]))  # what a narrower number stands for
    return value.item()


def _float_text(value: float) -> str:
    """A number without an exponent, and without what floating point adds to it."""
    short = float(f"{value:.12g}")
    if abs(short - value) <= _NOISE * abs(value):
        value = short + 0.0  # no negative zero
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_of(value: object) -> str:
    """A value as files have it."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, (int, str)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text_of(one) for one in value) + "]"
    raise TypeError(f"a key is set to a number, a bool, a word or a list, not to {value!r}")


def whole(name: str, value: Any, low: int, high: int) -> int:
    """A whole number between two others; ``name`` is what messages call it."""
    try:
        number = operator.index(plain(value))
    except TypeError:
        raise ConfigError(f"{name}: a whole number is needed, not {value!r}") from None
    if not low <= number <= high:
        raise ConfigError(f"{name}: {number} is not between {low:,} and {high:,}")
    return number


def whole_or_none(name: str, value: Any, low: int, high: int) -> Optional[int]:
    """The same, or ``None`` as it is."""
    return None if value is None else whole(name, value, low, high)


#: The greatest seed of a run, that of a sweep, and the most memory in MiB.
MOST = 2**64 - 1
MOST_OF_SWEEP = 2**63 - 1
MOST_MIB = 2**44


def listed(name: str, values: Any) -> list[Any]:
    """What an iterable has; one word or one number is a list of itself."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    if isinstance(values, (bytes, Mapping)):
        raise ConfigError(f"{name}: a list is needed, not {values!r}")
    return [values] if getattr(values, "ndim", None) == 0 else list(values)


def given_as(name: Union[str, os.PathLike[str]], of_text: str) -> tuple[str, Optional[str]]:
    """The name of what is given and its text: of a file, or the text that is given itself, which
    is then named ``of_text``; no text of a preset or a trace.
    """
    path = os.fspath(name)
    is_file = not isinstance(name, str) or path.lower().endswith(".toml") or os.path.isfile(path)
    if "\n" in path and isinstance(name, str) or "=" in path and not is_file:
        return of_text, path
    if path.lower().endswith(".toml") and os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            return path, file.read()
    return path, None


def of_section(rows: Iterable[Key], section: str, what: str) -> dict[str, Key]:
    """The keys of a section and of those below it, or all."""
    every = {row.name: row for row in rows}
    inside = section + "." if section else ""
    found = {name: row for name, row in every.items() if name.startswith(inside)}
    if found or not section:
        return found
    sections = dict.fromkeys(
        ".".join(parts[:count])
        for parts in (name.split(".") for name in every)
        for count in range(1, len(parts))
    )
    raise unknown(f"section of this {what}", section, sections)


def settings_of(
    given: Mapping[str, object], full_name: Callable[[str], str]
) -> tuple[str, ...]:
    """``section.key=value`` of keyword arguments.

    ``gc__policy="greedy"``, ``gc={"policy": "greedy"}`` and ``**{"gc.policy": "greedy"}`` are the
    same.
    """
    settings = []
    for name, value in given.items():
        name = name.replace("__", ".")
        if isinstance(value, Mapping):
            settings += [f"{name}.{key}={text_of(inner)}" for key, inner in value.items()]
        else:
            settings.append(f"{name if '.' in name else full_name(name)}={text_of(value)}")
    return tuple(settings)


def merged(before: Iterable[str], after: Iterable[str]) -> tuple[str, ...]:
    """Settings, of which the later one of a key counts."""
    all_of = {setting.split("=", 1)[0]: setting for setting in before}
    for setting in after:
        key = setting.split("=", 1)[0]
        all_of.pop(key, None)
        all_of[key] = setting
    return tuple(all_of.values())


def full_names(name: str, known: Iterable[str], later: tuple[str, ...]) -> list[str]:
    """The keys that a name alone may mean: those of sections in ``later`` where no other does."""
    named = [key for key in known if key.endswith("." + name)]
    return [key for key in named if not key.startswith(later)] or named


def one_name(name: str, found: Sequence[str], what: str, known: Iterable[str]) -> str:
    """The one key that is found for a name, or an error that says which there are."""
    if len(found) == 1:
        return found[0]
    if found:
        raise unknown(f"key of its own: it may be {' or '.join(found)}", name, ())
    raise unknown(f"key of this {what}", name, [key.rpartition(".")[2] for key in known])


def unknown(what: str, name: str, known: Iterable[str]) -> ConfigError:
    """The error of a name that is none."""
    near = difflib.get_close_matches(name, list(known), 3, 0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return ConfigError(f"{name}: there is no such {what}{hint}")
