"""Columns from and to other packages."""

import array
import datetime
import pickle
from typing import Any

import pytest

import flashyard as fy

duckdb = pytest.importorskip("duckdb")
np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

_ROWS = 1_000


def _result() -> fy.Result:
    return fy.run("nvme-tlc", fy.workload("mixed-70-30", requests=_ROWS), log=True)


def test_other_packages_take_a_table_as_it_is() -> None:
    log = _result().requests
    assert log is not None
    latency = log["latency_ns"]
    assert pl.DataFrame(log)["latency_ns"].to_list() == latency
    assert pd.DataFrame.from_arrow(log)["latency_ns"].tolist() == latency
    arrow = pa.table(log)
    assert arrow["latency_ns"].to_pylist() == latency
    assert arrow["op"].to_pylist() == log["op"]
    relation = duckdb.sql("select sum(latency_ns) from arrow")
    assert relation is not None and relation.fetchall() == [(sum(latency),)]
    assert arrow.schema.field("latency_ns").metadata[b"unit"] == b"ns"


def test_no_value_is_copied() -> None:
    log = _result().requests
    one = pa.table(log)["latency_ns"].chunk(0).buffers()[1].address
    other = pl.DataFrame(log)["latency_ns"].to_arrow()
    assert pa.table(log)["latency_ns"].chunk(0).buffers()[1].address == one
    assert other.buffers()[1].address == one


def _columns(make: object) -> dict[str, Any]:
    of = make
    return {
        "at_ns": of([0, 5_000, 9_000]),  # type: ignore[operator]
        "offset": of([4096, 8192, 0]),  # type: ignore[operator]
        "nbytes": of([4096, 8192, 0]),  # type: ignore[operator]
    }


_OPS = ["read", "write", "flush"]


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda values: np.array(values, dtype=np.uint32),
        lambda values: np.array(values, dtype=np.int16),
        pd.Series,
        pl.Series,
        pa.array,
        lambda values: pa.chunked_array([values[:1], values[1:]]),
        lambda values: array.array("q", values),
    ],
)
def test_columns_of_all_kinds_are_the_same_requests(make: object) -> None:
    ops = [
        _OPS,
        np.array(_OPS),
        pd.Series(_OPS),
        pl.Series(_OPS),
        pl.Series(_OPS, dtype=pl.Categorical),
        pa.array(_OPS),
        pa.array(_OPS).dictionary_encode(),
        np.array([0, 1, 3], dtype=np.uint8),
    ]
    wanted = fy.requests(
        at_ns=[0, 5_000, 9_000], op=_OPS, offset=[4096, 8192, 0], nbytes=[4096, 8192, 0]
    )
    for op in ops:
        assert fy.requests(op=op, **_columns(make)) == wanted
    assert pickle.loads(pickle.dumps(wanted)) == wanted


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_give_their_columns(make: object) -> None:
    table = make({"op": _OPS, **_columns(list)})  # type: ignore[operator]
    assert fy.requests(table) == fy.requests(op=_OPS, **_columns(list))


def test_a_log_is_a_workload_again() -> None:
    first = _result()
    log = pl.DataFrame(first.requests).sort("order")
    again = fy.requests(
        at_ns=log["arrival_ns"],
        op=log["op"],
        offset=log["first_sector"] * 512,
        nbytes=log["sectors"] * 512,
    )
    second = fy.run("nvme-tlc", again, log=True)
    assert second.requests is not None
    assert pl.DataFrame(second.requests).sort("order").equals(log)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"at_ns": [0, 5, 3]}, "request 2: at_ns is 3, and that of the one before is 5"),
        ({"offset": [0, 100, 0]}, "request 1: offset 100"),
        ({"nbytes": [0, 4096, 4096]}, "request 0: it has no bytes"),
        ({"nbytes": [4096, 4096]}, "nbytes: 2 values for 3 requests"),
        ({"op": ["read", "reed", "read"]}, 'request 1: op is "reed"'),
        ({"op": [0, 1, 4]}, "request 2: op is 4; there are 0 to 3"),
        ({"op": 4}, "op: 4: there are 0 to 3"),
        ({"op": ["read", 1, "read"]}, "request 1: op is 1; texts and numbers are mixed"),
        ({"op": [b"read"] * 3}, "request 0: op is b'read'"),
        ({"op": pd.Series(["read", None, "read"], dtype="category")}, "request 1: op is missing"),
        ({"op": pa.array(["read", None, "read"]).dictionary_encode()}, "request 1: op is missing"),
        ({"offset": -512}, "offset is -512"),
        ({"offset": 2**64}, "offset is 18446744073709551616"),
        ({"offset": "512"}, "offset is '512'; a whole number is needed"),
        ({"offset": [0, -512, 0]}, "request 1: offset is -512"),
        ({"offset": [0, 2**64, 0]}, "request 1: offset is 18446744073709551616"),
        ({"offset": [0, None, 0]}, "request 1: offset is missing"),
        ({"offset": [0, 0.5, 0]}, "request 1: offset is 0.5; a whole number is needed"),
        ({"offset": [datetime.datetime(2026, 1, 1)] * 3}, "request 0: offset is datetime"),
        ({"offset": np.array(["2026-01-01"] * 3, "M8[ns]")}, "not values of type datetime64[ns]"),
        ({"offset": np.zeros((10, 10), dtype=int)}, "offset: a column has one dimension, not 2"),
        ({"offset": np.array([0, 512, -512])}, "request 2: offset is -512; it is negative"),
        ({"offset": np.array([0, 512, 0.5])}, "request 2: offset is 0.5; a whole number is needed"),
        ({"offset": pd.Series([0, None, 0])}, "request 1: offset is missing"),
        ({"offset": pl.Series([0, None, 0])}, "request 1: offset is missing"),
        ({"offset": pl.Series([0.0, 512.0, 0.5])}, "request 2: offset is 0.5"),
        ({"offset": pa.chunked_array([[0], [0, -1]])}, "request 2: offset is -1; it is negative"),
        ({"offset": np.ma.array([0, 1, 2], mask=[0, 1, 0])}, "request 1: offset is missing"),
        ({"offset": pl.DataFrame({"a": [1, 2, 3]})}, "offset: a column is needed, not a table"),
        ({"offset": []}, "offset: 0 values for 3 requests"),
        ({"table": [1, 2]}, "table: it has columns by name"),
        ({"stream": 70_000}, "stream 70000"),
        ({"placement": [0, 1, 65_536]}, "request 2: placement 65536: there are 0 to 65,535"),
        ({"placement": [0, 1]}, "placement: 2 values for 3 requests"),
        ({"flags": 24}, "flags: there are 1"),
    ],
)
def test_wrong_columns_are_refused(columns: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"at_ns": [0, 5, 9], "op": "read", "offset": 0, "nbytes": 4096}
    with pytest.raises(fy.ConfigError) as caught:
        fy.requests(**{**given, **columns})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "offset",
    [
        [0.0, 4096.0, 8192.0],
        np.array([0, 4096, 8192], dtype=float),
        np.array([0, 4096, 8192], dtype=">i8"),
        np.array([0, 4096, 8192], dtype=np.float16),
        pd.Series([0, 4096, None, 8192]).dropna(),
        pd.Series([0, 4096, 8192], dtype="Int64"),
        pl.Series([0.0, 4096.0, 8192.0]),
        duckdb.sql("select 4096 * range as offset from range(3)"),
        range(0, 8193, 4096),
    ],
)
def test_whole_numbers_of_other_types_are_taken(offset: Any) -> None:
    given = {"at_ns": 0, "op": np.uint8(0), "nbytes": np.int64(4096), "stream": np.array(0)}
    wanted = fy.requests(at_ns=0, op="read", offset=[0, 4096, 8192], nbytes=4096)
    assert fy.requests(offset=offset, **given) == wanted


def test_tables_of_other_kinds_give_their_columns() -> None:
    wanted = fy.requests(at_ns=[0, 1000], op="read", offset=[0, 512], nbytes=512)
    rows = duckdb.sql(
        "select range * 1000 as at_ns, 'read' as op, range * 512 as 'offset', 512 as nbytes "
        "from range(2)"
    )
    assert fy.requests(rows) == wanted
    assert fy.requests(rows.pl().lazy()) == wanted
    assert fy.requests(pa.table(rows.pl()).to_reader()) == wanted
    fields = [("at_ns", "i8"), ("op", "u1"), ("offset", "i8"), ("nbytes", "i8")]
    assert fy.requests(np.array([(0, 0, 0, 512), (1000, 0, 512, 512)], dtype=fields)) == wanted


def test_no_requests_are_a_workload() -> None:
    none = fy.requests(at_ns=[], op=[], offset=[], nbytes=[])
    assert fy.run("embedded-2x2", none)["all.count"] == 0


def test_a_missing_column_is_named() -> None:
    with pytest.raises(fy.ConfigError, match="offset"):
        fy.requests({"at_ns": [0], "op": ["read"], "nbytes": [512]})
