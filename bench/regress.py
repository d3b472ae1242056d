"""Linear regression at equal epsilon: `deniable regress --release`, AdaSSP, and least squares without privacy, on the public files of DD-SSP.

Reads the files of a checkout of github.com/ceciliaferrando/DD-SSP, draws nothing of its own but AdaSSP's noise, and writes mean squared errors and R^2 of the test rows, of the
response scaled to [-1, 1] as that paper has it, for five seeds (five ledgers).
"""

import argparse
import csv
import json
import os
import subprocess
import tempfile

import numpy as np

TARGETS = {"adult": "education-num", "ACSincome-LIN": "PINCP"}
# What that paper encodes one-hot; all else is a number.
FACTORS = {
    "adult": ["workclass", "education", "marital-status", "occupation", "relationship", "race", "native-country"],
    "ACSincome-LIN": ["COW", "MAR", "RELP", "RAC1P"],
}


def rows(path):
    with open(path, newline="") as file:
        reader = csv.reader(file)
        return next(reader), np.array([[int(float(value)) for value in row] for row in reader])


def design(values, sizes, factors):
    """An intercept, all values but the first of factors, and numbers scaled to [-1, 1]."""
    parts = [np.ones((len(values), 1))]
    for column, size in enumerate(sizes):
        if column in factors:
            parts.append((values[:, [column]] == np.arange(1, size)).astype(float))
        else:
            parts.append(2 * values[:, [column]] / (size - 1) - 1)
    return np.hstack(parts)


def adassp(x, y, epsilon, delta, random):
    """Wang 2018, algorithm 2: thirds of (epsilon, delta), ridge by the noise; rows are scaled to length 1."""
    norm = np.sqrt((x**2).sum(axis=1).max())
    x = x / norm
    n, d = x.shape
    scale = np.sqrt(np.log(6 / delta)) / (epsilon / 3)
    least = max(np.linalg.eigvalsh(x.T @ x)[0] + scale * random.normal() - np.log(6 / delta) / (epsilon / 3), 0)
    ridge = max(0, np.sqrt(d * np.log(6 / delta) * np.log(2 * d**2 / 0.05)) / (epsilon / 3) - least)
    noise = np.triu(random.normal(size=(d, d)))
    noise = noise + np.triu(noise, 1).T
    left = x.T @ x + scale * noise + ridge * np.eye(d)
    right = x.T @ y + scale * random.normal(size=d)
    return np.linalg.solve(left, right) / norm


def catalog(name, columns, sizes, low, high, target, epsilon):
    text = f'name = "{name}"\n[unit]\nwhose = "person"\nneighbors = "add_remove"\n[budget]\nepsilon = 100\ndelta = 1e-4\nledger = "x.ledger"\n'
    text += '[tables.people]\nsource = "people.csv"\nunit = "id"\nrows_per_unit = 1\n[tables.people.columns]\nid = { kind = "int", nullable = false }\n'
    for column, size in zip(columns, sizes):
        text += f'{column} = {{ kind = "int", values = {list(range(size))}, nullable = false }}\n'
    text += f'[releases.all]\ntable = "people"\nup_to = 2\nepsilon = {epsilon}\ndelta = 1e-5\n[releases.all.attributes]\n'
    return text + "".join(f"{column} = {{}}\n" for column in columns)


def ours(deniable, name, columns, sizes, values, target, factors, epsilon):
    with tempfile.TemporaryDirectory() as folder:
        names = [f"c{place}" for place in range(len(columns))]
        np.savetxt(
            os.path.join(folder, "people.csv"),
            np.hstack([np.arange(len(values))[:, None], values]),
            fmt="%d",
            delimiter=",",
            header=",".join(["id", *names]),
            comments="",
        )
        with open(os.path.join(folder, "deniable.toml"), "w") as file:
            file.write(catalog(name, names, sizes, 0, sizes[target] - 1, target, epsilon))
        run = lambda *words: subprocess.run([deniable, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
        run("tables", "release", "all", "--quiet")
        term = lambda place: f"factor({names[place]})" if place in factors else names[place]
        terms = " + ".join(term(place) for place in range(len(columns)) if place != target)
        found = json.loads(run("regress", f"{names[target]} ~ {terms}", "--release", "all", "--json"))
        return names, {known["name"]: known["estimate"] for known in found["coefficients"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--deniable", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    results = []
    for name, target_name in TARGETS.items():
        columns, train = rows(os.path.join(arguments.data, f"{name}_train.csv"))
        _, test = rows(os.path.join(arguments.data, f"{name}_test.csv"))
        train = train[:50_000]
        sizes = [int(max(train[:, c].max(), test[:, c].max())) + 1 for c in range(len(columns))]
        target = columns.index(target_name)
        others = [c for c in range(len(columns)) if c != target]
        half = (sizes[target] - 1) / 2
        factors = [columns.index(factor) for factor in FACTORS[name]]
        encoded = [place for place, c in enumerate(others) if c in factors]
        x, x_test = (design(part[:, others], [sizes[c] for c in others], encoded) for part in (train, test))
        y, y_test = ((part[:, target] - half) / half for part in (train, test))

        def score(method, epsilon, seed, predicted):
            error = float(np.mean((predicted - y_test) ** 2))
            results.append({"data": name, "method": method, "epsilon": epsilon, "seed": seed, "mse": error, "r2": 1 - error / float(y_test.var())})
            print(results[-1], flush=True)

        score("no privacy", None, 0, x_test @ np.linalg.lstsq(x, y, rcond=None)[0])
        for epsilon in (0.5, 1.0, 2.0):
            for seed in range(arguments.seeds):
                random = np.random.default_rng(seed)
                score("adassp", epsilon, seed, x_test @ adassp(x, y, epsilon, 1e-5, random))
                try:
                    names, known = ours(arguments.deniable, name, columns, sizes, train, target, factors, epsilon)
                except subprocess.CalledProcessError as error:
                    print(name, epsilon, seed, error.stderr[-600:], flush=True)
                    continue
                predicted = np.full(len(test), known["(Intercept)"])
                for c in others:
                    if c in factors:
                        effects = np.array([known.get(f"{names[c]} {v}", 0.0) for v in range(sizes[c])])
                        predicted += effects[test[:, c]]
                    else:
                        predicted += known[names[c]] * test[:, c]
                score("deniable", epsilon, seed, (predicted - half) / half)
    with open(arguments.out, "w") as file:
        json.dump(results, file, indent=1)


main()
