"""Sessions: the caller owns the clock."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from . import _core
from ._columns import COLUMNS, columns_of
from ._keys import MOST, whole, whole_or_none
from ._run import DeviceLike, Result, _as_device
from .errors import ConfigError


class Zone(NamedTuple):
    """A zone of a device: bytes, and the state as a word, such as ``"implicitly_open"``."""

    offset: int
    capacity: int
    write_pointer: int
    state: str


class Handle(NamedTuple):
    """A placement handle (reclaim unit handle) of a device, in bytes."""

    #: What its reclaim unit can still take (RUAMW): the block of each plane that it writes to, or
    #: its superblock.
    available_bytes: int
    #: The same of an empty one.
    unit_bytes: int
    #: What the host has asked to write with it (HBMW).
    host_bytes: int
    #: What was programmed for its data, copies included (MBMW).
    media_bytes: int
    #: The erased blocks in which its data lay (MBE).
    erased_bytes: int


class Session:
    """A device that its caller drives: the caller owns the clock, submits requests when it likes,
    and learns when they are over.

    Times are nanoseconds from the start. A request that is submitted before :meth:`advance` goes
    to its arrival takes part in that instant, as a request of a trace does; so a session that is
    driven with the requests of a trace gives the report of that trace.

    Examples
    --------
    >>> import flashyard as fy
    >>> s = fy.Session("embedded-2x2")
    >>> s.submit(0, "read", 0, 4096)
    0
    >>> s.advance_to_completion()[0].id
    0
    """

    def __init__(self, device: DeviceLike = "nvme-tlc", *, check: bool = False) -> None:
        self._device = _as_device(device)
        self._core = _core.Session(self._device._plan, check)

    @property
    def now_ns(self) -> int:
        """The time of the session."""
        return self._core.now_ns

    @property
    def outstanding(self) -> int:
        """Requests that were submitted and are not over."""
        return self._core.outstanding

    @property
    def capacity(self) -> int:
        """Bytes that the host sees."""
        return self._core.capacity

    def submit(
        self,
        at_ns: int,
        op: str,
        offset: int,
        nbytes: int,
        *,
        stream: int = 0,
        placement: Optional[int] = None,
        flags: int = 0,
    ) -> int:
        """Submits a request; returns its identifier, which its completion has.

        Parameters
        ----------
        at_ns
            Its arrival, not before :attr:`now_ns` and not before that of the request before.
        op
            "read", "write", "trim" or "flush".
        offset, nbytes
            First byte and bytes, both in whole sectors of 512 bytes.
        stream
            The number of the stream, 0 to 65,535.
        placement
            Its placement identifier, 0 to 65,535: where its data go on a device with
            ``placement.handles``. Without one the number of the stream stands for it.
        flags
            1 forces unit access, 2 flushes before the request, 4 writes zeroes (of a trim). On a
            device with zones, 8 of a write appends to the zone that begins at ``offset``, and of a
            trim of no bytes 16 resets that zone, 32 finishes, 64 opens, 128 closes it.

        Raises
        ------
        ConfigError
            Where a value cannot be.
        Refused
            Where the device does not take it; ``.reason`` says why.
        """
        try:
            return self._core.submit(at_ns, op, offset, nbytes, stream, placement, flags)
        except (OverflowError, TypeError):
            if not isinstance(op, str):
                raise ConfigError(f"op: a text is needed, such as 'read', not {op!r}") from None
            for name, value in (("at_ns", at_ns), ("offset", offset), ("nbytes", nbytes)):
                whole(name, value, 0, MOST)
            whole("stream", stream, 0, 65_535)
            whole_or_none("placement", placement, 0, 65_535)
            whole("flags", flags, 0, 255)
            raise

    def submit_all(self, table: Any = None, **columns: Any) -> tuple[int, int]:
        """Submits the requests of columns, as :func:`flashyard.requests` takes them.

        Returns the identifier of the first one (the others follow one by one) and how many were
        taken: those up to the first that the device refuses.
        """
        given = {name: columns.pop(name, None) for name in COLUMNS}
        if columns:
            raise TypeError(f"requests have no column {next(iter(columns))}")
        return self._core.submit_all(_core.Requests(**columns_of(table, given)))

    def zone(self, number: int) -> Optional[Zone]:
        """A zone by its number, as the requests that the device has started have left it; ``None``
        where there is no such zone.
        """
        found = self._core.zone(whole("number", number, 0, 2**32 - 1))
        return None if found is None else Zone(*found)

    def handle(self, number: int) -> Optional[Handle]:
        """A placement handle by its number (``placement.handles``); ``None`` where there is no
        such handle, or where its data go to blocks that are not its own.
        """
        found = self._core.handle(whole("number", number, 0, 255))
        return None if found is None else Handle(*found)

    def next_event(self) -> Optional[int]:
        """A time before which no request is over; ``None`` where nothing is pending.

        A host with a clock of its own keeps one wake-up there, and moves it after each submission
        and advance.
        """
        return self._core.next_event()

    def advance(self, until_ns: Optional[int] = None) -> list[_core.Completion]:
        """Lets time go on to ``until_ns``, or as long as anything happens; returns the requests
        that are over, in this order.

        Without a time, garbage collection of idle times runs to its end as well. What was over
        when ``KeyboardInterrupt`` ended a call is returned by the next one.
        """
        try:
            return self._core.advance(until_ns, False)
        except (OverflowError, TypeError):
            whole_or_none("until_ns", until_ns, 0, MOST)
            raise

    def advance_to_completion(self, until_ns: Optional[int] = None) -> list[_core.Completion]:
        """Lets time go on until a request is over, or to ``until_ns``; returns that request, or
        nothing. A request that is submitted then for the same instant takes part in it.
        """
        try:
            return self._core.advance(until_ns, True)
        except (OverflowError, TypeError):
            whole_or_none("until_ns", until_ns, 0, MOST)
            raise

    def advance_table(self, until_ns: Optional[int] = None) -> _core.Table:
        """The same as :meth:`advance`, as an Arrow table: ``id``, ``at_ns``, ``latency_ns`` and
        the parts of the latency.
        """
        try:
            return self._core.advance_table(until_ns)
        except (OverflowError, TypeError):
            whole_or_none("until_ns", until_ns, 0, MOST)
            raise

    def figures(self) -> dict[str, Optional[float]]:
        """What the device has done so far: ``read_bytes``, ``written_bytes``,
        ``programmed_bytes``, ``erased_blocks``, ``operations_pj`` (energy in picojoules) and
        ``write_amplification``.
        """
        return self._core.figures()

    def fork(self) -> Session:
        """A copy with all that is under way, which goes on by itself."""
        copy = object.__new__(Session)
        copy._device = self._device
        copy._core = self._core.fork()
        return copy

    def cut(self, seed: int = 0) -> dict[str, Any]:
        """The power fails now and is back at once; the session goes on with what recovery finds.

        Requests that are not over are never answered, identifiers begin at 0 again, and new
        requests wait until recovery is over. The device must say how it recovers (section
        ``power``). The answer has ``completions`` (of requests that were over and not handed out
        yet), ``at_ns``, ``recovery_ns``, ``reads`` by kind, ``torn_units``, ``torn_erases``,
        ``dumped_units``, ``energy_pj`` and ``needed_pj`` of the capacitor, and in ``lost`` a dict
        for each mapping unit that lost something: ``request`` (its identifier, that of the last
        one of several, or None), ``offset``, ``nbytes``, ``how`` and ``promised``. The bytes are
        the smallest range with all of the unit that was answered and is lost, the whole unit where
        some of it was on flash; ``how`` is that of the newest of them, and ``promised`` is whether
        any of them were to be kept.
        """
        return self._core.cut(whole("seed", seed, 0, MOST))

    def close(self) -> None:
        """No request comes any more: idle work of the end may begin."""
        self._core.close()

    def finish(self) -> Result:
        """Lets all that is under way end; the report. The session takes nothing afterwards."""
        return Result(self._core.finish(), self._device, None, None)

    def __repr__(self) -> str:
        return f"<Session on {self._device.name}>"
