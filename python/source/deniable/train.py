"""Private training: classifiers, regressors and language models with a stated (ε, δ).

``PrivateClassifier`` and ``PrivateRegressor`` follow the protocol of scikit-learn's estimators and need none of it;
``PrivateLanguageModel`` learns from texts. A run is charged to a ledger before its first step, its noise follows from
the ε that is asked for, and what comes out is a model in the format safetensors with its receipt.

What is private and what is not
-------------------------------

X, y, texts and groups are private. Their shape is public as far as columns go: names, types and how many there are.
Everything else that is known before the first step has to be declared, because taking it from the data would be a
release that nobody pays for:

``bounds``, ``categories``, ``target_bounds``
    What values features and targets can have. A number beyond its bounds counts as the nearest bound, and a value that
    is not among its categories as none of them. A row without a label, or with one that is not declared, is not learned
    from.
``classes``
    The labels. ``"public"`` declares that which labels occur is no secret, and takes them from y.
``size``
    About how many units there are: the sampling rate is ``batch_size / size``. ``"public"`` declares that the number in
    the data is no secret. With ``neighbors="change_one"`` it is public by definition.

One row is one unit of privacy, such as one person, unless ``groups`` says whose each row is. Rows of one unit are
clipped together, and at most ``rows_per_unit`` of them are used.

Predictions and parameters of a trained model follow from what was paid for: they cost nothing. ``score`` and
``perplexity`` compare the model with labels and texts **without noise**, so they are for public data, or for data whose
owners agreed. A score on private rows is a release that no ledger knows of.

Where it is charged
-------------------

``ledger="people.ledger"`` charges a ledger that lasts, the same that queries of a catalog are charged to; a new one needs
``budget=(ε, δ)``, what all releases together may cost. Without ``ledger`` the run is charged to a ledger of its own in a
temporary folder that has room for this one run and is gone afterwards: then nobody adds up what several fits cost
together, and that is left to you.

Interruptions
-------------

Ctrl-C, and an exception in a callback, end a run after the step that it is in, and save it. There is no model of such a
run: how far it came depends on how fast it was, and so on the data. ``fit(X, y, resume=True)`` goes on where it was, with
the same batches and noise and without a further charge, to its end, or with ``stop_at=`` to a step that is named
beforehand. A checkpoint holds the key of the noise: it is as private as the data, and is deleted when the run is over.

>>> from deniable.train import PrivateClassifier
>>> rows = [[a / 40, b / 40] for a in range(40) for b in range(40)]
>>> labels = ["yes" if a + b > 1 else "no" for a, b in rows]
>>> model = PrivateClassifier(epsilon=4, bounds=(0, 1), classes=["no", "yes"], size=1600)
>>> model = model.fit(rows, labels)
>>> [str(label) for label in model.predict([[0.1, 0.1], [0.9, 0.9]])]
['no', 'yes']
>>> model.epsilon_ <= 4
True
"""

from __future__ import annotations

import array
import json
import math
import os
import shutil
import struct
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

from deniable import _deniable
from deniable._errors import Error, FileError, ParameterError
from deniable._read import clean

if TYPE_CHECKING:
    from deniable._deniable import TrainedModel, TrainingColumns, TrainingStep

__all__ = ["Interrupted", "NotFittedError", "PrivateClassifier", "PrivateLanguageModel", "PrivateRegressor"]

_Callback = Callable[["TrainingStep"], object]


class Interrupted(KeyboardInterrupt):
    """A run was interrupted by Ctrl-C and is saved.

    ``checkpoint`` is where. It is as private as the data.
    """

    checkpoint: str

    def __init__(self, checkpoint: str) -> None:
        super().__init__(
            "training was interrupted and is saved; fit again with resume=True to go on without a further charge"
        )
        self.checkpoint = checkpoint


class NotFittedError(Error, ValueError, AttributeError):
    """The model was not trained yet."""


# What the protocol of estimators takes from a class.


class _Estimator:
    """Parameters by name, as scikit-learn's estimators have them, without scikit-learn."""

    _kind: str
    _model: bytes
    n_features_in_: int

    @classmethod
    def _parameter_names(cls) -> list[str]:
        code = cls.__init__.__code__
        return sorted(code.co_varnames[1 : 1 + code.co_argcount + code.co_kwonlyargcount - 1])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Any:
        """Changes parameters, by name."""
        known = self._parameter_names()
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(
                    f"there is no parameter {name!r} of {type(self).__name__}", f"the parameters are {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = type(self)()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not _same(value, getattr(usual, name)) and name != "callbacks"
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_trained"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _fitted(self) -> TrainedModel:
        if not hasattr(self, "_model"):
            raise _not_fitted(type(self).__name__)
        if "_trained" not in self.__dict__:
            self._trained = _deniable.TrainedModel.read(self._model)
        trained: TrainedModel = self._trained
        return trained

    # The model and what it guarantees.

    @property
    def receipt_(self) -> dict[str, Any]:
        """What the model guarantees, to whom, and everything that decided about it: public, all of it."""
        receipt = self._fitted().receipt()
        if receipt is None:
            raise ParameterError("this model was trained without privacy", "it has no receipt")
        read: dict[str, Any] = json.loads(receipt)
        return read

    @property
    def epsilon_(self) -> float:
        """The certified ε of the run."""
        return float(self.receipt_["epsilon"])

    @property
    def delta_(self) -> float:
        """The δ of the run."""
        return float(self.receipt_["delta"])

    def parameters(self) -> dict[str, Any]:
        """The parameters of the model, by name: NumPy arrays, or nested lists where NumPy is not installed."""
        self._fitted()
        return _tensors(self._model)

    def save_safetensors(self, path: str | os.PathLike[str]) -> None:
        """Writes the model with its receipt in the format safetensors.

        ``load`` of the class reads it again, and so do ``deniable train evaluate`` and any reader of safetensors.
        """
        self._fitted()
        beside = f"{os.fspath(path)}.part"
        try:
            with open(beside, "wb") as file:
                file.write(self._model)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError as error:
            raise FileError(f"the model cannot be written: {error.strerror}", "is there such a folder?") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """A model that ``save_safetensors`` or ``deniable train`` wrote."""
        try:
            with open(path, "rb") as file:
                read = file.read()
        except OSError as error:
            raise FileError(f"the model cannot be read: {error.strerror}", "is there such a file?") from None
        trained = _deniable.TrainedModel.read(read)
        if trained.kind() != cls._kind:
            raise ParameterError(
                f"this file holds a {trained.kind()} model", "load it with the class that was trained"
            )
        model = cls()
        model._model, model._trained = read, trained
        model._describe(trained)
        return model

    def _describe(self, trained: TrainedModel) -> None:
        """Attributes of a trained model that follow from its file."""

    # A run.

    def _settings(self) -> dict[str, Any]:
        """What all kinds of runs take."""
        raise NotImplementedError

    def _train(
        self,
        columns: TrainingColumns | None,
        run: dict[str, Any],
        resume: bool | str | os.PathLike[str],
        stop_at: int | None,
    ) -> dict[str, Any]:
        """Runs to the end, or until it is interrupted."""
        this = self
        asked: Any = this
        saved = getattr(self, "checkpoint_", None)
        folder = None
        if resume and resume is not True:
            checkpoint = os.fspath(resume)
        elif resume and saved is not None:
            checkpoint = saved
        elif asked.checkpoint is not None:
            checkpoint = os.fspath(asked.checkpoint)
        elif resume:
            raise ParameterError(
                "there is no interrupted run to resume", "name its checkpoint: fit(..., resume='run.checkpoint')"
            )
        else:
            folder = tempfile.mkdtemp(prefix="deniable-train-")
            checkpoint = os.path.join(folder, "checkpoint")
        checkpoint = os.path.abspath(checkpoint)
        own = asked.ledger is None and run["catalog"] is None
        run["checkpoint"], run["out"] = checkpoint, checkpoint + ".model"
        if own:
            run["ledger"] = checkpoint + ".ledger"
            # Room for this one run: ledgers add up other bounds than the certified curve of a single run.
            run["budget"] = (_number(4 * _about(asked.epsilon) + 4), _number(min(8 * _about(asked.delta), 0.5)))
            if resume:
                run["budget"] = None
        progress = _Progress(asked.progress)
        observe = progress.with_callbacks(asked.callbacks)
        between = 0.0 if asked.callbacks else 0.1
        try:
            found, raised = _deniable.train_run(columns, run, bool(resume), stop_at, observe, between)
        except BaseException:
            if not os.path.exists(checkpoint):
                self._clear(folder, checkpoint, own)
            else:
                self.checkpoint_ = checkpoint
            raise
        finally:
            progress.end()
        self.checkpoint_ = found["checkpoint"]
        if found["model"] is None:
            if isinstance(raised, KeyboardInterrupt):
                raise Interrupted(found["checkpoint"]) from raised
            raise raised
        if self.checkpoint_ is None:
            del self.checkpoint_
            self._clear(os.path.dirname(checkpoint) if _is_ours(checkpoint) else None, checkpoint, own)
        self._model = found["model"]
        self.__dict__.pop("_trained", None)
        self._describe(self._fitted())
        if raised is not None:
            # It came after the last step: the model is there, and so is what was raised.
            raise raised
        return found

    @staticmethod
    def _clear(folder: str | None, checkpoint: str, own: bool) -> None:
        """Removes what a run leaves that nobody needs."""
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            return
        if own:
            for name in _beside(checkpoint + ".ledger"):
                try:
                    os.remove(name)
                except OSError:
                    pass


def _is_ours(checkpoint: str) -> bool:
    folder = os.path.dirname(checkpoint)
    return os.path.basename(folder).startswith("deniable-train-") and os.path.dirname(folder) == os.path.abspath(
        tempfile.gettempdir()
    )


def _beside(ledger: str) -> list[str]:
    """A ledger and the files that its database and its head keep beside it."""
    folder, name = os.path.split(ledger)
    try:
        return [os.path.join(folder, other) for other in os.listdir(folder) if other.startswith(name)]
    except OSError:
        return []


def _not_fitted(name: str) -> Exception:
    what, hint = f"this {name} is not fitted yet", "call fit first"
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return NotFittedError(what, hint)
    both = type("NotFittedError", (NotFittedError, exceptions.NotFittedError), {})
    found: Exception = both(what, hint)
    return found


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except Exception:
        return False


def _number(value: Any, what: str = "this") -> str:
    """A number as the crates read it."""
    if isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} is no number", "give a number such as 1.0") from None
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _about(value: Any) -> float:
    """A number that decides about no privacy: 0 for what is none, which is refused where it matters."""
    number = _as_float(value)
    return number if math.isfinite(number) and number > 0 else 0.0


def _numpy() -> Any:
    """NumPy, where the caller has it."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _tensors(file: bytes) -> dict[str, Any]:
    (length,) = struct.unpack("<Q", file[:8])
    header = json.loads(file[8 : 8 + length])
    numpy = _numpy()
    found: dict[str, Any] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        data = file[8 + length + start : 8 + length + end]
        if numpy is not None:
            found[name] = numpy.frombuffer(data, dtype="<f4").reshape(entry["shape"]).copy()
        else:
            values = list(struct.unpack(f"<{len(data) // 4}f", data))
            for size in reversed(entry["shape"][1:]):
                values = [values[place : place + size] for place in range(0, len(values), size)]
            found[name] = values
    return found


class _Progress:
    """A bar on standard error, in terminals and notebooks."""

    def __init__(self, wanted: bool | None) -> None:
        self.shown = _is_watched() if wanted is None else bool(wanted)
        self.drawn = False
        self.last = -1.0

    def with_callbacks(self, callbacks: Any) -> _Callback | None:
        several: tuple[_Callback, ...]
        if callbacks is None:
            several = ()
        elif callable(callbacks):
            several = (callbacks,)
        else:
            several = tuple(callbacks)
        if not several and not self.shown:
            return None

        def observe(step: TrainingStep) -> None:
            if self.shown:
                self.draw(step)
            for callback in several:
                callback(step)

        return observe

    def draw(self, step: TrainingStep) -> None:
        if step.seconds - self.last < 0.1 and step.step < step.steps:
            return
        self.last = step.seconds
        filled = round(30 * step.step / step.steps)
        left = step.seconds / max(step.steps_here, 1) * (step.steps - step.step)
        sys.stderr.write(
            f"\rtraining [{'#' * filled}{'.' * (30 - filled)}] {step.step}/{step.steps} steps, {left:.0f} s left  "
        )
        sys.stderr.flush()
        self.drawn = True

    def end(self) -> None:
        if self.drawn:
            sys.stderr.write("\n")
            sys.stderr.flush()


def _is_watched() -> bool:
    try:
        if sys.stderr.isatty():
            return True
    except (AttributeError, ValueError):
        pass
    # A notebook has no terminal, and shows what is written over like one.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


# Rows of whatever library.


class _Rows:
    """Columns of X, under names, whatever X is. Holds private data, so it says nothing about it."""

    def __init__(self, X: Any) -> None:
        self.names: list[Any]
        self.named = True
        self.table: TrainingColumns | None = None
        self.matrix: Any = None
        self.frame: Any = None
        if hasattr(X, "toarray") and hasattr(X, "nnz"):
            raise ParameterError("X is sparse, and sparse data is not read", "give X.toarray()")
        if type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns"):
            self.frame, self.names = X, list(X.columns)
            self.named = all(isinstance(name, str) for name in self.names)
            self.count = len(X)
        elif hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
            self.table = _deniable.TrainingColumns.of_table(X)
            self.names = list(self.table.names())
            self.count = len(self.table)
        else:
            self.matrix, self.count, width = _matrix(X)
            self.named = False
            self.names = list(range(width))
        if not self.names:
            raise ParameterError(f"0 feature(s) while a minimum of 1 is required.", "give columns")

    def public_name(self, place: int) -> str:
        return str(self.names[place]) if self.named else f"x{place}"

    def add(self, columns: TrainingColumns, place: int, name: str, values: Sequence[Any] | None) -> None:
        """Adds a column: numbers, or texts where the values are listed."""
        if self.table is not None:
            columns.copy_from(self.table, place, name, values is None)
            return
        column = self.frame.iloc[:, place] if self.frame is not None else self.matrix[place]
        if values is None:
            columns.numbers(name, _floats(column))
        else:
            columns.codes(name, _codes(column, values), [_text(value) for value in values])


def _matrix(X: Any) -> tuple[Any, int, int]:
    """The columns of a matrix, the number of rows, and the number of columns."""
    numpy = _numpy()
    if numpy is not None:
        try:
            # Lists have no type by themselves: one text among numbers must not turn everybody's numbers into texts.
            found = numpy.asarray(X) if hasattr(X, "dtype") or hasattr(X, "__array__") else numpy.asarray(X, dtype=object)
        except ValueError:
            # What it says tells how many rows there are.
            raise ParameterError("the rows of X are not equally long", "give one number for each column") from None
        if found.dtype.kind == "c":
            raise ParameterError("Complex data not supported", "give real numbers")
        if found.ndim != 2:
            raise ParameterError(
                f"Expected 2D array, got {found.ndim}D array instead", "Reshape your data: a row a unit, a column a feature"
            )
        return found.T, found.shape[0], found.shape[1]
    rows = [list(row) for row in X]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise ParameterError("the rows of X are not equally long", "give one number for each column")
    return [[row[place] for row in rows] for place in range(width)], len(rows), width


def _as_float(value: Any) -> float:
    """A number, or NaN: no value of private data raises."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _floats(column: Any) -> bytes:
    """The bytes of 64-bit floats; what is no number is missing."""
    numpy = _numpy()
    if numpy is not None and hasattr(column, "dtype"):
        if hasattr(column, "to_numpy"):
            try:
                return bytes(column.to_numpy(dtype="float64", na_value=math.nan).tobytes())
            except (TypeError, ValueError, OverflowError):
                column = column.to_numpy(dtype=object)
        if column.dtype.kind in "fiub":
            return bytes(numpy.ascontiguousarray(column, dtype="float64").tobytes())
        if column.dtype.kind not in "OUS":
            raise ParameterError("a column of X is of a type that is no number", "give numbers, or declare categories")
    return array.array("d", map(_as_float, column)).tobytes()


def _codes(column: Any, values: Sequence[Any]) -> bytes:
    """The places of values in a list, as bytes of 32-bit integers; -1 for what is not in it."""
    numpy = _numpy()
    if numpy is not None and hasattr(column, "dtype"):
        if hasattr(column, "to_numpy"):
            column = column.to_numpy()
        if getattr(column.dtype, "kind", "O") in "fiub" and all(isinstance(value, (int, float)) for value in values):
            found = numpy.full(len(column), -1, dtype="int32")
            for place, value in enumerate(values):
                found[column == value] = place
            return bytes(found.tobytes())
        column = column.tolist()
    elif hasattr(column, "to_pylist"):
        column = column.to_pylist()
    elif hasattr(column, "to_list"):
        column = column.to_list()
    places = {value: place for place, value in enumerate(values)}

    def place_of(value: Any) -> int:
        try:
            return places.get(value, -1)
        except TypeError:
            return -1

    return array.array("i", map(place_of, column)).tobytes()


def _text(value: Any) -> str:
    """A declared value as a catalog writes it."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    return str(value)


def _plain(values: Any) -> list[Any]:
    """A list of values as Python's own."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return list(listed)


def _count(column: Any) -> int:
    if hasattr(column, "shape"):
        return int(column.shape[0])
    return len(column)


def _one_column(y: Any, what: str) -> Any:
    """y as one column: an array, a series, a list."""
    if y is None:
        raise ParameterError(
            "requires y to be passed, but the target y is None", "Expected array-like (array or non-string sequence), got None"
        )
    if hasattr(y, "toarray") and hasattr(y, "nnz"):
        raise ParameterError(f"{what} is sparse, and sparse data is not read", f"give {what}.toarray()")
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) == 2:
        if shape[1] != 1:
            raise ParameterError(f"bad input shape: {what} has several columns", f"give one column as {what}")
        y = y.to_numpy().ravel() if hasattr(y, "to_numpy") else y.ravel()
        warnings = sys.modules.get("sklearn.exceptions")
        if warnings is not None:
            import warnings as python_warnings

            python_warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)",
                warnings.DataConversionWarning,
                stacklevel=4,
            )
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    elif hasattr(y, "__array__") and not hasattr(y, "dtype") and _numpy() is not None:
        return _numpy().asarray(y)
    elif hasattr(y, "to_numpy"):
        return y.to_numpy()
    elif hasattr(y, "dtype"):
        return y
    listed, numpy = list(y), _numpy()
    if numpy is None:
        return listed
    found = numpy.asarray(listed)
    return found if found.dtype.kind in "fiub" else numpy.asarray(listed, dtype=object)


def _group_column(columns: TrainingColumns, name: str, groups: Any) -> None:
    """Whose each row is, as text."""
    listed = groups.to_pylist() if hasattr(groups, "to_pylist") else _plain(groups)
    columns.texts(name, [None if _missing(value) else clean(str(value)) for value in listed])


def _missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        # The missing value of pandas is neither equal to itself nor not.
        return True


def _fresh(name: str, names: Iterable[str]) -> str:
    """A name that no column has, in any case."""
    taken = {other.lower() for other in names}
    while name in taken:
        name += "_"
    return name


def _analyst(name: str | None) -> str:
    if name is not None:
        return name
    for variable in ("DENIABLE_ANALYST", "USER", "LOGNAME"):
        found = os.environ.get(variable, "").strip()
        if found:
            return found
    return "analyst"


def _pair(bounds: Any, what: str) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} are not two numbers", "give the lowest and the highest: (0, 100)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(f"{what} are not in order", "the lowest comes first, and both are finite: (0, 100)")
    return low, high


class _Tabular(_Estimator):
    """What classifiers and regressors have in common."""

    _features: list[tuple[str, list[str] | None]]

    # Set by the classes below.
    epsilon: float
    delta: float
    bounds: Any
    categories: Any
    size: Any
    hidden: Any
    clip: float | None
    adaptive_clip: float | None
    batch_size: int | None
    steps: int | None
    epochs: float | None
    learning_rate: float | None
    optimizer: str | None
    schedule: str
    missing_indicator: bool
    unit: str | None
    neighbors: str | None
    rows_per_unit: int
    exact_sums: bool
    ledger: Any
    budget: Any
    analyst: str | None
    name: str
    checkpoint: Any
    checkpoint_every: int
    device: str
    threads: int | None
    random_state: int | None
    callbacks: Any
    progress: bool | None

    def _settings(self) -> dict[str, Any]:
        hidden = [self.hidden] if isinstance(self.hidden, int) else list(self.hidden)
        return {
            "name": self.name,
            "catalog": None,
            "ledger": None if self.ledger is None else os.path.abspath(os.fspath(self.ledger)),
            "budget": _budget(self.budget),
            "unit": self.unit,
            "neighbors": self.neighbors,
            "group": None,
            "analyst": _analyst(self.analyst),
            "device": _device(self.device, [width for width in hidden if width > 0]),
            "every": _whole(self.checkpoint_every, "checkpoint_every"),
            "epsilon": _number(self.epsilon, "epsilon"),
            "delta": _number(self.delta, "delta"),
            "clip": 1.0 if self.clip is None else float(self.clip),
            "adaptive_clip": None if self.adaptive_clip is None else float(self.adaptive_clip),
            "rows_per_unit": _whole(self.rows_per_unit, "rows_per_unit"),
            "exact_sums": bool(self.exact_sums),
            "optimizer": self.optimizer,
            "rate": None if self.learning_rate is None else float(self.learning_rate),
            "schedule": self.schedule,
            "seed": _seed(self.random_state),
            "threads": self.threads,
            "at_once": 1024,
            "columns": [],
            "features": [],
            "hidden": [width for width in hidden if width > 0],
            "language": None,
        }

    def _plan(self, size: int | None, run: dict[str, Any]) -> None:
        """Batches, steps and the rest: as asked for, or as is usual for so many units."""
        steps, batch, rate = _usual(size, _about(self.epsilon))
        logistic = self._kind == "classifier" and not run["hidden"]
        run["batch"] = batch if self.batch_size is None else _whole(self.batch_size, "batch_size")
        run["steps"] = steps if self.steps is None and self.epochs is None else self.steps
        run["epochs"] = 1.0 if self.epochs is None else float(self.epochs)
        if self.steps is not None:
            run["steps"] = _whole(self.steps, "steps")
        if self.optimizer is None:
            run["optimizer"] = "sgd" if logistic else "adam"
        if self.learning_rate is None:
            slow = run["optimizer"] != "sgd"
            run["rate"] = (0.01 if run["hidden"] else 0.1) if slow else (rate if logistic else 0.05)
        if self.clip is None:
            run["clip"] = 2.0 if logistic else 1.0

    def _declared(self, rows: _Rows) -> list[tuple[str, tuple[float, float] | None, list[Any] | None]]:
        """Each column of X with its bounds or its categories."""
        width = len(rows.names)
        categories = dict(self.categories or {})
        for name in categories:
            if name not in rows.names:
                raise ParameterError(f"categories are declared of {name!r}, which is no column of X", "name columns of X")
        numbers = [place for place, name in enumerate(rows.names) if name not in categories]
        bounds = _bounds(self.bounds, rows, numbers)
        found: list[tuple[str, tuple[float, float] | None, list[Any] | None]] = []
        for place in range(width):
            name = rows.public_name(place)
            if place in bounds:
                found.append((name, bounds[place], None))
                continue
            values = _plain(categories[rows.names[place]])
            if not values or len({_text(value) for value in values}) < len(values):
                raise ParameterError(f"the categories of {name!r} are none, or not all different", "list each once")
            found.append((name, None, values))
        return found

    def _fit(
        self, X: Any, y: Any, groups: Any, resume: Any, stop_at: int | None, label: Callable[[Any, Any], dict[str, Any]]
    ) -> Any:
        rows = _Rows(X)
        declared = self._declared(rows)
        run = self._settings()
        columns = _deniable.TrainingColumns()
        for place, (name, bounds, values) in enumerate(declared):
            rows.add(columns, place, name, values)
            run["columns"].append(
                {
                    "name": name,
                    "bounds": bounds,
                    "values": None if values is None else [_text(value) for value in values],
                    "nullable": bool(self.missing_indicator) and bounds is not None,
                }
            )
        names = [name for name, _, _ in declared]
        run["features"] = names
        run["label"] = _fresh("label", names)
        run["columns"].append({"name": run["label"], "nullable": True, "bounds": None, "values": None} | label(columns, run["label"]))
        if groups is not None:
            run["group"] = _fresh("unit", [*names, run["label"]])
            run["columns"].append({"name": run["group"], "nullable": True, "bounds": None, "values": None})
            _group_column(columns, run["group"], groups)
        run["size"] = _size(self.size, self.neighbors, groups, rows.count)
        public = run["size"]
        if public is None and self.neighbors == "change_one":
            public = _units(groups, rows.count)
        self._plan(public, run)
        self._train(columns, run, resume, stop_at)
        if not rows.named:
            self.__dict__.pop("feature_names_in_", None)
        return self

    def fit_catalog(
        self,
        catalog: str | os.PathLike[str],
        table: str,
        label: str,
        features: Sequence[str] = (),
        *,
        resume: bool | str | os.PathLike[str] = False,
        stop_at: int | None = None,
    ) -> Any:
        """Learns from a table that a catalog declares, charged to the catalog's ledger.

        Bounds, classes and units are those of the catalog, and this estimator's own are not used. Without ``features``
        all other columns are learned from whose bounds or values the catalog declares.
        """
        run = self._settings()
        run.update(
            name=table, catalog=os.path.abspath(os.fspath(catalog)), label=label, features=list(features), ledger=None
        )
        size = None if self.size is None else _whole(self.size, "size")
        run["size"] = size
        self._plan(size, run)
        self._train(None, run, resume, stop_at)
        return self

    def _describe(self, trained: TrainedModel) -> None:
        encoding = json.loads(trained.encoding() or "{}")
        self._features = []
        for name, coding in encoding["features"]:
            values = coding["one_of"]["values"] if "one_of" in coding else None
            self._features.append((name, values))
        names = [name for name, _ in self._features]
        self.n_features_in_ = len(names)
        numpy = _numpy()
        if names != [f"x{place}" for place in range(len(names))]:
            self.feature_names_in_ = names if numpy is None else numpy.asarray(names, dtype=object)
        self._describe_label(encoding["label"][1])

    def _describe_label(self, coding: dict[str, Any]) -> None:
        """Attributes that follow from how the label was declared."""

    def _answers(self, X: Any) -> tuple[bytes, int]:
        """What the model says of each row of X."""
        trained = self._fitted()
        rows = _Rows(X)
        expected = len(self._features)
        if len(rows.names) != expected:
            raise ParameterError(
                f"X has {len(rows.names)} features, but {type(self).__name__} is expecting {expected} features as input",
                "give the columns that the model learned from",
            )
        lower = {str(name).lower(): place for place, name in enumerate(rows.names)}
        by_name = rows.named and hasattr(self, "feature_names_in_")
        columns = _deniable.TrainingColumns()
        for place, (name, values) in enumerate(self._features):
            if by_name:
                if name.lower() not in lower:
                    raise ParameterError(
                        f"X has no column {name!r}", "The feature names should match those that were passed during fit."
                    )
                place = lower[name.lower()]
            rows.add(columns, place, name, self._values(name, values))
        return trained.predict(columns)

    def _values(self, name: str, values: list[str] | None) -> Sequence[Any] | None:
        """Declared categories as the caller wrote them, so that their values are compared as such."""
        if values is None:
            return None
        for key, declared in dict(self.categories or {}).items():
            key = key if isinstance(key, str) else f"x{key}"
            listed = _plain(declared)
            if key == name and [_text(value) for value in listed] == values:
                return listed
        return values

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        classifier = self._kind == "classifier"
        return Tags(
            estimator_type=self._kind,
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            classifier_tags=ClassifierTags() if classifier else None,
            regressor_tags=None if classifier else RegressorTags(),
            # A missing value is one that says nothing, and whether one is there decides nothing.
            input_tags=InputTags(allow_nan=True),
            # Noise and batches never follow from a seed.
            non_deterministic=True,
        )


def _usual(size: int | None, epsilon: float) -> tuple[int, int, float]:
    """Steps, batch and the rate of gradient descent for about so many units: what did best on generated tables of 1,000
    to 30,000 rows. The more units and the larger ε, the smaller is the noise beside what there is to learn, and the
    further a run may go. Each unit is expected in twelve or thirteen batches, whatever the number of steps."""
    if size is None:
        return 100, 256, 0.5
    signal = size * min(epsilon, 10.0) / 5000 if epsilon > 0 else 0.0
    steps = round(min(max(100 * signal**0.7, 50), 400))
    batch = min(size, max(1, round(12.5 * size / steps)))
    return steps, batch, min(max(0.5 * signal**1.3, 0.1), 8.0)


def _size(size: Any, neighbors: str | None, groups: Any, rows: int) -> int | None:
    if size is None:
        return None
    if isinstance(size, str):
        if size == "public":
            return None if neighbors == "change_one" else max(1, _units(groups, rows))
        raise ParameterError("size is neither a number nor \"public\"", "say about how many units there are: size=50000")
    return _whole(size, "size")


def _units(groups: Any, rows: int) -> int:
    """How many units there are: for a caller who declared that this is no secret."""
    if groups is None:
        return rows
    listed = groups.to_pylist() if hasattr(groups, "to_pylist") else _plain(groups)
    return len({str(value) for value in listed if not _missing(value)})


def _whole(value: Any, what: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} is no whole number", "give one of at least 1") from None
    if number < 1 or number != value:
        raise ParameterError(f"{what} is no whole number of at least 1", "give one, such as 256")
    return number


def _seed(random_state: Any) -> int:
    """The seed of the initial weights; noise and batches do not follow from it."""
    if random_state is None:
        return 1
    if isinstance(random_state, int) or hasattr(random_state, "__index__"):
        return int(random_state) % 2**63
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    raise ParameterError("random_state is no whole number", "give one, such as 1; noise never follows from it")


def _budget(budget: Any) -> tuple[str, str] | None:
    if budget is None:
        return None
    try:
        epsilon, delta = budget
    except (TypeError, ValueError):
        raise ParameterError("budget is not ε and δ", "give what all releases together may cost: (3, 1e-5)") from None
    return _number(epsilon, "the ε of budget"), _number(delta, "the δ of budget")


def _device(device: str, hidden: list[int], large: bool = False) -> str:
    """A small model is done on a processor before a GPU has started."""
    if device != "auto":
        return device
    return "cuda" if (large or sum(hidden) >= 512) and _deniable.cuda_is_there() else "cpu"


def _bounds(bounds: Any, rows: _Rows, numbers: list[int]) -> dict[int, tuple[float, float]]:
    """The bounds of each column of numbers, by its place."""
    hint = (
        "declare what values features can have, which must not come from the data: bounds=(0, 1) for all, "
        "bounds=([0, 17], [1, 90]) for each, bounds={'age': (17, 90)} by name, or categories={'ward': ['north', 'south']}"
    )
    if not numbers:
        return {}
    if bounds is None:
        raise ParameterError("the bounds of X are not declared", hint)
    if isinstance(bounds, Mapping):
        missing = [str(rows.names[place]) for place in numbers if rows.names[place] not in bounds]
        if missing:
            raise ParameterError(f"neither bounds nor categories are declared of {', '.join(missing)}", hint)
        return {place: _pair(bounds[rows.names[place]], f"the bounds of {rows.names[place]!r}") for place in numbers}
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ParameterError("bounds are not the lowest and the highest values", hint) from None
    if not hasattr(low, "__len__") and not hasattr(high, "__len__"):
        pair = _pair(bounds, "the bounds")
        return {place: pair for place in numbers}
    width = len(rows.names)
    lows = _plain(low) if hasattr(low, "__len__") else [low] * width
    highs = _plain(high) if hasattr(high, "__len__") else [high] * width
    if len(lows) != width or len(highs) != width:
        raise ParameterError("bounds are not as many as X has columns", hint)
    return {place: _pair((lows[place], highs[place]), f"the bounds of column {place}") for place in numbers}


class PrivateClassifier(_Tabular):
    """A classifier with differential privacy: logistic regression, or a network with hidden layers.

    It follows scikit-learn's protocol: ``fit``, ``predict``, ``predict_proba``, ``score``, ``get_params``, and it can be
    cloned and put into a pipeline. What comes before it in a pipeline sees X as well: a scaler that is
    fitted on private rows releases their means without noise. Declare ``bounds`` instead; features are scaled by them.
    A search over parameters, as by GridSearchCV, pays for every fit and scores without noise: search on public rows.

    Parameters
    ----------
    epsilon, delta
        What the whole run may cost. The noise follows from it, certified.
    bounds
        The lowest and highest value of features: a pair for all, a pair of lists with one entry a column, or a dict of
        pairs by column. Numbers beyond are clamped.
    categories
        Values of columns that are no numbers, by column: a dict of lists.
    classes
        The labels, or ``"public"`` where it is no secret which ones occur in y.
    size
        About how many units there are: a number that is public anyway; or ``"public"`` where the number in the data is no
        secret.
    hidden
        Sizes of hidden layers; none, or 0, is logistic regression.
    clip, adaptive_clip
        The largest L2 norm of one unit's gradient (2 for logistic regression and 1 otherwise), and the quantile of the
        norms that it should follow privately, if any.
    batch_size, steps, epochs
        The expected batch in units, and how many steps, or expected passes over the data. Usual ones follow from ``size``
        and ``epsilon``.
    learning_rate, optimizer, schedule
        ``"adam"``, ``"adam_corrected"``, ``"adamw"`` or ``"sgd"``, which is gradient descent with momentum and usual for
        logistic regression, while Adam is for everything else; ``"constant"``, ``"linear"`` or ``"cosine"``.
    missing_indicator
        Whether a missing number is a feature of its own. It is in the middle of its bounds otherwise.
    unit, neighbors
        Who a unit is, and how neighbouring data differ: ``"add_remove"`` or ``"change_one"``. Those of the ledger where
        there is one, ``"person"`` and ``"add_remove"`` otherwise.
    rows_per_unit
        The most rows of one unit that are learned from, where ``groups`` are given.
    exact_sums
        Clip and sum gradients in exact integer arithmetic, unit by unit: slower, and no rounding of floats enters the
        guarantee. Units with groups are always summed so.
    ledger, budget, analyst, name
        Where the run is charged, what a new ledger allows, who trains, and what the ledger calls the data. See the module.
    checkpoint, checkpoint_every
        Where the run is saved, and every how many steps. In a temporary folder otherwise.
    device, threads
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU where there is one and the model is large.
    random_state
        The seed of the initial weights. Batches and noise never follow from a seed.
    callbacks
        Called after each step with a ``TrainingStep``: ``step``, ``steps``, ``seconds``, ``clip``, ``epsilon()``.
    progress
        Whether a bar is shown; None for one in terminals and notebooks.

    >>> import deniable.train as train
    >>> rows = [[number / 500] for number in range(1000)]
    >>> model = train.PrivateClassifier(epsilon=3, bounds=(0, 2), classes=[0, 1], size=1000)
    >>> model = model.fit(rows, [int(row[0] > 1) for row in rows])
    >>> [int(label) for label in model.predict([[0.2], [1.8]])]
    [0, 1]
    >>> model.receipt_["unit"]["whose"]
    'person'
    """

    _kind = "classifier"
    _estimator_type = "classifier"
    classes_: Any

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        bounds: Any = None,
        categories: Mapping[Any, Sequence[Any]] | None = None,
        classes: Any = None,
        size: int | str | None = None,
        hidden: int | Sequence[int] = (),
        clip: float | None = None,
        adaptive_clip: float | None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        optimizer: str | None = None,
        schedule: str = "linear",
        missing_indicator: bool = False,
        unit: str | None = None,
        neighbors: str | None = None,
        rows_per_unit: int = 100,
        exact_sums: bool = False,
        ledger: str | os.PathLike[str] | None = None,
        budget: tuple[float, float] | None = None,
        analyst: str | None = None,
        name: str = "rows",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 200,
        device: str = "cpu",
        threads: int | None = None,
        random_state: int | None = None,
        callbacks: _Callback | Sequence[_Callback] | None = None,
        progress: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.size = size
        self.hidden = hidden
        self.clip = clip
        self.adaptive_clip = adaptive_clip
        self.batch_size = batch_size
        self.steps = steps
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.schedule = schedule
        self.missing_indicator = missing_indicator
        self.unit = unit
        self.neighbors = neighbors
        self.rows_per_unit = rows_per_unit
        self.exact_sums = exact_sums
        self.ledger = ledger
        self.budget = budget
        self.analyst = analyst
        self.name = name
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.device = device
        self.threads = threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        resume: bool | str | os.PathLike[str] = False,
        stop_at: int | None = None,
    ) -> PrivateClassifier:
        """Learns y from X, privately. ``groups`` says whose each row is.

        ``resume=True`` goes on with the run that was interrupted, or the one at ``checkpoint``; a path names another.
        ``stop_at`` ends a resumed run at that step, with a model.
        """
        labels = _one_column(y, "y")
        classes = self._declared_classes(labels)

        def label(columns: TrainingColumns, name: str) -> dict[str, Any]:
            texts = [_text(value) for value in classes]
            columns.codes(name, _codes(labels, classes), texts)
            return {"values": texts}

        self._fit(X, y, groups, resume, stop_at, label)
        self.classes_ = _array_of(classes)
        return self

    def _declared_classes(self, labels: Any) -> list[Any]:
        if self.classes is None:
            raise ParameterError(
                "the classes are not declared",
                "list the labels: classes=[0, 1]; or say classes=\"public\" if it is no secret which ones occur",
            )
        if isinstance(self.classes, str):
            if self.classes != "public":
                raise ParameterError("classes are neither a list nor \"public\"", "list the labels: classes=[0, 1]")
            classes = _distinct(labels)
        else:
            classes = _plain(self.classes)
        if len(classes) < 2 or len({_text(value) for value in classes}) < len(classes):
            raise ParameterError(
                "a classifier needs at least two classes, all different: with one class there is nothing to learn",
                "list each label once: classes=[0, 1]",
            )
        return classes

    def _describe_label(self, coding: dict[str, Any]) -> None:
        values, kind = coding["one_of"]["values"], coding["one_of"].get("kind")
        read: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "bool": lambda text: text == "true"}
        self.classes_ = _array_of([read.get(kind, str)(value) for value in values])

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, in the order of ``classes_``, as the model sees it."""
        answers, width = self._answers(X)
        return _shaped(answers, len(self.classes_) if not answers else width)

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        answers, width = self._answers(X)
        numpy = _numpy()
        if numpy is not None:
            shares = numpy.frombuffer(answers).reshape(-1, width)
            if not len(shares):
                return self.classes_[:0]
            return self.classes_[shares.argmax(axis=1)]
        rows = _shaped(answers, width)
        return [self.classes_[max(range(width), key=row.__getitem__)] for row in rows]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted, **without noise**: for public data, or with its owners' consent."""
        predicted, labels = list(self.predict(X)), _plain(_one_column(y, "y"))
        weights = [1.0] * len(labels) if sample_weight is None else [float(weight) for weight in sample_weight]
        right = sum(weight for one, other, weight in zip(predicted, labels, weights) if one == other)
        return float(right / sum(weights))


def _distinct(labels: Any) -> list[Any]:
    """The labels that occur, in order: for a caller who declared that this is no secret."""
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    found = {value for value in listed if not _missing(value)}
    numbers = [value for value in found if isinstance(value, float)]
    if any(not value.is_integer() for value in numbers if math.isfinite(value)) or any(map(math.isinf, numbers)):
        raise ParameterError(
            "Unknown label type: continuous. A classifier learns classes", "use PrivateRegressor for numbers"
        )
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=str)


def _array_of(values: list[Any]) -> Any:
    numpy = _numpy()
    if numpy is None:
        return values
    found = numpy.asarray(values)
    return found if len(found) == len(values) and found.ndim == 1 else numpy.asarray(values, dtype=object)


def _shaped(answers: bytes, width: int) -> Any:
    numpy = _numpy()
    if numpy is not None:
        return numpy.frombuffer(answers).reshape(-1, width).copy()
    numbers = array.array("d")
    numbers.frombytes(answers)
    return [list(numbers[place : place + width]) for place in range(0, len(numbers), width)]


class PrivateRegressor(_Tabular):
    """A regressor with differential privacy: linear regression, or a network with hidden layers.

    Parameters are those of :class:`PrivateClassifier`, and ``target_bounds``, the lowest and highest value of y, in
    place of ``classes``.

    >>> from deniable.train import PrivateRegressor
    >>> rows = [[number / 1000] for number in range(2000)]
    >>> model = PrivateRegressor(epsilon=4, bounds=(0, 2), target_bounds=(0, 20), size=2000)
    >>> model = model.fit(rows, [10 * row[0] for row in rows])
    >>> low, high = model.predict([[0.5], [1.5]])
    >>> bool(low < high)
    True
    """

    _kind = "regressor"
    _estimator_type = "regressor"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        bounds: Any = None,
        categories: Mapping[Any, Sequence[Any]] | None = None,
        target_bounds: tuple[float, float] | None = None,
        size: int | str | None = None,
        hidden: int | Sequence[int] = (),
        clip: float | None = None,
        adaptive_clip: float | None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        optimizer: str | None = None,
        schedule: str = "linear",
        missing_indicator: bool = False,
        unit: str | None = None,
        neighbors: str | None = None,
        rows_per_unit: int = 100,
        exact_sums: bool = False,
        ledger: str | os.PathLike[str] | None = None,
        budget: tuple[float, float] | None = None,
        analyst: str | None = None,
        name: str = "rows",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 200,
        device: str = "cpu",
        threads: int | None = None,
        random_state: int | None = None,
        callbacks: _Callback | Sequence[_Callback] | None = None,
        progress: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.categories = categories
        self.target_bounds = target_bounds
        self.size = size
        self.hidden = hidden
        self.clip = clip
        self.adaptive_clip = adaptive_clip
        self.batch_size = batch_size
        self.steps = steps
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.schedule = schedule
        self.missing_indicator = missing_indicator
        self.unit = unit
        self.neighbors = neighbors
        self.rows_per_unit = rows_per_unit
        self.exact_sums = exact_sums
        self.ledger = ledger
        self.budget = budget
        self.analyst = analyst
        self.name = name
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.device = device
        self.threads = threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        resume: bool | str | os.PathLike[str] = False,
        stop_at: int | None = None,
    ) -> PrivateRegressor:
        """Learns y from X, privately: see :meth:`PrivateClassifier.fit`."""
        if self.target_bounds is None:
            raise ParameterError(
                "the bounds of y are not declared",
                "declare what values y can have, which must not come from the data: target_bounds=(0, 100)",
            )
        bounds = _pair(self.target_bounds, "the target_bounds")
        targets = _one_column(y, "y")

        def label(columns: TrainingColumns, name: str) -> dict[str, Any]:
            columns.numbers(name, _floats(targets))
            return {"bounds": bounds}

        self._fit(X, y, groups, resume, stop_at, label)
        return self

    def predict(self, X: Any) -> Any:
        """The number that the model predicts for each row."""
        answers, _ = self._answers(X)
        numpy = _numpy()
        if numpy is not None:
            return numpy.frombuffer(answers).copy()
        numbers = array.array("d")
        numbers.frombytes(answers)
        return list(numbers)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions, **without noise**: for public data, or with its owners' consent."""
        predicted = [float(value) for value in self.predict(X)]
        targets = [float(value) for value in _plain(_one_column(y, "y"))]
        weights = [1.0] * len(targets) if sample_weight is None else [float(weight) for weight in sample_weight]
        mean = sum(weight * target for weight, target in zip(weights, targets)) / sum(weights)
        left = sum(w * (target - value) ** 2 for w, target, value in zip(weights, targets, predicted))
        all_ = sum(w * (target - mean) ** 2 for w, target in zip(weights, targets))
        return 1.0 - left / all_ if all_ > 0.0 else (1.0 if left == 0.0 else 0.0)


class PrivateLanguageModel(_Estimator):
    """A language model of private texts: an LSTM, a GRU or a transformer.

    Each text is one unit of privacy, unless ``groups`` says whose each is; a unit's texts are clipped together. A
    vocabulary is a release of the text that it was made from, so it is made from ``public_text``, or from synthetic
    English where there is none. Parameters that are not listed are those of :class:`PrivateClassifier`.

    Parameters
    ----------
    network, hidden, embedding, blocks, heads, dropout
        ``"lstm"``, ``"gru"`` or ``"transformer"``, and its sizes.
    tokens, public_text
        The size of the vocabulary, and the public text that it is made from.
    length
        The sequence length, in tokens. A longer text is several rows of the same unit.
    validation
        Public text on which the perplexity is measured during the run: ``measurements_``.

    >>> from deniable.train import PrivateLanguageModel
    >>> texts = [f"the cat sat on mat {number}" for number in range(300)]
    >>> model = PrivateLanguageModel(
    ...     epsilon=8, size=300, network="gru", hidden=8, embedding=4, tokens=270, steps=2, batch_size=30
    ... )
    >>> model = model.fit(texts)
    >>> isinstance(model.generate("the ", tokens=3), str)
    True
    """

    _kind = "language"

    def __init__(
        self,
        epsilon: float = 8.0,
        delta: float = 1e-6,
        *,
        network: str = "lstm",
        hidden: int = 100,
        embedding: int = 50,
        blocks: int = 2,
        heads: int = 4,
        dropout: float = 0.0,
        tokens: int = 1000,
        public_text: str | None = None,
        length: int = 20,
        validation: str | None = None,
        size: int | str | None = None,
        clip: float = 1.0,
        adaptive_clip: float | None = None,
        batch_size: int = 256,
        steps: int | None = None,
        epochs: float = 3.0,
        learning_rate: float | None = None,
        optimizer: str = "adam",
        schedule: str = "constant",
        unit: str | None = None,
        neighbors: str | None = None,
        rows_per_unit: int = 100,
        exact_sums: bool = False,
        ledger: str | os.PathLike[str] | None = None,
        budget: tuple[float, float] | None = None,
        analyst: str | None = None,
        name: str = "texts",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 200,
        device: str = "cpu",
        threads: int | None = None,
        random_state: int | None = None,
        callbacks: _Callback | Sequence[_Callback] | None = None,
        progress: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.network = network
        self.hidden = hidden
        self.embedding = embedding
        self.blocks = blocks
        self.heads = heads
        self.dropout = dropout
        self.tokens = tokens
        self.public_text = public_text
        self.length = length
        self.validation = validation
        self.size = size
        self.clip = clip
        self.adaptive_clip = adaptive_clip
        self.batch_size = batch_size
        self.steps = steps
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.schedule = schedule
        self.unit = unit
        self.neighbors = neighbors
        self.rows_per_unit = rows_per_unit
        self.exact_sums = exact_sums
        self.ledger = ledger
        self.budget = budget
        self.analyst = analyst
        self.name = name
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.device = device
        self.threads = threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress

    def fit(
        self,
        texts: Any,
        y: Any = None,
        *,
        groups: Any = None,
        resume: bool | str | os.PathLike[str] = False,
        stop_at: int | None = None,
    ) -> PrivateLanguageModel:
        """Learns from texts: a list, a series, an Arrow array. y is not looked at."""
        columns = _deniable.TrainingColumns()
        if isinstance(texts, str):
            raise ParameterError("texts is one text", "give a list, each entry the text of one unit")
        if hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__"):
            columns.arrow("text", texts, False)
        else:
            columns.texts("text", [clean(value) if isinstance(value, str) else None for value in _plain(texts)])
        run: dict[str, Any] = {
            "name": self.name,
            "catalog": None,
            "ledger": None if self.ledger is None else os.path.abspath(os.fspath(self.ledger)),
            "budget": _budget(self.budget),
            "unit": self.unit,
            "neighbors": self.neighbors,
            "group": None,
            "analyst": _analyst(self.analyst),
            "device": _device(self.device, [], large=True),
            "every": _whole(self.checkpoint_every, "checkpoint_every"),
            "epsilon": _number(self.epsilon, "epsilon"),
            "delta": _number(self.delta, "delta"),
            "clip": float(self.clip),
            "adaptive_clip": None if self.adaptive_clip is None else float(self.adaptive_clip),
            "batch": _whole(self.batch_size, "batch_size"),
            "steps": None if self.steps is None else _whole(self.steps, "steps"),
            "epochs": float(self.epochs),
            "size": _size(self.size, self.neighbors, groups, len(columns)),
            "rows_per_unit": _whole(self.rows_per_unit, "rows_per_unit"),
            "exact_sums": bool(self.exact_sums),
            "optimizer": self.optimizer,
            "rate": None if self.learning_rate is None else float(self.learning_rate),
            "schedule": self.schedule,
            "seed": _seed(self.random_state),
            "threads": self.threads,
            "at_once": 256,
            "columns": [{"name": "text", "bounds": None, "values": None, "nullable": True}],
            "label": "text",
            "features": [],
            "hidden": [],
            "language": {
                "network": self.network,
                "embedding": _whole(self.embedding, "embedding"),
                "hidden": _whole(self.hidden, "hidden"),
                "blocks": _whole(self.blocks, "blocks"),
                "heads": _whole(self.heads, "heads"),
                "dropout": float(self.dropout),
                "length": _whole(self.length, "length"),
                "tokens": _whole(self.tokens, "tokens"),
                "public_text": self.public_text,
                "validation": None,
            },
        }
        if groups is not None:
            run["group"] = "unit"
            run["columns"].append({"name": "unit", "bounds": None, "values": None, "nullable": True})
            _group_column(columns, "unit", groups)
        if self.validation is None or resume:
            # A checkpoint names the file of its own run.
            found = self._train(columns, run, resume, stop_at)
        else:
            found = self._validated(columns, run)
        self.measurements_ = [
            {"step": step, "epsilon": epsilon, "perplexity": value} for step, epsilon, value in found["measurements"]
        ]
        return self

    def _validated(self, columns: TrainingColumns, run: dict[str, Any]) -> dict[str, Any]:
        """With public text to measure on, which a run reads from a file."""
        folder = tempfile.mkdtemp(prefix="deniable-public-")
        path = os.path.join(folder, "validation.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(self.validation))
        run["language"]["validation"] = path
        try:
            return self._train(columns, run, False, None)
        finally:
            # A run that was interrupted reads it again.
            if not hasattr(self, "checkpoint_"):
                shutil.rmtree(folder, ignore_errors=True)

    def generate(self, prompt: str = "", *, tokens: int = 60, temperature: float = 0.8, seed: int = 1) -> str:
        """Continues a text. What a private model says is as public as the model: it costs nothing."""
        return self._fitted().generate(prompt, _whole(tokens, "tokens"), float(temperature), _seed(seed))

    def perplexity(self, text: str) -> float:
        """The perplexity on a text, **without noise**: for public text, or with its owners' consent."""
        return self._fitted().evaluate(text)[0]
