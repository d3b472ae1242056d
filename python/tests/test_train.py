"""Private training from Python: estimators, ledgers, interruption, files.

Noise is never seeded here. Where a test looks at what a model learned, ε is so large and the classes are so far apart that
the noise is far below what is tested. In 60 runs of each kind the classifiers got every row right, where the tests ask for
80 to 95 in a hundred, and regressors erred by 0.4 ± 0.2, where 40 are allowed: 180 standard deviations. So the
probability of a false alarm, by the tail of the Gaussian noise, is far below 1e-9 for all of them together.
"""

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import textwrap
import threading

import pytest

import deniable
from deniable import train
from deniable.train import Interrupted, NotFittedError, PrivateClassifier, PrivateLanguageModel, PrivateRegressor

from .conftest import examples_run

np = pytest.importorskip("numpy")

LOOSE = 20.0


def rows(count=600):
    """Points of a square, above or below its diagonal with a gap between."""
    generator = np.random.default_rng(7)
    X = generator.uniform(-1, 1, size=(count, 2))
    X = X[np.abs(X.sum(axis=1)) > 0.3]
    return X, (X.sum(axis=1) > 0).astype(int)


def classifier(**changed):
    usual = dict(epsilon=LOOSE, bounds=(-1, 1), classes=[0, 1], size=500, steps=30, batch_size=200, progress=False)
    return PrivateClassifier(**{**usual, **changed})


# What is learned.


def test_a_classifier_learns_what_there_is_to_learn():
    X, y = rows()
    model = classifier().fit(X, y)
    assert model.score(X, y) > 0.95
    shares = model.predict_proba(X)
    assert shares.shape == (len(X), 2)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (model.predict(X) == model.classes_[shares.argmax(axis=1)]).all()
    assert model.n_features_in_ == 2
    assert model.epsilon_ <= LOOSE and model.delta_ == 1e-6
    assert model.receipt_["plan"]["steps"] == 30


def test_hidden_layers_learn_what_a_line_cannot():
    generator = np.random.default_rng(3)
    X = generator.uniform(-1, 1, size=(1500, 2))
    X = X[np.abs(X).min(axis=1) > 0.15]
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    line = classifier(steps=150, size=1000).fit(X, y)
    network = classifier(steps=150, size=1000, hidden=(32,), learning_rate=0.02).fit(X, y)
    # No line gets more than three of the four corners.
    assert line.score(X, y) < 0.85
    assert network.score(X, y) > 0.9


def test_little_privacy_budget_is_mostly_noise():
    X, y = rows()
    model = classifier(epsilon=0.001, steps=5).fit(X, y)
    assert 0 < model.epsilon_ <= 0.001
    # The noise multiplier is certified: for so small an ε it is in the hundreds.
    numerator, _, denominator = str(model.receipt_["plan"]["multiplier"]).partition("/")
    assert float(numerator) / float(denominator or 1) > 100


def test_a_regressor_learns_a_line_in_the_units_of_its_target():
    generator = np.random.default_rng(5)
    X = generator.uniform(0, 10, size=(800, 1))
    y = 100 + 20 * X[:, 0]
    model = PrivateRegressor(
        LOOSE, bounds=(0, 10), target_bounds=(0, 400), size=800, steps=150, batch_size=200, progress=False
    ).fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.abs(model.predict([[2.0], [8.0]]) - [140, 260]).max() < 40
    # A number beyond the bounds counts as the nearest one.
    assert model.predict([[10.0]]) == model.predict([[1e9]])


def test_labels_of_any_kind():
    X, y = rows(400)
    for classes in (["no", "yes"], [False, True], [3, 11], [0.0, 1.0]):
        labels = [classes[label] for label in y]
        model = classifier(classes=classes).fit(X, labels)
        assert set(model.predict(X).tolist()) <= set(classes)
        assert model.score(X, labels) > 0.95


def test_rows_without_a_declared_label_are_left_out():
    X, y = rows()
    labels = [None if place % 3 == 0 else int(label) for place, label in enumerate(y)]
    model = classifier().fit(X, labels)
    assert model.score(X, y) > 0.9
    # Nobody has a declared label: the run is noise, and nothing else tells.
    assert classifier(classes=[8, 9]).fit(X, y).predict(X).shape == (len(X),)


def test_missing_and_foreign_values_raise_nothing():
    X, y = rows()
    X = X.astype(object)
    X[0, 0], X[1, 0], X[2, 1], X[3, 1] = None, "text", float("nan"), float("inf")
    model = classifier(missing_indicator=True).fit(X, y)
    assert model.score(X[4:], y[4:]) > 0.9
    assert classifier().fit(np.empty((0, 2)), []).predict([[0.0, 0.0]]).shape == (1,)


# Tables of other libraries.


def mixed(count=500):
    generator = np.random.default_rng(11)
    ward = generator.choice(["north", "south", "west"], size=count)
    age = generator.uniform(0, 100, size=count)
    return ward, age, ((ward == "north") ^ (age > 200)).astype(int)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(library):
    module = pytest.importorskip(library)
    ward, age, y = mixed()
    data = {"ward": ward.tolist(), "Age": age.tolist()}
    frame = module.table(data) if library == "pyarrow" else module.DataFrame(data)
    model = classifier(
        bounds={"Age": (0, 100)}, categories={"ward": ["north", "south", "west"]}, steps=60
    ).fit(frame, y)
    assert list(model.feature_names_in_) == ["ward", "Age"]
    assert model.score(frame, y) > 0.95
    # By name, whatever their order.
    turned = module.table({"Age": data["Age"], "ward": data["ward"]}) if library == "pyarrow" else frame[["Age", "ward"]]
    assert (model.predict(turned) == model.predict(frame)).all()
    with pytest.raises(deniable.ParameterError, match="neither bounds nor categories"):
        classifier(bounds={"Age": (0, 100)}).fit(frame, y)


def test_series_and_arrow_labels():
    pandas, polars, pyarrow = map(pytest.importorskip, ["pandas", "polars", "pyarrow"])
    X, y = rows(400)
    for labels in (pandas.Series(y), polars.Series(y), pyarrow.array(y), pyarrow.chunked_array([y]), y.tolist()):
        assert classifier().fit(X, labels).score(X, labels) > 0.95


def test_categories_of_pandas_and_numbers_as_categories():
    pandas = pytest.importorskip("pandas")
    ward, age, y = mixed()
    frame = pandas.DataFrame({"ward": pandas.Categorical(ward), "code": (ward == "north").astype(int)})
    model = classifier(bounds=None, categories={"ward": ["north", "south", "west"], "code": [0, 1]}, steps=60)
    assert model.fit(frame, y).score(frame, y) > 0.95


# Declarations.


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bounds": None}, "bounds"),
        ({"bounds": (1, -1)}, "in order"),
        ({"bounds": ([0, 0, 0], [1, 1, 1])}, "as many"),
        ({"classes": None}, "classes"),
        ({"classes": [1]}, "two classes"),
        ({"classes": "those"}, "public"),
        ({"size": None}, "how many"),
        ({"size": "some"}, "public"),
        ({"epsilon": -1}, "ε"),
        ({"delta": 0}, "δ|noise"),
        ({"batch_size": 10_000}, "batch"),
        ({"optimizer": "none"}, "optimizer"),
        ({"device": "abacus"}, "device"),
        ({"neighbors": "none"}, "neighbors"),
    ],
)
def test_what_is_not_declared_is_refused_with_a_hint(changed, said):
    X, y = rows(100)
    with pytest.raises(deniable.ParameterError, match=said) as refused:
        classifier(**changed).fit(X, y)
    assert refused.value.hint


def test_public_declarations_take_what_is_declared_public():
    X, y = rows(400)
    model = classifier(classes="public", size="public").fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    rate = str(model.receipt_["plan"]["sampling"])
    assert "poisson" in rate


def test_units_that_are_replaced_make_their_number_public():
    X, y = rows(400)
    model = classifier(neighbors="change_one", size=None).fit(X, y)
    sampling = json.dumps(model.receipt_["plan"]["sampling"])
    assert "fixed_size" in sampling and str(len(X)) in sampling
    assert model.receipt_["unit"]["neighbors"] == "change_one"


def test_rows_of_one_unit_are_clipped_together():
    X, y = rows(300)
    groups = [f"person {place // 10}" for place in range(len(X))]
    model = classifier(size=30, batch_size=15, rows_per_unit=4).fit(X, y, groups=groups)
    assert model.receipt_["plan"]["examples_per_unit"] == 4
    assert model.score(X, y) > 0.8
    with pytest.raises(deniable.ParameterError, match="same number"):
        classifier().fit(X, y, groups=groups[1:])


def test_no_value_is_in_an_error_or_a_repr():
    X = [["zanzibar", "other zanzibar"]] * 50
    for attempt in (
        lambda: classifier(bounds=None).fit(X, ["zanzibar label"] * 50),
        lambda: classifier(classes=None).fit(X, ["zanzibar label"] * 50),
        lambda: classifier().fit(X, ["zanzibar label"] * 49),
    ):
        with pytest.raises(deniable.Error) as refused:
            attempt()
        assert "zanzibar" not in str(refused.value)
    model = classifier().fit(*rows(100))
    assert "zanzibar" not in repr(model)
    assert repr(deniable._deniable.TrainingColumns()).count("0x") == 1


# The ledger.


def test_runs_are_charged_to_a_ledger_that_lasts(tmp_path):
    X, y = rows(300)
    ledger = tmp_path / "people.ledger"
    small = dict(epsilon=1.0, ledger=ledger, analyst="ann")
    with pytest.raises(deniable.LedgerError, match="no ledger"):
        classifier(**small).fit(X, y)
    assert not ledger.exists()
    first = classifier(**small, budget=(3, 1e-5)).fit(X, y)
    second = classifier(**small).fit(X, y)
    assert second.receipt_["ledger_entry"] > first.receipt_["ledger_entry"]
    with pytest.raises(deniable.LedgerError, match="another budget"):
        classifier(**small, budget=(9, 1e-5)).fit(X, y)
    with pytest.raises(deniable.LedgerError):
        classifier(**small, unit="household").fit(X, y)
    with pytest.raises(deniable.BudgetError) as refused:
        classifier(**{**small, "epsilon": 3.0}).fit(X, y)
    assert refused.value.cost and refused.value.left > 0
    assert refused.value.fits is None or refused.value.fits < 3
    third = classifier(**{**small, "epsilon": 0.1}).fit(X, y)
    # A refused run left no trace.
    assert third.receipt_["ledger_entry"] == second.receipt_["ledger_entry"] + 1
    assert sorted(path.name for path in tmp_path.iterdir() if "ledger" not in path.name) == []


def test_without_a_ledger_nothing_is_left_behind(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y = rows(200)
    classifier(epsilon=1.0).fit(X, y)
    with pytest.raises(deniable.ParameterError):
        classifier(optimizer="none").fit(X, y)
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_a_catalog_is_charged_to_its_ledger(tmp_path):
    X, y = rows(300)
    lines = [f"{one},{two},{label}" for (one, two), label in zip(X, y)]
    (tmp_path / "points.csv").write_text("\n".join(["one,two,above", *lines]) + "\n")
    (tmp_path / "deniable.toml").write_text(
        textwrap.dedent(
            """
            name = "points"
            [unit]
            whose = "point"
            [budget]
            epsilon = 500
            delta = 1e-4
            [tables.points]
            source = "points.csv"
            each_row = true
            [tables.points.columns]
            one = { kind = "float", bounds = [-1, 1] }
            two = { kind = "float", bounds = [-1, 1] }
            above = { kind = "int", values = [0, 1] }
            """
        )
    )
    model = classifier(size=300).fit_catalog(tmp_path / "deniable.toml", "points", "above")
    assert (tmp_path / "deniable.ledger").exists()
    assert model.receipt_["unit"]["whose"] == "point"
    assert model.classes_.tolist() == [0, 1]
    pandas = pytest.importorskip("pandas")
    assert model.score(pandas.DataFrame(X, columns=["two", "one"]), y) > 0.9
    # The same ledger takes rows of a program, if they are about the same unit.
    again = classifier(epsilon=1.0, ledger=tmp_path / "deniable.ledger").fit(X, y)
    assert again.receipt_["unit"]["whose"] == "point"
    assert again.receipt_["ledger_entry"] > model.receipt_["ledger_entry"]


# Watching, interrupting, resuming.


def test_callbacks_see_each_step():
    X, y = rows(200)
    seen, spent = [], []

    def first(step):
        seen.append((step.step, step.steps))
        if step.step in (5, 10):
            spent.append(step.epsilon())

    model = classifier(epsilon=2.0, steps=10, callbacks=[first, lambda step: None]).fit(X, y)
    assert seen == [(step, 10) for step in range(1, 11)]
    assert 0 < spent[0] < spent[1] <= 2.0
    assert spent[1] == pytest.approx(model.epsilon_)


def test_what_a_callback_raises_saves_the_run(tmp_path):
    X, y = rows(200)
    ledger = tmp_path / "ledger"

    class Enough(Exception):
        pass

    def stop(step):
        if step.step == 4:
            raise Enough

    model = classifier(epsilon=2.0, ledger=ledger, budget=(9, 1e-5), callbacks=stop)
    with pytest.raises(Enough):
        model.fit(X, y)
    assert os.path.exists(model.checkpoint_)
    with pytest.raises(NotFittedError):
        model.predict(X)
    taken = []
    model.set_params(callbacks=lambda step: taken.append(step.step))
    checkpoint = model.checkpoint_
    model.fit(X, y, resume=True)
    assert taken[0] <= 5 and taken[-1] == 30
    assert not hasattr(model, "checkpoint_") and not os.path.exists(checkpoint)
    # One charge paid for all of it: the next run is the next entry.
    after = classifier(epsilon=0.1, ledger=ledger).fit(X, y)
    assert after.receipt_["ledger_entry"] == model.receipt_["ledger_entry"] + 1


def test_a_resumed_run_needs_the_same_data_and_ends_where_it_is_told(tmp_path):
    X, y = rows(200)

    def stop(step):
        raise InterruptedError

    checkpoint = tmp_path / "run.checkpoint"
    model = classifier(epsilon=2.0, checkpoint=checkpoint, callbacks=stop)
    with pytest.raises(InterruptedError):
        model.fit(X, y)
    model.set_params(callbacks=None)
    with pytest.raises(deniable.FileError, match="already exists"):
        model.fit(X, y)
    with pytest.raises(deniable.ParameterError, match="another state of the data"):
        model.fit(X[1:], y[1:], resume=True)
    # Another process would have nothing but the path.
    other = classifier(epsilon=2.0)
    other.fit(X, y, resume=checkpoint, stop_at=7)
    assert other.predict(X).shape == y.shape
    assert checkpoint.exists()
    other.fit(X, y, resume=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(deniable.ParameterError, match="no interrupted run"):
        classifier().fit(X, y, resume=True)


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from deniable.train import Interrupted, PrivateClassifier

X = np.linspace(-1, 1, 4000).reshape(-1, 2)
y = (X.sum(axis=1) > 0).astype(int)
begun = threading.Event()
model = PrivateClassifier(
    2.0, bounds=(-1, 1), classes=[0, 1], size=2000, batch_size=500, steps=20000, progress=False,
    callbacks=lambda step: begun.set(), checkpoint=sys.argv[1],
)
threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
try:
    model.fit(X, y)
except Interrupted as interrupted:
    assert isinstance(interrupted, KeyboardInterrupt)
    assert os.path.samefile(interrupted.checkpoint, sys.argv[1])
    print("saved")
model.callbacks = None
model.fit(X, y, resume=True, stop_at=20000 if len(sys.argv) > 2 else 19000)
print(model.predict(X).shape)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="signals of Unix")
def test_ctrl_c_saves_the_run(tmp_path):
    program = INTERRUPTED.replace("steps=20000", "steps=400").replace("19000", "390").replace("20000 if", "400 if")
    path = tmp_path / "run.checkpoint"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["saved", "(2000,)"]
    assert path.exists(), "the rest of the plan is paid for"


def test_other_threads_run_while_a_model_is_trained():
    X, y = rows(2000)
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    classifier(size=1500, batch_size=700, steps=150).fit(X, y)
    done.set()
    thread.join()
    assert len(ticks) > 3


def test_the_bar_is_drawn_where_it_is_asked_for(capsys):
    X, y = rows(200)
    classifier(progress=True, steps=5).fit(X, y)
    shown = capsys.readouterr()
    assert "5/5 steps" in shown.err and shown.out == ""
    classifier(steps=5, progress=None).fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_gpu_is_used_where_there_is_one_and_named_where_there_is_none():
    X, y = rows(200)
    model = classifier(device="cuda", steps=5)
    if deniable._deniable.cuda_is_there():
        assert model.fit(X, y).predict(X).shape == y.shape
        return
    with pytest.raises(deniable.EngineError) as refused:
        model.fit(X, y)
    assert "cpu" in refused.value.hint
    assert classifier(device="auto", steps=5, hidden=600).fit(X, y).n_features_in_ == 2


# Files.


def test_models_are_saved_as_safetensors(tmp_path):
    X, y = rows(300)
    model = classifier(classes=["no", "yes"]).fit(X, np.where(y == 1, "yes", "no"))
    path = tmp_path / "model.safetensors"
    model.save_safetensors(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    read = PrivateClassifier.load(path)
    assert (read.predict_proba(X) == model.predict_proba(X)).all()
    assert read.classes_.tolist() == ["no", "yes"]
    assert read.receipt_ == model.receipt_
    # The format itself: a length, a header, numbers.
    written = path.read_bytes()
    (length,) = struct.unpack("<Q", written[:8])
    header = json.loads(written[8 : 8 + length])
    weights = header["layer.0.weight"]
    assert weights["dtype"] == "F32" and sorted(weights["shape"]) == [2, 2]
    assert "deniable.receipt" in header["__metadata__"]
    found = model.parameters()
    assert set(found) == set(header) - {"__metadata__"}
    with pytest.raises(deniable.ParameterError, match="classifier"):
        PrivateRegressor.load(path)
    (tmp_path / "other").write_bytes(b"nothing of the kind")
    with pytest.raises(deniable.FileError):
        PrivateClassifier.load(tmp_path / "other")
    with pytest.raises(deniable.FileError):
        model.save_safetensors(tmp_path / "nowhere" / "model")


def test_the_reader_of_others_reads_our_file(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    X, y = rows(200)
    model = classifier(hidden=4).fit(X, y)
    model.save_safetensors(tmp_path / "model.safetensors")
    read = safetensors.load_file(tmp_path / "model.safetensors")
    own = model.parameters()
    assert read.keys() == own.keys()
    assert all((read[name] == own[name]).all() for name in own)


def test_models_are_pickled_with_what_they_learned():
    X, y = rows(200)
    model = classifier().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


# Texts.


def texts(count=400):
    return [f"the {['cat', 'dog', 'cow'][place % 3]} is in the house number {place % 7}" for place in range(count)]


def language(**changed):
    usual = dict(
        epsilon=LOOSE, size=400, network="gru", hidden=16, embedding=8, tokens=280, length=16, batch_size=100, steps=12,
        learning_rate=0.02, progress=False,
    )
    return PrivateLanguageModel(**{**usual, **changed})


def test_a_language_model_learns_generates_and_is_saved(tmp_path):
    public = "\n".join(texts(60))
    model = language(public_text=public, validation=public).fit(texts())
    measured = [look["perplexity"] for look in model.measurements_]
    assert measured[-1] < measured[0]
    assert model.perplexity(public) == pytest.approx(measured[-1], rel=0.2)
    said = model.generate("the ", tokens=8, temperature=0)
    assert said.startswith("the ") and said == model.generate("the ", tokens=8, temperature=0)
    model.save_safetensors(tmp_path / "model.safetensors")
    read = PrivateLanguageModel.load(tmp_path / "model.safetensors")
    assert read.generate("the ", tokens=8, temperature=0) == said
    with pytest.raises(deniable.ParameterError, match="one text"):
        language().fit("one text")


def test_texts_of_one_unit_and_of_other_libraries():
    polars = pytest.importorskip("polars")
    owners = [place // 8 for place in range(400)]
    model = language(size=50, batch_size=20, steps=2).fit(polars.Series(texts()), groups=owners)
    assert model.receipt_["unit"]["whose"] == "person"
    assert model.receipt_["plan"]["examples_per_unit"] == 100


# scikit-learn.


def test_estimators_are_cloned_searched_and_piped():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = rows(300)
    model = classifier(steps=10)
    assert sklearn is not None and is_classifier(model) and is_regressor(PrivateRegressor())
    again = clone(model)
    assert again is not model and again.get_params() == model.get_params()
    assert make_pipeline(FunctionTransformer(), classifier()).fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(model, {"learning_rate": [1e-9, 0.1]}, cv=2).fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.1}
    with pytest.raises(deniable.ParameterError, match="no parameter"):
        model.set_params(nothing=1)


#: Checks of scikit-learn that cannot pass, and why.
FRESH_NOISE = "it compares two runs on the same data, whose batches and noise are drawn anew"
NO_VALUE_DECIDES = "whether a run is refused must not depend on a value, and a value that cannot be read is missing"
IMPOSSIBLE = {
    "check_fit_idempotent": FRESH_NOISE,
    "check_supervised_y_2d": FRESH_NOISE,
    "check_regressors_int": FRESH_NOISE,
    "check_classifier_data_not_an_array": FRESH_NOISE,
    "check_regressor_data_not_an_array": FRESH_NOISE,
    "check_dtype_object": NO_VALUE_DECIDES,
    "check_supervised_y_no_nan": NO_VALUE_DECIDES,
    "check_estimators_empty_data_messages": "how many rows there are is private, so a run without any is noise",
    "check_regressors_train": "its targets are a hundredth of the bounds that fit the other checks; it is run by itself below",
}


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_the_checks_of_scikit_learn(kind):
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils.estimator_checks import check_estimator

    common = dict(epsilon=LOOSE, bounds=(-10, 10), size="public", steps=40, progress=False)
    if kind == "classifier":
        model = PrivateClassifier(classes="public", learning_rate=2.0, **common)
    else:
        model = PrivateRegressor(target_bounds=(-300, 300), **common)
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result for result in results if result["status"] == "failed"}
    unexpected = {name: repr(result["exception"]) for name, result in failed.items() if name not in IMPOSSIBLE}
    assert not unexpected
    assert sum(result["status"] == "passed" for result in results) > 30


def test_the_check_of_what_a_regressor_learns():
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils.estimator_checks import check_regressors_train

    model = PrivateRegressor(LOOSE, bounds=(-4, 4), target_bounds=(-4, 4), size="public", steps=200, progress=False)
    check_regressors_train("PrivateRegressor", model)


def test_nothing_heavy_is_imported():
    program = "import sys, deniable.train; print([m for m in ('numpy', 'pandas', 'sklearn', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_without_numpy_lists_come_back(monkeypatch):
    monkeypatch.setattr(deniable._arrays, "numpy", lambda: None)
    X, y = rows(200)
    X, y = X.tolist(), y.tolist()
    model = classifier().fit(X, y)
    assert model.score(X, y) > 0.9
    assert isinstance(model.predict(X), list) and isinstance(model.predict_proba(X)[0], list)
    assert len(model.parameters()["layer.0.weight"]) == 2


def test_examples_of_the_documentation():
    assert examples_run(train) > 10


# One unit's value decides about that unit alone.


def test_one_text_among_numbers_leaves_the_others_as_they_are():
    X, y = rows()
    mixed = X.tolist()
    mixed[0][0] = "n/a"
    model = classifier(categories=None).fit(mixed, y.tolist())
    assert model.score(X, y) > 0.9


def test_odd_values_of_a_person_raise_nothing():
    pandas = pytest.importorskip("pandas")
    X, y = rows(100)
    groups = pandas.Series(list(range(len(X))), dtype="Int64")
    groups[3] = pandas.NA
    classifier(steps=2, size=50, batch_size=20).fit(X, y, groups=groups)
    texts = ["a good day", "lone \ud800 surrogate", None] * 5
    PrivateLanguageModel(epsilon=5, size=10, steps=1, batch_size=5, hidden=4, progress=False).fit(texts)


def test_whether_anybody_has_a_label_is_not_told():
    X, y = rows(100)
    classifier(steps=2, size="public", batch_size=20, neighbors="change_one", classes=["nobody's", "nobody's either"]).fit(X, y)


def test_ragged_rows_are_refused_without_their_number():
    with pytest.raises(deniable.ParameterError) as refused:
        classifier().fit([[1.0, 2.0], [1.0]] * 77, [0, 1] * 77)
    assert "154" not in str(refused.value)


def test_a_person_is_one_unit_however_they_are_written() -> None:
    import datetime
    import uuid
    from decimal import Decimal

    from deniable.train.columns import identifier

    for same in (
        [1, 1.0, True, Decimal("1"), Decimal("1.00"), Decimal("0.1e1")],
        [0, 0.0, -0.0, False, Decimal("-0.00"), Decimal("0e500")],
        [Decimal("1.50"), Decimal("1.5")],
        [
            datetime.datetime(2024, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
            datetime.datetime(2024, 1, 1, 0, tzinfo=datetime.timezone.utc),
        ],
    ):
        assert len({identifier(value) for value in same}) == 1 and None not in {identifier(value) for value in same}
    number = uuid.UUID(int=7)
    wide = Decimal("12345678901234567890123456789012345678.1")
    different = [1, "1", "@1", "#@1", "##@1", " 1", "01", "1.0", -1, 2**53, 2**64, number, str(number), b"1", "@0x31"]
    different += [wide, wide + Decimal(1).scaleb(-1), datetime.date(2024, 1, 1), "2024-01-01", datetime.datetime(2024, 1, 1)]
    assert len({identifier(value) for value in different}) == len(set(map(repr, different)))
    for nobody in (None, float("nan"), 1.5, 2.0**53, "", "J\udcfcrg", "J\udcf6rg", Decimal("nan"), Decimal("1e500"), ("a", "b")):
        assert identifier(nobody) is None
