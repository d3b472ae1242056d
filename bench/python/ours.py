"""Deniable's side, one figure a process:

    ours.py groups|memory|draws|epsilon|classifier FOLDER

Prints one JSON object a line.
"""

import sys
import tempfile
from pathlib import Path

import deniable
from common import (
    BATCH,
    BOUNDS,
    CLASSIFIER_DELTA,
    CLASSIFIER_EPSILON,
    DRAWS,
    EPSILON,
    FITS,
    MULTIPLIER,
    SIGMA,
    SIZE,
    STEP_DELTA,
    STEPS,
    Timed,
    repeat,
    tell,
)

TOOL = "Deniable"
SQL = "SELECT grp, COUNT(*) AS n, AVG(x) AS mean FROM t GROUP BY grp"


def table(folder: Path):
    """The table in memory: read, not mapped, so that its bytes are the process's own."""
    import pyarrow
    import pyarrow.ipc

    with pyarrow.OSFile(str(folder / "rows.arrow")) as file:
        return pyarrow.ipc.open_file(file).read_all()


def dataset(rows, names: list[str], unit: str | None = "unit", **more: object) -> deniable.Dataset:
    once = {} if unit is None else {"rows_per_unit": 1}
    return deniable.from_arrow(
        {"t": rows},
        unit=unit,
        epsilon=10,
        bounds={"x": BOUNDS},
        values={"grp": names},
        not_null=["grp", "x", "unit"],
        **once,
        **more,
    )


def groups(folder: Path) -> None:
    """From the table to the rows of the answer. Each call is a dataset of its own, so nothing was asked before."""
    from data import GROUPS

    rows = table(folder)
    answers: list[deniable.Answer] = []

    def ask(unit: str | None, **more: object) -> None:
        answer = dataset(rows, GROUPS, unit, **more).sql(SQL, epsilon=EPSILON)
        assert len(answer.rows) == len(GROUPS) and not answer.repeated
        answers[:] = [answer]

    seconds = repeat(lambda _: ask("unit"))
    first = answers[0].rows
    sane = {"groups": len(first), "rows_counted": sum(row["n"] for row in first)}
    tell("groups", TOOL, deniable.__version__, seconds, variant="unit column, one row a unit", **sane)
    tell("groups", TOOL, deniable.__version__, repeat(lambda _: ask(None)), variant="each row a unit")
    with tempfile.TemporaryDirectory() as place:
        seconds = repeat(lambda number: ask("unit", ledger=f"{place}/{number}.ledger"))
        tell("groups", TOOL, deniable.__version__, seconds, variant="unit column, durable ledger")
    asked = dataset(rows, GROUPS)
    # The same dataset, another ε each time: what a further question costs.
    seconds = repeat(lambda number: asked.sql(SQL, epsilon=f"0.{100 + number}").rows)
    tell("groups", TOOL, deniable.__version__, seconds, variant="unit column, a further question")


def memory(folder: Path) -> None:
    """What a process takes when it asks, beyond what it had with the table and the package in it."""
    from data import GROUPS

    if "warm" in sys.argv[3:]:
        # Pages of the program's code are counted too; a question about four rows touches most of them before.
        tiny = {"unit": [1, 2, 3, 4], "grp": GROUPS[:4], "x": [1.0, 2.0, 3.0, 4.0]}
        dataset(tiny, GROUPS).sql(SQL, epsilon=EPSILON)
    rows = table(folder)
    asked = dataset(rows, GROUPS)
    # The peak begins anew here, so that it is that of the question.
    Path("/proc/self/clear_refs").write_text("5")
    before = status()
    timed = Timed()
    timed.call(lambda: asked.sql(SQL, epsilon=EPSILON))
    after = status()
    told = {
        "table_bytes": rows.nbytes,
        "before_bytes": before["VmRSS"],
        "peak_bytes": after["VmHWM"],
        "after_bytes": after["VmRSS"],
        "before_anonymous_bytes": before["RssAnon"],
        "after_anonymous_bytes": after["RssAnon"],
        "before_file_bytes": before["RssFile"],
        "after_file_bytes": after["RssFile"],
    }
    tell("memory", TOOL, deniable.__version__, timed, variant="warm" if "warm" in sys.argv[3:] else "cold", **told)


def status() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith(" kB")}


def draws(_: Path) -> None:
    """A million draws in one charged release, into an array of NumPy."""
    import numpy
    from deniable.mechanisms import Account

    reals, integers = numpy.full(DRAWS, 1234.5), numpy.full(DRAWS, 1234, dtype=numpy.int64)

    def draw(values: numpy.ndarray, **noise: object) -> None:
        account = Account(epsilon=10, delta=1e-6)
        drawn = account.gaussian(values, sensitivity=1, **noise).value
        assert isinstance(drawn, numpy.ndarray) and len(drawn) == DRAWS

    tell("draws", TOOL, deniable.__version__, repeat(lambda _: draw(reals, noise_multiplier=MULTIPLIER)), variant="floats")
    tell("draws", TOOL, deniable.__version__, repeat(lambda _: draw(integers, noise_multiplier=MULTIPLIER)), variant="integers")


def epsilon(_: Path) -> None:
    """From parameters to ε, with a fresh accountant and another sampling rate each time."""
    from deniable.accounting import Accountant, Gaussian, PoissonSampled

    found: list[float] = []

    def ask(number: int) -> None:
        event = PoissonSampled(BATCH / (SIZE + number), Gaussian(SIGMA))
        found.append(Accountant().compose(event, STEPS).get_epsilon(STEP_DELTA))

    first = Timed()
    first.call(lambda: ask(0))
    tell("epsilon", TOOL, deniable.__version__, repeat(ask, most=20), epsilon=found[0], first_call=first.wall[0])


def classifier(folder: Path) -> None:
    """Its own defaults, without any search; and half as many steps with batches of the same size, which takes half of the time."""
    import data
    from deniable.train import PrivateClassifier

    import pandas

    learned, held_out = data.split(str(folder / "adult.npz"))
    label, label_out = learned.pop("label"), held_out.pop("label")
    rows, rows_out = pandas.DataFrame(learned), pandas.DataFrame(held_out)
    for variant, settings in (("usual settings", {}), ("200 steps of 1,219 rows", {"steps": 200, "batch_size": 1_219})):
        timed, accuracies = Timed(), []
        for _ in range(FITS):
            model = PrivateClassifier(
                epsilon=CLASSIFIER_EPSILON,
                delta=CLASSIFIER_DELTA,
                bounds=data.NUMBERS,
                categories={name: list(range(count)) for name, count in data.CATEGORIES.items()},
                classes=[0, 1],
                size=39_000,
                progress=False,
                **settings,
            )
            timed.call(lambda: model.fit(rows, label))
            accuracies.append(float((model.predict(rows_out) == label_out).mean()))
        tell("classifier", TOOL, deniable.__version__, timed, accuracies=accuracies, variant=variant)


if __name__ == "__main__":
    figures = {"groups": groups, "memory": memory, "draws": draws, "epsilon": epsilon, "classifier": classifier}
    figures[sys.argv[1]](Path(sys.argv[2]))
