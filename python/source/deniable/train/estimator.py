"""Shared by all estimators: parameters by name, a model with its receipt, and a run."""

from __future__ import annotations

import os

from deniable import _deniable
from deniable._errors import FileError, ParameterError
from deniable._numbers import at_least
from deniable._progress import Progress
from deniable.train.answers import tensors
from deniable.train.columns import fresh, group_column
from deniable.train.errors import Interrupted, not_fitted
from deniable.train.parameters import about, analyst_of, budget_of, device_of, number_of, seed_of, whole
from deniable.train.run import clear, made_folder, observer, own_ledger, place_of_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from deniable._deniable import TrainedModel, TrainingColumns


class Estimator:
    """Parameters by name, as scikit-learn's estimators have them, without scikit-learn."""

    # Set by each class.
    _kind: str
    _at_once: int

    # Parameters of all estimators.
    epsilon: float
    delta: float
    size: Any
    clip: float | None
    adaptive_clip: float | None
    batch_size: int | None
    steps: int | None
    epochs: float | None
    learning_rate: float | None
    optimizer: str | None
    schedule: str
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
    random_state: Any
    callbacks: Any
    progress: bool | None

    # The results of a run.
    _model: bytes
    checkpoint_: str | None
    n_features_in_: int

    def _keep(self, given: dict[str, Any]) -> None:
        """Keeps the parameters of ``__init__`` as they were given: what is wrong with one is said by ``fit``.

        The protocol reads their names off the signature of ``__init__``, so that each class lists its own.
        """
        self.__dict__.update((name, value) for name, value in given.items() if name not in ("self", "__class__"))

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
            raise not_fitted(type(self).__name__)
        if "_trained" not in self.__dict__:
            self._trained = _deniable.TrainedModel.read(self._model)
        trained: TrainedModel = self._trained
        return trained

    # The model and what it guarantees.

    @property
    def receipt_(self) -> dict[str, Any]:
        """What the model guarantees, to whom, and everything that decided about it: public, all of it."""
        import json

        receipt = self._fitted().receipt()
        if receipt is None:
            raise ParameterError("this model was trained without privacy", "it has no receipt")
        read: dict[str, Any] = json.loads(receipt)
        return read

    @property
    def epsilon_(self) -> float:
        """The certified ε of the run."""
        return at_least(self.receipt_["epsilon"])

    @property
    def delta_(self) -> float:
        """The δ of the run."""
        return at_least(self.receipt_["delta"])

    def parameters(self) -> dict[str, Any]:
        """The parameters of the model, by name: NumPy arrays, or nested lists where NumPy is not installed."""
        self._fitted()
        return tensors(self._model)

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

    def _is_large(self) -> bool:
        """Whether a GPU is worth its start."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """What all kinds of runs take."""
        return {
            "name": self.name,
            "catalog": None,
            "ledger": None if self.ledger is None else os.path.abspath(os.fspath(self.ledger)),
            "budget": budget_of(self.budget),
            "unit": self.unit,
            "neighbors": self.neighbors,
            "group": None,
            "analyst": analyst_of(self.analyst),
            "device": device_of(self.device, self._is_large()),
            "every": whole(self.checkpoint_every, "checkpoint_every"),
            "epsilon": number_of(self.epsilon, "epsilon"),
            "delta": number_of(self.delta, "delta"),
            "clip": 1.0 if self.clip is None else float(self.clip),
            "adaptive_clip": None if self.adaptive_clip is None else float(self.adaptive_clip),
            "steps": None if self.steps is None else whole(self.steps, "steps"),
            "epochs": 1.0 if self.epochs is None else float(self.epochs),
            "rows_per_unit": whole(self.rows_per_unit, "rows_per_unit"),
            "exact_sums": bool(self.exact_sums),
            "optimizer": self.optimizer,
            "rate": None if self.learning_rate is None else float(self.learning_rate),
            "schedule": self.schedule,
            "seed": seed_of(self.random_state),
            "threads": self.threads,
            "at_once": self._at_once,
            "columns": [],
            "features": [],
            "hidden": [],
            "language": None,
        }

    @staticmethod
    def _declare(
        run: dict[str, Any],
        name: str,
        *,
        bounds: tuple[float, float] | None = None,
        values: list[str] | None = None,
        nullable: bool = True,
    ) -> None:
        """Declares a column of the data."""
        run["columns"].append({"name": name, "bounds": bounds, "values": values, "nullable": nullable})

    def _declare_groups(self, run: dict[str, Any], columns: TrainingColumns, groups: Any) -> None:
        """Adds the column that says whose each row is, if somebody says so."""
        if groups is None:
            return
        run["group"] = fresh("unit", [column["name"] for column in run["columns"]])
        group_column(columns, run["group"], groups)
        self._declare(run, run["group"])

    def _train(
        self,
        columns: TrainingColumns | None,
        run: dict[str, Any],
        resume: bool | str | os.PathLike[str],
        stop_at: int | None,
    ) -> dict[str, Any]:
        """Runs to the end, or until it is interrupted."""
        checkpoint, folder = place_of_checkpoint(resume, getattr(self, "checkpoint_", None), self.checkpoint)
        run["checkpoint"], run["out"] = checkpoint, checkpoint + ".model"
        own = self.ledger is None and run["catalog"] is None
        if own:
            run["ledger"] = own_ledger(checkpoint)
            # Room for this one run: ledgers add up other bounds than the certified curve of a single run.
            room = (number_of(4 * about(self.epsilon) + 4), number_of(min(8 * about(self.delta), 0.5)))
            run["budget"] = None if resume else room
        # Callbacks see every step; a bar is looked at less often.
        between = 0.0 if self.callbacks else 0.1
        try:
            with Progress("training", self.progress, unit="steps", after=0.0) as bar:
                observe = observer(bar, self.callbacks)
                found, raised = _deniable.train_run(columns, run, bool(resume), stop_at, observe, between)
        except BaseException:
            if os.path.exists(checkpoint):
                self.checkpoint_ = checkpoint
            else:
                clear(folder, checkpoint, own)
            raise
        self.checkpoint_ = found["checkpoint"]
        if found["model"] is None:
            if isinstance(raised, KeyboardInterrupt):
                raise Interrupted(found["checkpoint"]) from raised
            assert raised is not None, "a run without a model was interrupted"
            raise raised
        if self.checkpoint_ is None:
            del self.checkpoint_
            clear(made_folder(checkpoint), checkpoint, own)
        self._model = found["model"]
        self.__dict__.pop("_trained", None)
        self._describe(self._fitted())
        if raised is not None:
            # It came after the last step: the model is there, and so is what was raised.
            raise raised
        return found


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except Exception:
        return False
