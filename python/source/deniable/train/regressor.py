"""Regressors with differential privacy."""

from __future__ import annotations

from deniable._errors import ParameterError
from deniable.train.answers import numbers_of
from deniable.train.columns import floats, one_column, plain
from deniable.train.parameters import pair, weights_of
from deniable.train.tabular import Tabular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from deniable._deniable import TrainingColumns
    from deniable.train.run import Callback


class PrivateRegressor(Tabular):
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
    target_bounds: Any

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
    ) -> PrivateRegressor:
        """Learns y from X, privately: see :meth:`PrivateClassifier.fit`."""
        if self.target_bounds is None:
            raise ParameterError(
                "the bounds of y are not declared",
                "declare what values y can have, which must not come from the data: target_bounds=(0, 100)",
            )
        bounds = pair(self.target_bounds, "the target_bounds")
        targets = one_column(y, "y")

        def label(columns: TrainingColumns, name: str) -> dict[str, Any]:
            columns.numbers(name, floats(targets))
            return {"bounds": bounds}

        self._fit(X, groups, resume, stop_at, label)
        return self

    def predict(self, X: Any) -> Any:
        """The number that the model predicts for each row."""
        return numbers_of(self._answers(X)[0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions, **without noise**: for public data, or with its owners' consent."""
        predicted = [float(value) for value in self.predict(X)]
        targets = [float(value) for value in plain(one_column(y, "y"))]
        weights = weights_of(sample_weight, len(targets))
        mean = sum(weight * target for weight, target in zip(weights, targets)) / sum(weights)
        left = sum(w * (target - value) ** 2 for w, target, value in zip(weights, targets, predicted))
        all_ = sum(w * (target - mean) ** 2 for w, target in zip(weights, targets))
        return 1.0 - left / all_ if all_ > 0.0 else (1.0 if left == 0.0 else 0.0)
