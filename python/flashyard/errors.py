"""What can go wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["ConfigError", "FlashyardError", "Problem", "Refused", "SimError", "TraceError"]


class Problem(NamedTuple):
    """One problem of what was given."""

    #: The file and line, the setting, or the device that it is in; may be empty.
    place: str
    #: The key, ``section.key``; empty where it is about no single key.
    key: str
    #: What is wrong and what would be right.
    what: str


_KEY = re.compile(r"(?P<key>[a-z][a-z0-9_.-]*\.[a-z0-9_]+): ")
_LINE = re.compile(r"(?P<file>.+?):(?P<line>\d+): ")


def _problem(place: str, what: str) -> Problem:
    named = _KEY.match(what) or re.search(r"([a-z][a-z0-9_-]*\.[a-z0-9_.]+)=", place)
    return Problem(place, named.group(1) if named else "", what)


#: Options of the command, as messages name them, and what stands for them in Python.
_OPTIONS = (
    (re.compile(r"--set (?=\S)"), ""),
    (re.compile(r"--memory (\d+)"), r"memory_mib=\1"),
    (re.compile(r"--memory\b"), "memory_mib"),
    (re.compile(r"--request (\d+)"), r"request=\1"),
    (re.compile(r"--by stream\b"), "by_stream"),
    (re.compile(r"--key (\S+):"), r"keys: \1:"),
    (re.compile(r"--key\b"), "keys"),
    (re.compile(r"--(check|cuts|seed)\b"), r"\1"),
    (re.compile(r", or --settle first"), ", or add a phase that is not measured"),
)


def in_python(text: str) -> str:
    """A message of the command in words of this package."""
    if "--" in text:
        for option, word in _OPTIONS:
            text = option.sub(word, text)
    return text


class FlashyardError(Exception):
    """The base of all exceptions of this package."""

    def __init__(self, text: str = "") -> None:
        super().__init__(in_python(text))


class ConfigError(FlashyardError, ValueError):
    """A device, a workload or a setting that cannot be used."""

    #: Every problem that was found, at least one.
    problems: tuple[Problem, ...]

    def __init__(self, text: str, problems: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(text)
        self._given = tuple(problems)
        found = [_problem(place, in_python(what)) for place, what in problems]
        self.problems = tuple(found) or (_problem("", str(self)),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self._given)


class TraceError(FlashyardError, ValueError):
    """A trace that cannot be read, or that does not fit the device."""

    #: The trace; empty where the error is about no file.
    file: str
    #: The line of the trace, counted from 1; 0 where it is about no line.
    line: int

    def __init__(self, text: str) -> None:
        super().__init__(text)
        place = _LINE.match(text)
        self.file = place.group("file") if place else text.split(": ")[0] if ": " in text else ""
        self.line = int(place.group("line")) if place else 0


class SimError(FlashyardError, RuntimeError):
    """A simulation that failed, or a rule that a checked run found broken."""


class Refused(FlashyardError, RuntimeError):
    """A request that a session did not take."""

    #: Why: "past", "range", "order", "full", "no_zones", "stream" or "closed".
    reason: str

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.reason)
