"""Writes a public excerpt of the American Community Survey (national2019.csv or ma2019.csv of NIST's collaborative research cycle) as codes for `BENCH_TABLE`.

excerpt.py FILE.csv demographic    10 columns: the set that NIST calls demographic-focused
excerpt.py FILE.csv simple         21 columns: the set that NIST calls simple-features
"""

import bisect
import csv
import sys

DEMOGRAPHIC = "AGEP SEX MSP RAC1P HOUSING_TYPE OWN_RENT EDU PINCP_DECILE DVET DEYE".split()
SIMPLE = (
    "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP_CAT EDU PINCP PINCP_DECILE POVPIP DVET DREM DPHY DEYE DEAR"
).split()
# Bins that say nothing of the data: steps of 2,500 up to 40,000, and wider ones above; twentieths of what SDNist calls poverty.
INCOMES = [-0.5, 0.5, *range(2_500, 40_001, 2_500), *range(45_000, 60_001, 5_000), *range(70_000, 100_001, 10_000)]
INCOMES += [120_000, 140_000, 170_000, 200_000, 250_000, 300_000, 400_000]
DENSITIES = [150 * 1.5**step for step in range(14)]
BINS = {"PINCP": INCOMES, "POVPIP": [*range(25, 501, 25), 501], "DENSITY": DENSITIES, "AGEP": list(range(1, 100))}
MARKS = {"AGEP": ":number", "PINCP": ":number", "POVPIP": ":number", "PUMA": ":group"}


def codes(name: str, values: list[str]) -> tuple[int, list[int]]:
    """How many codes a column has, and that of each row; what is missing has one of its own where bins are declared."""
    if name in BINS:
        missing = int("N" in values)
        bins = BINS[name]
        return len(bins) + 1 + missing, [0 if value == "N" else missing + bisect.bisect_right(bins, float(value)) for value in values]
    found = {value: code for code, value in enumerate(sorted(set(values)))}
    return len(found), [found[value] for value in values]


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[2] not in ("demographic", "simple"):
        sys.exit((__doc__ or "").strip())
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    names = DEMOGRAPHIC if sys.argv[2] == "demographic" else SIMPLE
    columns = {name: codes(name, [row[name] for row in rows]) for name in names}
    print(",".join(f"{name}:{size}{MARKS.get(name, '')}" for name, (size, _) in columns.items()))
    for row in zip(*(column for _, column in columns.values())):
        print(",".join(map(str, row)))


if __name__ == "__main__":
    main()
