"""Sessions: the caller owns the clock."""

import json
import random
import signal
import threading
from array import array
from typing import Any, Optional

import pytest

import flashyard as fy


def _requests(count: int, capacity: int) -> list[tuple[int, str, int, int]]:
    draw = random.Random(7)
    units = capacity // 4096
    ops = ["read"] * 6 + ["write"] * 3 + ["trim"]
    return [
        (2_000 * number, draw.choice(ops), 4096 * draw.randrange(units), 4096)
        for number in range(count)
    ]


@pytest.mark.parametrize("device", ["embedded-2x2", "nvme-tlc", "wd1600bekt"])
@pytest.mark.parametrize("way", ["ahead", "step by step", "as columns"])
def test_a_session_gives_the_report_of_a_trace(device: str, way: str) -> None:
    session = fy.Session(device)
    requests = _requests(400, session.capacity)
    names = ("at_ns", "op", "offset", "nbytes")
    columns = {name: list(values) for name, values in zip(names, zip(*requests))}
    if way == "as columns":
        assert session.submit_all(columns) == (0, 400)
    else:
        for number, (at_ns, op, offset, nbytes) in enumerate(requests):
            assert session.submit(at_ns, op, offset, nbytes) == number
            if way == "step by step":
                session.advance(at_ns)
    session.close()
    session.advance()
    found = json.loads(session.finish().json)
    wanted = json.loads(fy.run(device, fy.requests(columns)).json)
    for name in ("latency_ns", "energy_pj", "flash"):
        assert found[name] == wanted[name], name


def test_a_completion_explains_its_latency() -> None:
    session = fy.Session("nvme-tlc")
    assert session.submit(1_000, "read", 0, 8192) == 0
    assert session.next_event() is not None and session.outstanding == 1
    (over,) = session.advance_to_completion()
    assert over.id == 0 and over.at_ns == session.now_ns
    assert over.latency_ns == over.at_ns - 1_000 == sum(over.parts.values())
    assert session.outstanding == 0 and session.advance() == []


def test_a_closed_loop_by_hand() -> None:
    session = fy.Session("nvme-tlc")
    at_ns = 0
    for number in range(20):
        session.submit(at_ns, "read", 4096 * 1_000 * number, 4096)
        (over,) = session.advance_to_completion()
        assert over.latency_ns == over.at_ns - at_ns
        at_ns = over.at_ns
    assert session.finish()["read.count"] == 20


def test_completions_as_a_table_are_those_of_the_list() -> None:
    one, other = fy.Session("nvme-tlc"), fy.Session("nvme-tlc")
    requests = _requests(300, one.capacity)
    for request in requests:
        one.submit(*request)
        other.submit(*request)
    table, listed = one.advance_table(), other.advance()
    assert table["id"] == [over.id for over in listed]
    assert table["latency_ns"] == [over.latency_ns for over in listed]
    parts = [name for name in table.column_names if name.startswith("part_")]
    assert [sum(row) for row in zip(*(table[name] for name in parts))] == table["latency_ns"]


def test_a_fork_goes_on_by_itself() -> None:
    session = fy.Session("nvme-tlc")
    for request in _requests(100, session.capacity):
        session.submit(*request)
    session.advance(100_000)
    copy = session.fork()
    ends = [(over.id, over.at_ns) for over in session.advance()]
    assert [(over.id, over.at_ns) for over in copy.advance()] == ends
    copy.submit(copy.now_ns, "read", 0, 4096)
    assert (session.outstanding, copy.outstanding) == (0, 1)


def test_a_cut_loses_what_the_buffer_holds_and_the_session_goes_on() -> None:
    keys: dict[str, Any] = {"power.oob_scan": True, "buffer.volatile": True}
    keys |= {"buffer.bytes": 1 << 20, "state.initial": "fresh"}
    session = fy.Session(fy.device("embedded-2x2", **keys))
    session.submit(0, "write", 0, 4096)
    assert session.advance_to_completion()[0].id == 0
    assert session.fork().cut(1) == session.fork().cut(1)
    cut = session.cut(1)
    assert [lost["offset"] for lost in cut["lost"]] == [0]
    assert (cut["lost"][0]["how"], cut["lost"][0]["promised"]) == ("buffered", False)
    session.submit(session.now_ns, "read", 0, 4096)
    assert session.advance_to_completion()[0].at_ns >= cut["at_ns"] + cut["recovery_ns"]
    with pytest.raises(fy.SimError, match="oob_scan"):
        fy.Session("embedded-2x2").cut()


def test_a_cut_hands_out_what_was_over() -> None:
    session = fy.Session(fy.device("embedded-2x2", power__oob_scan=True))
    for number in range(4):
        session.submit(0, "read", number * 4096, 4096)
    first = session.advance_to_completion()
    copy, left = session.fork(), session.outstanding
    over = session.cut(1)["completions"]
    assert len(first) == 1 and len(over) == 3 - left > 0
    assert copy.advance(copy.now_ns) == over
    assert session.advance(session.now_ns) == []


def test_behind_a_cut_identifiers_begin_at_0() -> None:
    keys: dict[str, Any] = {"power.oob_scan": True, "buffer.volatile": True}
    keys["buffer.bytes"] = 1 << 20
    session = fy.Session(fy.device("embedded-2x2", **keys))
    for _ in range(3):
        now = session.now_ns + 1_000_000_000
        ids = [session.submit(now, "write", number * 4096, 4096) for number in range(4)]
        session.submit(2 * now + 10**12, "write", 0, 4096)  # which never arrives
        assert [over.id for over in session.advance(now + 100_000)] == ids == [0, 1, 2, 3]
        lost = sorted((one["request"], one["offset"]) for one in session.cut(1)["lost"])
        assert lost == [(number, number * 4096) for number in ids]


def test_figures_at_any_instant() -> None:
    session = fy.Session("embedded-2x2")
    session.submit(0, "write", 0, 65_536)
    session.submit(0, "read", 0, 4096)
    session.advance()
    figures = session.figures()
    assert (figures["written_bytes"], figures["read_bytes"]) == (65_536, 4096)
    assert figures["operations_pj"] > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ((0, "read", 0, 4096), "past"),
        ((10_000_000, "read", 2**50, 4096), "range"),
    ],
)
def test_refusals_have_a_reason(request_: tuple[int, str, int, int], reason: str) -> None:
    session = fy.Session("nvme-tlc")
    session.submit(0, "read", 0, 4096)
    session.advance()
    with pytest.raises(fy.Refused) as caught:
        session.submit(*request_)
    assert caught.value.reason == reason


def test_an_ended_session_says_so() -> None:
    session = fy.Session("nvme-tlc")
    session.submit(0, "read", 0, 4096)
    session.finish()
    with pytest.raises(fy.SimError, match="ended"):
        session.submit(0, "read", 0, 4096)
    with pytest.raises(fy.ConfigError, match="reed"):
        fy.Session("nvme-tlc").submit(0, "reed", 0, 4096)


def _interrupt_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    return timer


def _submit(session: fy.Session, count: int, op: str, offset: int) -> None:
    """So many requests of 4 KiB for one place, 90 us apart."""
    times = array("Q", range(0, 90_000 * count, 90_000))
    session.submit_all({"at_ns": times, "offset": [offset] * count}, op=op, nbytes=4096)


def _busy() -> tuple[fy.Session, int]:
    """A session with reads that take it most of a second, and how many."""
    session, count = fy.Session("embedded-2x2"), 1_000_000
    _submit(session, count, "read", 0)
    return session, count


@pytest.mark.parametrize("as_table", [False, True])
def test_an_interrupt_loses_no_completion(as_table: bool) -> None:
    """What is over when Ctrl-C comes is given first by the next call, in its order."""
    session, count = _busy()
    _interrupt_after(0.15)
    with pytest.raises(KeyboardInterrupt):
        session.advance()
    assert 0 < session.outstanding < count
    fork = session.fork()
    if as_table:
        ids = [int(id) for id in session.advance_table()["id"]]
    else:
        ids = [one.id for one in session.advance()]
    assert ids == list(range(count))
    assert fork.advance_to_completion()[0].id == 0 and fork.advance_to_completion()[0].id == 1


class _InOrder(fy.CommandPolicy):
    """Commands in the order in which they come."""

    def place(self, command: fy.Command, now_ns: int) -> tuple[int, int]:
        return 0, now_ns


def test_an_interrupt_of_a_policy_ends_the_call_and_not_the_session() -> None:
    session, count = fy.Session(fy.device("embedded-2x2", command_policy=_InOrder())), 200_000
    _submit(session, count, "read", 0)
    _interrupt_after(0.15)
    with pytest.raises(KeyboardInterrupt):
        session.advance()
    assert 0 < session.outstanding < count
    assert [one.id for one in session.advance()] == list(range(count))


def test_an_interrupt_keeps_how_requests_to_zones_ended() -> None:
    session, count = fy.Session("zn540-zns"), 100_000
    _submit(session, count, "write", 4096)
    _interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        session.advance_table()
    assert 0 < session.outstanding < count
    assert {one.error for one in session.advance()} == {"zone_invalid_write"}


def test_completions_that_wait_are_the_next_event() -> None:
    session = fy.Session("embedded-2x2")
    session.submit(0, "flush", 0, 0)
    session.submit(0, "flush", 0, 0)
    for wanted in range(2):
        assert session.advance_to_completion()[0].id == wanted
        assert session.next_event() == (0 if wanted == 0 else None)


def test_the_end_of_a_session_can_be_interrupted_and_asked_for_again() -> None:
    session, count = _busy()
    _interrupt_after(0.15)
    with pytest.raises(KeyboardInterrupt):
        session.finish()
    assert session.finish().report["workload"]["requests"] == count


def test_idle_work_of_a_session_is_not_that_of_its_requests() -> None:
    """Collection that goes on behind the last answer keeps no die busy in the time before."""
    reports = []
    for goes_on in (False, True):
        session = fy.Session("small-full")
        draw = random.Random(3)
        for number in range(4_000):
            offset = 4096 * draw.randrange(session.capacity // 4096)
            session.submit(20_000 * number, "write", offset, 4096)
        if goes_on:
            session.advance()
        reports.append(session.finish())
    names = ("dies_busy", "offered_load", "erases")
    before, behind = ([report[name] or 0.0 for name in names] for report in reports)
    assert behind[2] > before[2], "there is idle work"
    assert behind[:2] == before[:2] and 0 < behind[0] <= 1


class _Asking(fy.VictimRule):
    """Asks the session that asks it."""

    def __init__(self) -> None:
        self.session: Optional[fy.Session] = None

    def victim(self, blocks: list[fy.FullBlock], block_units: int) -> Optional[int]:
        if self.session is not None:
            assert self.session.now_ns >= 0
        return blocks[0].block if blocks else None


def _written(session: fy.Session) -> None:
    for number in range(3_000):
        offset = 4096 * (number * 7_919 % (session.capacity // 4096))
        session.submit(1_000 * number, "write", offset, 4096)


def test_threads_and_policies_of_a_session_do_not_wait_for_each_other() -> None:
    rule = _Asking()
    session = fy.Session(fy.device("small-full", victim_rule=rule))
    _written(session)
    asked: list[int] = []

    def ask() -> None:
        while session.outstanding:
            asked.append(session.now_ns)

    other = threading.Thread(target=ask)
    other.start()
    session.advance()
    other.join(30)
    assert not other.is_alive() and asked == sorted(asked)
    rule.session = fy.Session(fy.device("small-full", victim_rule=rule))
    _written(rule.session)
    with pytest.raises(fy.SimError, match="a policy cannot ask the session that asks it"):
        rule.session.advance()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"offset": -512}, "offset: -512 is not between"),
        ({"op": 0}, "op: a text is needed, such as 'read', not 0"),
        ({"nbytes": 2**64}, "nbytes: 18446744073709551616 is not between"),
        ({"nbytes": 4096.5}, "nbytes: a whole number is needed, not 4096.5"),
        ({"stream": 70_000}, "stream 70000: there are 0 to 65,535"),
        ({"placement": 70_000}, "placement: 70000 is not between 0 and 65,535"),
    ],
)
def test_a_number_that_cannot_be_is_named(given: dict[str, Any], says: str) -> None:
    session = fy.Session("embedded-2x2")
    with pytest.raises(fy.ConfigError) as caught:
        session.submit(**{"at_ns": 0, "op": "read", "offset": 0, "nbytes": 4096, **given})
    assert says in str(caught.value)
    for advance in (session.advance, session.advance_to_completion, session.advance_table):
        with pytest.raises(fy.ConfigError, match="until_ns: -1 is not between"):
            advance(-1)
    with pytest.raises(fy.ConfigError, match="seed: -1 is not between"):
        session.cut(-1)
    with pytest.raises(fy.ConfigError, match="number: 4294967296 is not between"):
        session.zone(2**32)


def test_a_handle_says_what_its_unit_can_still_take() -> None:
    """One plane; the map sends identifier 5 to handle 1."""
    device = fy.device(
        "embedded-2x2",
        geometry__channels=1,
        geometry__ways=1,
        geometry__planes=1,
        placement__handles=2,
        placement__map=(0, 0, 0, 0, 0, 1),
        state__initial="fresh",
    )
    assert device["placement.map"] == (0, 0, 0, 0, 0, 1)
    session = fy.Session(device)
    empty = session.handle(0)
    assert empty is not None and empty.available_bytes == empty.unit_bytes > 0
    assert session.handle(2) is None and fy.Session("zn540-zns").handle(0) is None
    unit = 4096
    for number, place in enumerate([0, 5]):
        session.submit(session.now_ns, "write", number * unit, unit, placement=place)
        session.advance()
    offset = [2 * unit, 3 * unit]
    columns = {"op": "write", "offset": offset, "nbytes": unit, "placement": [5, 3]}
    assert session.submit_all(at_ns=session.now_ns, **columns) == (2, 2)
    session.advance()
    for handle, count in ((0, 2), (1, 2)):
        found = session.handle(handle)
        assert found is not None
        assert found.available_bytes == empty.unit_bytes - count * unit
        assert (found.host_bytes, found.media_bytes, found.erased_bytes) == (
            count * unit,
            count * unit,
            0,
        )


def test_zones_have_addresses_and_errors() -> None:
    session = fy.Session("zn540-zns")

    def does(op: str, offset: int, nbytes: int, flags: int) -> fy.Completion:
        session.submit(session.now_ns, op, offset, nbytes, flags=flags)
        return session.advance_to_completion()[0]

    zone = session.zone(1)
    assert zone is not None and zone.state == "empty" and session.zone(904) is None
    append = does("write", zone.offset, 8192, 8)
    assert (append.offset, append.error) == (zone.offset, None)
    assert does("write", zone.offset, 4096, 8).offset == zone.offset + 8192
    wrong = does("write", zone.offset, 4096, 0)
    assert (wrong.offset, wrong.error) == (None, "zone_invalid_write")
    assert does("trim", zone.offset, 0, 32).error is None
    assert does("write", zone.offset, 4096, 8).error == "zone_is_full"
    full = session.zone(1)
    assert full is not None and full.state == "full"
    assert full.write_pointer == zone.offset + 12288
    with pytest.raises(fy.Refused) as refused:
        fy.Session("embedded-2x2").submit(0, "write", 0, 4096, flags=8)
    assert refused.value.reason == "no_zones"
