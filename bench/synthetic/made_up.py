"""A table that is made up, of the shape of a public excerpt of the American Community Survey: 27,253 rows, 10 columns.

Prints codes, with `name:size` for each column in the first line. The same in every run.
"""

import random

SIZES = {
    "age": 100, "sex": 2, "married": 7, "race": 9, "housing": 3, "tenure": 3,
    "education": 13, "income": 11, "veteran": 7, "sight": 2,
}  # fmt: skip
ROWS = 27_253


def row(chance: random.Random) -> list[int]:
    """One person: each attribute depends on some before it, as in life."""
    age = min(99, int(chance.triangular(0, 100, 38)))
    sex = chance.randrange(2)
    married = 0 if age < 16 else min(6, int(chance.gauss(1 + age / 30, 1.2))) if chance.random() < 0.8 else 6
    race = chance.choices(range(9), [60, 13, 1, 1, 1, 6, 1, 9, 8])[0]
    housing = 0 if chance.random() < 0.93 else 1 + (age > 70)
    tenure = 2 if housing else chance.choices([0, 1], [35 + age, 40 + 30 * (race > 0)])[0]
    education = min(12, int(age / 3)) if age < 24 else int(chance.triangular(0, 13, 9 - 3 * (age > 75) - (race in (1, 7))))
    income = 0 if age < 15 else min(10, max(1, int(chance.gauss(1 + education * 0.5 + 0.8 * (1 - sex) + 1.5 * (30 < age < 65), 2))))
    veteran = 0 if age < 17 else chance.choices(range(1, 7), [90, 1, 1, 1, 2, 1 + (age - 17) / 8 * (1 - sex)])[0]
    sight = int(chance.random() < 0.01 + age / 1000)
    values = [age, sex, married, race, housing, tenure, education, income, veteran, sight]
    return [max(0, min(value, size - 1)) for value, size in zip(values, SIZES.values())]


def main() -> None:
    chance = random.Random(2026)
    print(",".join(f"{name}:{size}" for name, size in SIZES.items()))
    for _ in range(ROWS):
        print(",".join(map(str, row(chance))))


if __name__ == "__main__":
    main()
