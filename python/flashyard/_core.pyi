"""The Rust half of the package."""

from collections.abc import Callable, Sequence
from typing import Any, Optional, final

__all__ = [
    "Command",
    "Completion",
    "FullBlock",
    "Outcome",
    "Parts",
    "Plan",
    "Requests",
    "Session",
    "Sweep",
    "Table",
    "Waiting",
    "command",
    "devices",
    "figures",
    "finished",
    "fit",
    "parts",
    "version",
    "workloads",
]

_Progress = Callable[[Optional[float], int, str], object]

def version() -> str: ...
def command(arguments: Sequence[str], code: str, start: Sequence[str]) -> int: ...
def devices() -> list[tuple[str, str]]: ...
def workloads() -> list[tuple[str, str]]: ...
def figures() -> list[tuple[str, str, str]]: ...
def parts() -> list[str]: ...
def finished(folder: str) -> list[str]: ...
def fit(
    measurements: str,
    device: str,
    device_text: Optional[str],
    settings: Sequence[str],
    keys: Sequence[str],
    drive: Optional[str],
    hold_out: Sequence[str],
    requests: int,
    evaluations: int,
    seed: int,
    progress: Optional[_Progress],
) -> tuple[list[tuple[str, str]], Table, list[str]]: ...

@final
class Plan:
    def __new__(
        cls,
        device: str,
        device_text: Optional[str],
        workload: Optional[str],
        workload_text: Optional[str],
        requests: Optional[Requests],
        settings: Sequence[str],
        seed: Optional[int],
        parts: Optional[Parts],
        memory_mib: Optional[int],
    ) -> Plan: ...
    @property
    def has_seed(self) -> bool: ...
    @property
    def capacity(self) -> int: ...
    @property
    def changes(self) -> list[str]: ...
    def device_json(self) -> str: ...
    def workload_json(self) -> str: ...
    def device_toml(self, every: bool) -> str: ...
    def workload_toml(self) -> str: ...
    def keys(self, of_workload: bool) -> list[tuple[str, str, str, str, str, str]]: ...
    def run(
        self,
        tables: tuple[bool, bool, int],
        check: bool,
        command: Sequence[str],
        progress: Optional[_Progress],
    ) -> Outcome: ...
    def why(
        self,
        above: int,
        slowest: Optional[int],
        request: Optional[int],
        class_: Optional[str],
        by_stream: bool,
        check: bool,
        progress: Optional[_Progress],
    ) -> tuple[str, list[str]]: ...

@final
class Parts:
    def __new__(
        cls,
        command: Optional[object] = None,
        host: Optional[object] = None,
        victim: Optional[object] = None,
    ) -> Parts: ...

@final
class Requests:
    def __new__(
        cls,
        at_ns: object,
        op: object,
        offset: object,
        nbytes: object,
        stream: Optional[object] = None,
        flags: Optional[object] = None,
    ) -> Requests: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    @staticmethod
    def _of_bytes(bytes: bytes) -> Requests: ...

@final
class Outcome:
    @property
    def json(self) -> str: ...
    @property
    def figures(self) -> list[tuple[str, Optional[float]]]: ...
    @property
    def streams(self) -> list[tuple[str, list[tuple[str, Optional[float]]]]]: ...
    @property
    def requests(self) -> Optional[Table]: ...
    @property
    def commands(self) -> Optional[Table]: ...
    @property
    def series(self) -> Optional[Table]: ...
    @property
    def cuts(self) -> Optional[Table]: ...

@final
class Sweep:
    def __new__(
        cls,
        device: str,
        device_text: Optional[str],
        workload: str,
        workload_text: Optional[str],
        requests: Optional[Requests],
        parts: Optional[Parts],
        pairs: Sequence[tuple[str, str]],
        text: str,
        check: bool,
        program: str,
        memory_mib: Optional[int],
    ) -> Sweep: ...
    def names(self) -> list[list[str]]: ...
    def run(
        self,
        folder: str,
        name: str,
        points: Optional[Sequence[int]],
        progress: Optional[_Progress],
    ) -> None: ...
    def table(
        self, folder: str, name: str, keys: Sequence[str], progress: Optional[_Progress]
    ) -> Table: ...

@final
class Table:
    """A table of columns. pandas, Polars, DuckDB, pyarrow and others take it without a copy."""

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> Any: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def units(self) -> dict[str, str]: ...
    @property
    def descriptions(self) -> dict[str, str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    def row(self, number: int) -> dict[str, Any]: ...
    @staticmethod
    def _of_columns(columns: Sequence[tuple[Any, ...]]) -> Table: ...

@final
class Command:
    """A command that is about to wait for its die."""

    @property
    def op(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def stream(self) -> Optional[int]: ...
    @property
    def reads_before(self) -> int: ...
    @property
    def order(self) -> Optional[int]: ...
    @property
    def is_read(self) -> bool: ...
    @property
    def arrival_ns(self) -> Optional[int]: ...
    @property
    def fot_ns(self) -> Optional[int]: ...
    @property
    def pages(self) -> int: ...

@final
class Waiting:
    """A request that waits in the host queue."""

    @property
    def place(self) -> int: ...
    @property
    def op(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def entered_ns(self) -> int: ...
    @property
    def conflicts(self) -> bool: ...
    @property
    def dies_idle(self) -> bool: ...
    @property
    def is_buffered(self) -> bool: ...

@final
class FullBlock:
    """A full block that gains from a collection."""

    @property
    def block(self) -> int: ...
    @property
    def valid(self) -> int: ...
    @property
    def erases(self) -> int: ...
    @property
    def age(self) -> int: ...
    @property
    def filled_after(self) -> int: ...

@final
class Completion:
    """A request that is over."""

    @property
    def id(self) -> int: ...
    @property
    def at_ns(self) -> int: ...
    @property
    def latency_ns(self) -> int: ...
    @property
    def parts(self) -> dict[str, int]: ...

@final
class Session:
    def __new__(cls, plan: Plan, check: bool) -> Session: ...
    def submit(
        self,
        at_ns: int,
        op: str,
        offset: int,
        nbytes: int,
        stream: int,
        placement: Optional[int],
        flags: int,
    ) -> int: ...
    def submit_all(self, requests: Requests) -> tuple[int, int]: ...
    def next_event(self) -> Optional[int]: ...
    def advance(self, until_ns: Optional[int], first: bool) -> list[Completion]: ...
    def advance_table(self, until_ns: Optional[int]) -> Table: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def outstanding(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    def figures(self) -> dict[str, Optional[float]]: ...
    def fork(self) -> Session: ...
    def close(self) -> None: ...
    def finish(self) -> Outcome: ...
