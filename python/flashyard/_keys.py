"""Keys by name, and their values as files have them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Union

from .errors import ConfigError

#: What a key may be set to.
Value = Union[bool, int, float, str]


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


def text_of(value: object) -> str:
    """A value as files have it."""
    if hasattr(value, "item"):  # a scalar of NumPy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, (int, float, str)):
        return str(value)
    raise TypeError(f"a key is set to a number, a bool or a word, not to {value!r}")


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


def unknown(what: str, name: str, known: Iterable[str]) -> ConfigError:
    """The error of a name that is none."""
    near = difflib.get_close_matches(name, list(known), 3, 0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return ConfigError(f"{name}: there is no such {what}{hint}")
