"""Writes the data of the bench, always the same:

    data.py FOLDER

  rows.arrow   a million rows (unit, grp, x): each row another person, one of 100 texts, a number from 0 to 100
  adult.npz    48,842 invented persons with the columns of the census data "Adult": numbers, codes of categories, a label that about 24 % have

Both are read by everybody. A file that is there already is kept.
"""

import sys
from pathlib import Path

import numpy

ROWS = 1_000_000
GROUPS = [f"group-{number:02}" for number in range(100)]
PERSONS, HELD_OUT = 48_842, 9_768

# Numbers with public bounds, and how many categories the other columns have.
NUMBERS = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 100_000),
    "capital_loss": (0, 5_000),
    "hours_per_week": (1, 99),
}
CATEGORIES = {
    "workclass": 8,
    "education": 16,
    "marital_status": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native_country": 41,
}


def write_rows(file: Path) -> None:
    import pyarrow
    import pyarrow.ipc

    generator = numpy.random.default_rng(1)
    group = generator.integers(0, len(GROUPS), ROWS)
    x = numpy.clip(generator.normal(30 + group % 40, 15), 0, 100)
    names = pyarrow.array(GROUPS).take(pyarrow.array(group)).cast(pyarrow.string())
    table = pyarrow.table({"unit": pyarrow.array(numpy.arange(ROWS)), "grp": names, "x": pyarrow.array(x)})
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def adult() -> dict[str, numpy.ndarray]:
    """A label that depends on the columns roughly as an income does: mostly linear, with a few products of columns."""
    generator = numpy.random.default_rng(2)
    size = PERSONS

    def category(count: int, skew: float) -> numpy.ndarray:
        weights = 1 / numpy.arange(1, count + 1) ** skew
        return generator.choice(count, size, p=weights / weights.sum())

    age = numpy.clip(17 + generator.gamma(3.2, 6.8, size), 17, 90).round()
    codes = {
        "workclass": category(8, 1.6),
        "marital_status": category(7, 1.0),
        "occupation": generator.integers(0, 14, size),
        "race": category(5, 2.0),
        "sex": (generator.random(size) < 0.33).astype(int),
        "native_country": category(41, 2.2),
    }
    education_num = numpy.clip(generator.normal(10.1, 2.6, size).round(), 1, 16)
    codes["education"] = education_num.astype(int) - 1
    married = codes["marital_status"] == 0
    codes["relationship"] = numpy.where(married, numpy.where(codes["sex"] == 0, 0, 1), generator.integers(2, 6, size))
    gains = generator.random(size) < 0.08
    capital_gain = numpy.where(gains, numpy.clip(generator.lognormal(8.6, 1.1, size), 100, 99_999), 0).round()
    losses = ~gains & (generator.random(size) < 0.05)
    capital_loss = numpy.where(losses, numpy.clip(generator.normal(1870, 380, size), 150, 4_400), 0).round()
    hours = numpy.clip(generator.normal(40.4, 12.3, size), 1, 99).round()

    of_occupation = numpy.linspace(-0.9, 1.1, 14)[codes["occupation"]]
    score = (
        -2.95
        + 2.1 * married
        + 0.36 * (education_num - 10)
        + 0.045 * (age - 38)
        - 0.0016 * (age - 52) ** 2 * (age > 52)
        + 0.032 * (hours - 40)
        + 1.1 * of_occupation
        + 0.25 * (codes["sex"] == 0)
        + 2.4 * (capital_gain > 5_000)
        + 0.8 * (capital_loss > 1_700)
        + 0.5 * married * (education_num > 12)
        + numpy.where(codes["native_country"] > 3, -0.3, 0.1)
    )
    label = (generator.random(size) < 1 / (1 + numpy.exp(-1.3 * score))).astype(int)
    columns = {
        "age": age,
        "education_num": education_num,
        "capital_gain": capital_gain,
        "capital_loss": capital_loss,
        "hours_per_week": hours,
        **{name: codes[name].astype(numpy.int64) for name in CATEGORIES},
        "label": label.astype(numpy.int64),
    }
    order = generator.permutation(size)
    return {name: column[order] for name, column in columns.items()}


def encoded(columns: dict[str, numpy.ndarray]) -> numpy.ndarray:
    """What libraries without declared columns are given: numbers scaled by their public bounds, categories as zeros and ones."""
    parts = [((columns[name] - low) / (high - low))[:, None] for name, (low, high) in NUMBERS.items()]
    parts += [numpy.eye(count)[columns[name]] for name, count in CATEGORIES.items()]
    return numpy.hstack(parts)


def split(file: str) -> tuple[dict[str, numpy.ndarray], dict[str, numpy.ndarray]]:
    """Columns to learn from, and columns to test with."""
    with numpy.load(file) as archive:
        columns = {name: archive[name] for name in archive.files}
    learned = PERSONS - HELD_OUT
    return ({name: column[:learned] for name, column in columns.items()}, {name: column[learned:] for name, column in columns.items()})


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    table_file, adult_file = folder / "rows.arrow", folder / "adult.npz"
    if not table_file.exists():
        write_rows(table_file.with_suffix(".new"))
        table_file.with_suffix(".new").rename(table_file)
    if not adult_file.exists():
        numpy.savez(folder / "adult.new.npz", **adult())
        (folder / "adult.new.npz").rename(adult_file)
