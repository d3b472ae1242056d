"""Writes the Parquet files of this directory: the same rows by pyarrow, DuckDB and Polars, with all that these say about their files.

Run once, with `pip install pyarrow duckdb polars`; the files are checked in, and this is how they were made.
`whole.parquet` holds everybody, `part0` to `part2` hold some people each, and each person is in exactly one of them.
"""

import datetime
import math
import pathlib
import struct

import duckdb
import polars
import pyarrow
import pyarrow.parquet

HERE = pathlib.Path(__file__).parent
PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF800000000BEEF))[0]
MINUS_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
LONG = "x" * 5000

# Who, x, y, s, d. The first part has NaN and 1.0 alone in x, the second negative zeros, the third is one person whose values are unlike all others.
DAY = datetime.date(2024, 1, 31)
part0 = [(p, math.nan if p % 2 else 1.0, p, f"n{p}", DAY) for p in range(1, 21)]
part0 += [(3, PAYLOAD, -(2**63), "e\u0301", None), (4, MINUS_NAN, 2**63 - 1, "\u00e9", datetime.date(1, 1, 1))]
part1 = [(p, -0.0, 0, "", datetime.date(9999, 12, 31)) for p in range(21, 31)]
part1 += [(22, 5e-324, -1, LONG, DAY), (23, None, None, None, None), (23, -math.inf, 7, "E\u0301", DAY)]
part2 = [(31, 50.0, 5, "n9", DAY), (31, 0.0, 0, "A", DAY), (31, math.inf, 10, "\u0000", datetime.date(1970, 1, 1))]
parts = {"part0": part0, "part1": part1, "part2": part2, "whole": part0 + part1 + part2}

schema = pyarrow.schema(
    [
        ("u", pyarrow.int64()),
        ("x", pyarrow.float64()),
        ("y", pyarrow.int64()),
        ("s", pyarrow.string()),
        ("d", pyarrow.date32()),
    ]
)
for writer in ["pyarrow", "duckdb", "polars"]:
    (HERE / writer).mkdir(exist_ok=True)
for name, rows in parts.items():
    columns = [pyarrow.array(list(column), type=field.type) for column, field in zip(zip(*rows), schema)]
    table = pyarrow.Table.from_arrays(columns, schema=schema)
    pyarrow.parquet.write_table(
        table,
        HERE / "pyarrow" / f"{name}.parquet",
        row_group_size=64,
        data_page_size=64,
        write_statistics=True,
        write_page_index=True,
        use_dictionary=["s"],
        sorting_columns=[pyarrow.parquet.SortingColumn(0)],
        bloom_filter_options={"x": True, "y": True, "s": True},
    )
    duckdb.register("rows", table)
    duckdb.execute(f"COPY rows TO '{HERE / 'duckdb' / name}.parquet' (FORMAT parquet, DICTIONARY_SIZE_LIMIT 100000)")
    duckdb.unregister("rows")
    polars.from_arrow(table).write_parquet(
        HERE / "polars" / f"{name}.parquet", row_group_size=8, data_page_size=64, statistics="full"
    )
