"""Classifiers with differential privacy."""

from __future__ import annotations

import math

from deniable import _arrays
from deniable._errors import ParameterError
from deniable.train.answers import array_of, shaped
from deniable.train.columns import codes, missing, one_column, plain, text
from deniable.train.parameters import weights_of
from deniable.train.tabular import Tabular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from deniable._deniable import TrainingColumns
    from deniable.train.run import Callback


class PrivateClassifier(Tabular):
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
        Have the plan and the receipt say that sums are exact, and set nothing aside for the rounding of floats. From Python
        gradients are clipped and added in exact integer arithmetic in any case, unit by unit, those of rows that are units
        of their own too: no rounding of floats decides what a unit can do.
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
    classes: Any
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
        callbacks: Callback | Sequence[Callback] | None = None,
        progress: bool | None = None,
    ) -> None:
        self._keep(locals())

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
        labels = one_column(y, "y")
        classes = self._declared_classes(labels)

        def label(columns: TrainingColumns, name: str) -> dict[str, Any]:
            texts = [text(value) for value in classes]
            columns.codes(name, codes(labels, classes), texts)
            return {"values": texts}

        self._fit(X, groups, resume, stop_at, label)
        self.classes_ = array_of(classes)
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
            classes = plain(self.classes)
        if len(classes) < 2 or len({text(value) for value in classes}) < len(classes):
            raise ParameterError(
                "a classifier needs at least two classes, all different: with one class there is nothing to learn",
                "list each label once: classes=[0, 1]",
            )
        return classes

    def _describe_label(self, coding: dict[str, Any]) -> None:
        values, kind = coding["one_of"]["values"], coding["one_of"].get("kind")
        read: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "bool": lambda text: text == "true"}
        self.classes_ = array_of([read.get(kind, str)(value) for value in values])

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, in the order of ``classes_``, as the model sees it."""
        answers, width = self._answers(X)
        return shaped(answers, len(self.classes_) if not answers else width)

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        shares = self.predict_proba(X)
        if not len(shares):
            return self.classes_[:0]
        if _arrays.numpy() is not None:
            return self.classes_[shares.argmax(axis=1)]
        return [self.classes_[max(range(len(row)), key=row.__getitem__)] for row in shares]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted, **without noise**: for public data, or with its owners' consent."""
        predicted, labels = list(self.predict(X)), plain(one_column(y, "y"))
        weights = weights_of(sample_weight, len(labels))
        right = sum(weight for one, other, weight in zip(predicted, labels, weights) if one == other)
        return float(right / sum(weights))


def _distinct(labels: Any) -> list[Any]:
    """The labels that occur, in order: for a caller who declared that this is no secret."""
    found = {value for value in plain(labels) if not missing(value)}
    numbers = [value for value in found if isinstance(value, float)]
    if any(not value.is_integer() for value in numbers if math.isfinite(value)) or any(map(math.isinf, numbers)):
        raise ParameterError(
            "Unknown label type: continuous. A classifier learns classes", "use PrivateRegressor for numbers"
        )
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=str)
