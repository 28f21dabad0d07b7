"""Devices: immutable, checked when they are made, picklable."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, Optional, Union, cast

from . import _core
from ._keys import (
    MOST,
    MOST_MIB,
    Key,
    Value,
    full_names,
    given_as,
    merged,
    of_section,
    one_name,
    settings_of,
    unknown,
    whole_or_none,
)
from ._policies import CommandPolicy, HostPolicy, VictimRule
from .errors import ConfigError

#: Names of settings that are no keys: the size, and the translation layer with its map.
_WHOLE = ("capacity", "ftl")

#: Sections of parts that most devices lack: a key's name alone is taken from the others first.
_LATER = ("slc",)

#: What a policy in Python is called in the keys that choose one, and those keys.
_PYTHON = "python"
_CHOOSERS = ("policy.command", "host.policy", "gc.policy")

_Policies = tuple[Optional[CommandPolicy], Optional[HostPolicy], Optional[VictimRule]]

_NO_POLICIES: _Policies = (None, None, None)


class Section:
    """The keys of a section of a device, as attributes."""

    _name: str
    _values: dict[str, Value]

    def __init__(self, name: str, values: dict[str, Value]) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_values", values)

    def __setattr__(self, key: str, value: object) -> None:
        name = f"{self._name}.{key}".replace(".", "__")
        raise AttributeError(f"a device does not change; its replace({name}=...) makes another one")

    def __getattr__(self, key: str) -> Value:
        if key.startswith("_") or key not in self._values:
            raise AttributeError(f"[{self._name}] has no key {key}")
        return self._values[key]

    def __dir__(self) -> list[str]:
        return sorted(self._values)

    def __repr__(self) -> str:
        return f"[{self._name}] {self._values}"


class Device:
    """A simulated device. :func:`device` makes one.

    ``d["gc.policy"]`` and ``d.gc.policy`` are the value of a key in effect: a number in the unit
    that the key's name says, a bool, or a word. Two devices are equal if all their keys are.
    """

    __slots__ = ("_name", "_text", "_settings", "_policies", "_plan", "_values")

    def __init__(
        self,
        name: str,
        text: Optional[str],
        settings: tuple[str, ...] = (),
        policies: _Policies = _NO_POLICIES,
    ) -> None:
        self._name = name
        self._text = text
        self._settings = settings
        self._policies = policies
        self._plan = self._planned(None, None, None, (), None, None)
        found = cast("dict[str, dict[str, Any]]", json.loads(self._plan.device_json()))
        self._values: dict[str, dict[str, Value]] = {
            section: {key: tuple(of) if isinstance(of, list) else of for key, of in keys.items()}
            for section, keys in found.items()
        }

    def _planned(
        self,
        workload: Optional[str],
        workload_text: Optional[str],
        requests: Optional[_core.Requests],
        settings: tuple[str, ...],
        seed: Optional[int],
        memory_mib: Optional[int],
    ) -> _core.Plan:
        """This device with a workload."""
        return _core.Plan(
            self._name,
            self._text,
            workload,
            workload_text,
            requests,
            [*self._settings, *settings],
            whole_or_none("seed", seed, 0, MOST),
            self._parts(),
            whole_or_none("memory_mib", memory_mib, 0, MOST_MIB),
        )

    def _parts(self) -> Optional[_core.Parts]:
        if self._policies == _NO_POLICIES:
            return None
        return _core.Parts(*self._policies)

    @property
    def name(self) -> str:
        """The name of the preset, the path of the file, or "device" for a text."""
        return self._name

    @property
    def capacity(self) -> int:
        """Bytes that the host sees."""
        return self._plan.capacity

    @property
    def changes(self) -> list[str]:
        """What was changed of the device that nobody named, a sentence each."""
        return self._plan.changes

    def __getitem__(self, key: str) -> Value:
        section, _, name = key.rpartition(".")
        try:
            return self._values[section][name]
        except KeyError:
            raise KeyError(str(unknown("key of this device", key, self))) from None

    def __iter__(self) -> Iterator[str]:
        return (f"{section}.{key}" for section, keys in self._values.items() for key in keys)

    def __len__(self) -> int:
        return sum(len(keys) for keys in self._values.values())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in set(self)

    def __getattr__(self, name: str) -> Section:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"the device has no section {name}")
        return Section(name, self._values[name])

    def __dir__(self) -> list[str]:
        plain = [name for name in self._values if name.isidentifier()]
        return [*object.__dir__(self), *plain]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def keys(self, section: str = "") -> dict[str, Key]:
        """The keys of a section and of those below it, or all; by name.

        Each says what it means, what it accepts, its value and where its default comes from. Where
        there is no such section, it is a ``ConfigError``.
        """
        return of_section((Key(*row) for row in self._plan.keys(False)), section, "device")

    def replace(self, **keys: Any) -> Device:
        """The same device with other values of some keys; see :func:`device` for their form."""
        names = ("command_policy", "host_policy", "victim_rule")
        policies = [keys.pop(name, known) for name, known in zip(names, self._policies)]
        command, host, victim = policies
        return _device(self._name, self._text, self._settings, keys, (command, host, victim))

    def toml(self, every: bool = False) -> str:
        """A device file that gives the same device, with the source of each number.

        With ``every``, keys at their defaults too.
        """
        return self._plan.device_toml(every)

    def _full_names(self, name: str) -> list[str]:
        return [name] if name in _WHOLE else full_names(name, self, _LATER)

    def _full_name(self, name: str) -> str:
        return one_name(name, self._full_names(name), "device", self)

    def _is_named(self) -> bool:
        """Whether a command can name it."""
        return self._text is None and self._policies == _NO_POLICIES

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return self._values == other._values and self._policies == other._policies

    def __hash__(self) -> int:
        return hash(self._plan.device_json())

    def __reduce__(self) -> tuple[Any, ...]:
        if self._text is None:
            return Device, (self._name, None, self._settings, self._policies)
        # The file may be based on another one, which is not there where this is unpickled.
        return Device, (self._name, self.toml(every=True), (), self._policies)

    def __repr__(self) -> str:
        settings = "".join(f", {setting}" for setting in self._settings)
        return f"<Device {self._name}{settings}: {self.capacity / 1e9:.3f} GB>"


def _device(
    name: str,
    text: Optional[str],
    settings: tuple[str, ...],
    keys: dict[str, Any],
    policies: _Policies,
) -> Device:
    gone = {f"{key}={_PYTHON}" for key, policy in zip(_CHOOSERS, policies) if policy is None}
    settings = tuple(setting for setting in settings if setting not in gone)
    base = Device(name, text, settings, policies)
    more = settings_of(keys, base._full_name)
    # A key that chooses another policy takes the place of the one in Python.
    named = {setting.split("=", 1)[0] for setting in more}
    command, host, victim = policies
    policies = (
        None if _CHOOSERS[0] in named else command,
        None if _CHOOSERS[1] in named else host,
        None if _CHOOSERS[2] in named else victim,
    )
    more += tuple(
        f"{key}={_PYTHON}"
        for key, policy in zip(_CHOOSERS, policies)
        if policy is not None
    )
    return Device(name, text, merged(settings, more), policies) if more else base


def device(
    name: Union[str, os.PathLike[str]],
    *,
    command_policy: Optional[CommandPolicy] = None,
    host_policy: Optional[HostPolicy] = None,
    victim_rule: Optional[VictimRule] = None,
    **keys: Any,
) -> Device:
    """A device.

    Parameters
    ----------
    name
        A preset (:func:`devices` lists them), the path of a device file, or the text of one: a
        ``str`` of several lines, or with a "=" that is no path.
    command_policy, host_policy, victim_rule
        Policies in Python, for a first try; each decision then calls Python.
    **keys
        Values of keys: ``capacity="64GB"``, ``ftl="dftl"``, ``gc__policy="greedy"``,
        ``gc={"policy": "greedy"}``, ``**{"gc.policy": "greedy"}``, or the name of a key alone where
        one section has it. Numbers are in the unit of the key's name (``read_us``).

    Raises
    ------
    ConfigError
        Where there can be no such device; it lists every problem.

    Examples
    --------
    >>> import flashyard as fy
    >>> d = fy.device("nvme-tlc", capacity="64GB", gc__policy="fifo")
    >>> d["gc.policy"]
    'fifo'
    """
    policies = (command_policy, host_policy, victim_rule)
    arguments = ("command_policy", "host_policy", "victim_rule")
    for argument, key, policy in zip(arguments, _CHOOSERS, policies):
        section, _, of = key.partition(".")
        inner = keys.get(section)
        names = {key, key.replace(".", "__")}
        if of != "policy":  # which alone is a section
            names.add(of)
        given_too = names & keys.keys()
        if policy is not None and (given_too or isinstance(inner, dict) and of in inner):
            raise ConfigError(f"{key} and {argument} both choose a policy; leave one of them out")
    named, text = given_as(name, "device")
    return _device(named, text, (), keys, policies)


def devices() -> dict[str, str]:
    """The presets of devices, each with its title."""
    return dict(_core.devices())
