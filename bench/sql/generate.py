"""Writes the data of the benchmark: deterministic, in row groups, so that a hundred million rows need no memory to speak of.

    generate.py --rows 20000000 --units 1000000 --layout scattered OUTPUT.parquet

A row is (unit, grp, x, n): whose it is, one of 100 texts, a float, an integer. Three layouts:
  single     every row is a unit of its own
  clustered  units have rows/units rows on average; the rows of a unit lie next to each other
  scattered  the same rows in no order

Groups are drawn independently of units, so nearly every row of a unit is in another group: the worst case for whoever bounds groups.
The ending of the name decides the format, .parquet or .csv. A file that is there already is kept.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy
import pyarrow
import pyarrow.csv
import pyarrow.parquet

CHUNK = 1 << 20
GROUPS = [f"group-{number:02}" for number in range(100)]
SCHEMA = pyarrow.schema(
    [("unit", pyarrow.int64()), ("grp", pyarrow.string()), ("x", pyarrow.float64()), ("n", pyarrow.int64())]
)


def units(layout: str, rows: int, count: int) -> numpy.ndarray:
    """Whose row each one is. Four bytes a row are the only thing here that grows with the rows."""
    if layout == "single":
        return numpy.arange(rows, dtype=numpy.int32)
    drawn = numpy.random.default_rng(1).integers(0, count, rows, dtype=numpy.int32)
    if layout == "clustered":
        drawn.sort()
    return drawn


def chunks(layout: str, rows: int, count: int) -> Iterator[pyarrow.RecordBatch]:
    owners = units(layout, rows, count)
    names = pyarrow.array(GROUPS)
    for start in range(0, rows, CHUNK):
        generator = numpy.random.default_rng([2, start])
        size = min(CHUNK, rows - start)
        columns = [
            pyarrow.array(owners[start : start + size].astype(numpy.int64)),
            names.take(pyarrow.array(generator.integers(0, len(GROUPS), size))),
            # Amounts with a long tail: one in 150 is above the bound of 100 that the queries clamp to.
            pyarrow.array(generator.exponential(20.0, size)),
            pyarrow.array(generator.integers(0, 1000, size)),
        ]
        yield pyarrow.record_batch(columns, schema=SCHEMA)


def write(output: Path, layout: str, rows: int, count: int) -> None:
    if output.exists():
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    # A run that is stopped leaves no half of a file under the name that the next one trusts.
    partial = output.with_name(f"{output.name}.partial")
    if output.suffix == ".csv":
        writer = pyarrow.csv.CSVWriter(partial, SCHEMA, write_options=pyarrow.csv.WriteOptions(quoting_style="none"))
    else:
        writer = pyarrow.parquet.ParquetWriter(partial, SCHEMA)
    with writer:
        for batch in chunks(layout, rows, count):
            writer.write_batch(batch)
    partial.rename(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--layout", choices=["single", "clustered", "scattered"], required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--units", type=int, required=True)
    arguments = parser.parse_args()
    write(arguments.output, arguments.layout, arguments.rows, arguments.units)
