"""Policies in Python, for a first try.

Each decision calls into the interpreter: a run takes several times as long as with the same policy
in Rust (docs/PYTHON.md has the figures). One that proves itself is written as a crate
(docs/ADDING_A_POLICY.md); the methods are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._core import Command, FullBlock, Waiting


class CommandPolicy:
    """Which waiting command a die takes next.

    Answers must depend on the arguments alone.
    """

    #: How many queues it has, from 1 to 16.
    queues: int = 1

    def place(self, command: Command, now_ns: int) -> tuple[int, int]:
        """Says where a command waits: the queue, of which queue 0 is served first, and the key
        inside it, from 0 on, of which the least goes first; equal ones in the order of insertion.
        """
        raise NotImplementedError


class HostPolicy:
    """Which waiting request is started next.

    It must not answer ``None`` for ever while requests wait and every die is idle.
    """

    #: How many of the oldest requests it is shown, from 1 on.
    window: int = 32

    def pick(self, waiting: list[Waiting], now_ns: int) -> Optional[int]:
        """Returns the place of a request in ``waiting``, one or more with the oldest first, or
        ``None`` to wait until something changes.
        """
        raise NotImplementedError


class VictimRule:
    """Which full block garbage collection cleans next. Initial states are made with greedy
    cleaning.
    """

    def victim(self, blocks: list[FullBlock], block_units: int) -> Optional[int]:
        """Returns the number of one of ``blocks``, those of a plane whose collection gains space,
        the one with the fewest valid units first; ``block_units`` is how many units a block has.
        ``None`` where none shall be cleaned.
        """
        raise NotImplementedError
