"""The peers, each as its documentation says to do it, in its own environment, one figure a process:

    peers.py opendp groups|draws | smartnoise groups | diffprivlib groups|classifier | accounting epsilon | opacus classifier    FOLDER

The table is in memory in the form that the peer likes best before time is taken: a lazy frame of Polars, a data frame of pandas. Each call begins
with it and ends with the rows of the answer. Prints one JSON object a line.
"""

import sys
import warnings
from importlib.metadata import version
from pathlib import Path

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

NAMES = [f"group-{number:02}" for number in range(100)]
GRID_EXPONENT = -20


def opendp_groups(folder: Path) -> None:
    """The context of its Polars interface. Every row is a person; names of groups are public. A mean is the noisy sum over the noisy count."""
    import opendp.prelude as dp
    import polars

    dp.enable_features("contrib")
    rows = polars.read_ipc(folder / "rows.arrow", memory_map=False)
    keys = polars.LazyFrame({"grp": NAMES})
    counted: list[float] = []

    def ask(_: int) -> None:
        context = dp.Context.compositor(
            data=rows.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["grp"], max_length=len(rows), max_groups=len(NAMES))],
        )
        amount = polars.col("x").fill_nan(0.0).fill_null(0.0)
        query = context.query().group_by("grp").agg(dp.len(signed=False).alias("n"), amount.dp.sum(BOUNDS).alias("total"))
        answer = query.with_keys(keys).release().collect().with_columns(mean=polars.col("total") / polars.col("n"))
        counted[:] = [len(answer), answer["n"].sum()]

    seconds = repeat(ask, enough_seconds=6)
    tell("groups", "OpenDP", version("opendp"), seconds, variant="Polars context, each row a unit", groups=counted[0], rows_counted=counted[1])


def smartnoise_groups(folder: Path) -> None:
    """A connection to a data frame of pandas; each row a person, which is less work for it than a column of persons."""
    import pyarrow.ipc
    import snsql

    rows = pyarrow.ipc.open_file(folder / "rows.arrow").read_all().select(["grp", "x"]).to_pandas()
    table = {
        "row_privacy": True,
        "censor_dims": False,
        "grp": {"type": "string"},
        "x": {"type": "float", "lower": BOUNDS[0], "upper": BOUNDS[1]},
    }
    metadata = {"": {"public": {"t": table}}, "engine": "pandas"}
    counted: list[float] = []

    def ask(_: int) -> None:
        # Its ε is one of each statistic: a count of rows, and a sum and a count for the mean.
        privacy = snsql.Privacy(epsilon=EPSILON / 3, delta=0.0)
        reader = snsql.from_connection(rows, engine="pandas", privacy=privacy, metadata=metadata)
        answer = reader.execute("SELECT grp, COUNT(*) AS n, AVG(x) AS mean FROM public.t GROUP BY grp")[1:]
        counted[:] = [len(answer), sum(row[1] for row in answer)]

    seconds = repeat(ask, enough_seconds=6)
    tell("groups", "SmartNoise SQL", version("smartnoise-sql"), seconds, variant="pandas, each row a unit", groups=counted[0], rows_counted=counted[1])


def diffprivlib_groups(folder: Path) -> None:
    """It has no GROUP BY: pandas makes the groups, which are disjoint, so that each may take the whole budget. Its mean takes the number of rows as public."""
    import numpy
    import pyarrow.ipc
    from diffprivlib import BudgetAccountant, tools

    rows = pyarrow.ipc.open_file(folder / "rows.arrow").read_all().to_pandas()
    counted: list[float] = []

    def ask(_: int) -> None:
        of_group = {name: values.to_numpy() for name, values in rows.groupby("grp")["x"]}
        answer = []
        for name in NAMES:
            values = of_group.get(name, numpy.empty(0))
            budget = BudgetAccountant(epsilon=EPSILON, delta=0)
            count = tools.count_nonzero(numpy.ones_like(values), epsilon=EPSILON / 2, accountant=budget)
            mean = tools.mean(values, epsilon=EPSILON / 2, bounds=BOUNDS, accountant=budget)
            answer.append((name, int(count), float(mean)))
        counted[:] = [len(answer), sum(row[1] for row in answer)]

    tell("groups", "diffprivlib", version("diffprivlib"), repeat(ask), variant="a call a group", groups=counted[0], rows_counted=counted[1])


def opendp_draws(_: Path) -> None:
    """Vectors in one call, from a list to an array of NumPy: whole numbers, floats on a grid, and floats on its default grid, the finest there is."""
    import numpy
    import opendp.prelude as dp

    dp.enable_features("contrib")
    integers, reals = dp.atom_domain(T=int), dp.atom_domain(T=float, nan=False)

    def draw(measurement, values: list) -> None:
        assert len(numpy.array(measurement(values))) == len(values)

    made = dp.m.make_gaussian(dp.vector_domain(integers), dp.l2_distance(T=int), MULTIPLIER)
    whole = [1234] * DRAWS
    tell("draws", "OpenDP", version("opendp"), repeat(lambda _: draw(made, whole), enough_seconds=12), variant="integers")
    # Off its finest grid it must know the length of the vector.
    space = dp.vector_domain(reals, size=DRAWS), dp.l2_distance(T=float)
    gridded = dp.m.make_gaussian(*space, MULTIPLIER, k=GRID_EXPONENT)
    floats = [1234.5] * DRAWS
    tell("draws", "OpenDP", version("opendp"), repeat(lambda _: draw(gridded, floats), enough_seconds=12), variant="floats, grid 2^-20")
    # A fiftieth of the draws, and fifty times the seconds: all of them take minutes.
    finest = dp.m.make_gaussian(dp.vector_domain(reals, size=DRAWS // 50), dp.l2_distance(T=float), MULTIPLIER)
    seconds = repeat(lambda _: draw(finest, floats[: DRAWS // 50]), enough_seconds=6).times(50)
    tell("draws", "OpenDP", version("opendp"), seconds, variant="floats, default grid", extrapolated_from=DRAWS // 50)


def accounting_epsilon(_: Path) -> None:
    """dp-accounting, from parameters to ε, with a fresh accountant and another sampling rate each time; at its default grid."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    def event(number: int):
        step = dp_accounting.PoissonSampledDpEvent(BATCH / (SIZE + number), dp_accounting.GaussianDpEvent(SIGMA))
        return dp_accounting.SelfComposedDpEvent(step, STEPS)

    for variant, accountant in (("PLD", PLDAccountant), ("RDP", RdpAccountant)):
        found: list[float] = []

        def ask(number: int) -> None:
            found.append(accountant().compose(event(number)).get_epsilon(STEP_DELTA))

        seconds = repeat(ask, most=9, enough_seconds=5)
        tell("epsilon", "dp-accounting", version("dp-accounting"), seconds, variant=variant, epsilon=found[0])


def diffprivlib_classifier(folder: Path) -> None:
    """Logistic regression by objective perturbation, pure ε; the norm of a row is public: one of each number at most, one of each category."""
    import data
    from diffprivlib.models import LogisticRegression

    learned, held_out = data.split(str(folder / "adult.npz"))
    features, features_out = data.encoded(learned), data.encoded(held_out)
    norm = (len(data.NUMBERS) + len(data.CATEGORIES)) ** 0.5
    # The strength of its regularisation, which decides how far noise carries it.
    for strength in (1.0, 0.1, 0.03, 0.01, 0.003, 0.001):
        timed, accuracies = Timed(), []
        for _ in range(FITS):
            model = LogisticRegression(epsilon=CLASSIFIER_EPSILON, data_norm=norm, C=strength, max_iter=1000)
            timed.call(lambda: model.fit(features, learned["label"]))
            accuracies.append(float((model.predict(features_out) == held_out["label"]).mean()))
        tell("classifier", "diffprivlib", version("diffprivlib"), timed, variant=f"C = {strength}", accuracies=accuracies)


def opacus_classifier(folder: Path) -> None:
    """A logistic regression and a network with one hidden layer, by DP-SGD on the processor."""
    import data
    import torch
    from opacus import PrivacyEngine

    # A model this small is several times faster on one thread than on more.
    torch.set_num_threads(1)
    learned, held_out = data.split(str(folder / "adult.npz"))
    features = torch.tensor(data.encoded(learned), dtype=torch.float32)
    labels = torch.tensor(learned["label"])
    features_out = torch.tensor(data.encoded(held_out), dtype=torch.float32)
    width = features.shape[1]
    # Hidden units, batch, epochs, optimizer, rate.
    grid = [
        (0, 512, 5, "sgd", 1.0),
        (0, 1024, 10, "sgd", 2.0),
        (0, 1024, 10, "adam", 0.02),
        (0, 4096, 20, "sgd", 4.0),
        (32, 1024, 10, "adam", 0.005),
        (32, 1024, 10, "sgd", 0.5),
    ]
    for hidden, batch, epochs, kind, rate in grid:
        timed, accuracies = Timed(), []
        for seed in range(2):
            torch.manual_seed(seed)
            if hidden:
                model = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))
            else:
                model = torch.nn.Sequential(torch.nn.Linear(width, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.0) if kind == "sgd" else torch.optim.Adam(model.parameters(), lr=rate)
            rows = torch.utils.data.TensorDataset(features, labels)
            private: list[torch.nn.Module] = []

            def fit() -> None:
                made, stepper, loader = PrivacyEngine().make_private_with_epsilon(
                    module=model,
                    optimizer=optimizer,
                    data_loader=torch.utils.data.DataLoader(rows, batch_size=batch),
                    target_epsilon=CLASSIFIER_EPSILON,
                    target_delta=CLASSIFIER_DELTA,
                    epochs=epochs,
                    max_grad_norm=1.0,
                )
                loss = torch.nn.CrossEntropyLoss()
                for _ in range(epochs):
                    for some, some_labels in loader:
                        stepper.zero_grad()
                        loss(made(some), some_labels).backward()
                        stepper.step()
                private.append(made)

            timed.call(fit)
            with torch.no_grad():
                found = private[0](features_out).argmax(dim=1).numpy()
            accuracies.append(float((found == held_out["label"]).mean()))
        variant = f"{f'hidden layer of {hidden}' if hidden else 'logistic regression'}, batch {batch}, {epochs} epochs, {kind} {rate}"
        tell("classifier", "Opacus", version("opacus"), timed, variant=variant, accuracies=accuracies, torch=version("torch"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _, tool, figure, place = sys.argv
    globals()[f"{tool}_{figure}"](Path(place))
