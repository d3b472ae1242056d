"""Shared by classifiers and regressors: columns that are declared, and predictions of a model for rows."""

from __future__ import annotations

import os
from collections.abc import Mapping

from deniable import _arrays, _deniable
from deniable._errors import ParameterError
from deniable.train.columns import Rows, fresh, plain, text
from deniable.train.estimator import Estimator
from deniable.train.parameters import about, pair, size_of, units_of, usual, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from deniable._deniable import TrainedModel, TrainingColumns


class Tabular(Estimator):
    """What classifiers and regressors have in common."""

    _at_once = 1024
    _features: list[tuple[str, list[str] | None]]

    bounds: Any
    categories: Any
    hidden: Any
    missing_indicator: bool

    def _widths(self) -> list[int]:
        """The sizes of the hidden layers."""
        hidden = [self.hidden] if isinstance(self.hidden, int) else self.hidden
        return [width for width in hidden if width > 0]

    def _is_large(self) -> bool:
        return sum(self._widths()) >= 512

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"hidden": self._widths()}

    def _plan(self, size: int | None, run: dict[str, Any]) -> None:
        """Batches, steps and the rest: as asked for, or as is usual for so many units."""
        steps, batch, rate = usual(size, about(self.epsilon))
        logistic = self._kind == "classifier" and not run["hidden"]
        run["batch"] = batch if self.batch_size is None else whole(self.batch_size, "batch_size")
        if self.steps is None and self.epochs is None:
            run["steps"] = steps
        if self.optimizer is None:
            run["optimizer"] = "sgd" if logistic else "adam"
        if self.learning_rate is None:
            slow = run["optimizer"] != "sgd"
            run["rate"] = (0.01 if run["hidden"] else 0.1) if slow else (rate if logistic else 0.05)
        if self.clip is None:
            run["clip"] = 2.0 if logistic else 1.0

    def _declared(self, rows: Rows) -> list[tuple[str, tuple[float, float] | None, list[Any] | None]]:
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
            values = plain(categories[rows.names[place]])
            if not values or len({text(value) for value in values}) < len(values):
                raise ParameterError(f"the categories of {name!r} are none, or not all different", "list each once")
            found.append((name, None, values))
        return found

    def _fit(
        self, X: Any, groups: Any, resume: Any, stop_at: int | None, label: Callable[[TrainingColumns, str], dict[str, Any]]
    ) -> None:
        """Learns from X what ``label`` adds to the columns, under a name that none of X has. It returns what is declared of it."""
        rows = Rows(X)
        declared = self._declared(rows)
        run = self._settings()
        columns = _deniable.TrainingColumns()
        for place, (name, bounds, values) in enumerate(declared):
            rows.add(columns, place, name, values)
            texts = None if values is None else [text(value) for value in values]
            nullable = bool(self.missing_indicator) and bounds is not None
            self._declare(run, name, bounds=bounds, values=texts, nullable=nullable)
        run["features"] = [name for name, _, _ in declared]
        run["label"] = fresh("label", run["features"])
        self._declare(run, run["label"], **label(columns, run["label"]))
        self._declare_groups(run, columns, groups)
        run["size"] = public = size_of(self.size, self.neighbors, groups, rows.count)
        if public is None and self.neighbors == "change_one":
            public = units_of(groups, rows.count)
        self._plan(public, run)
        self._train(columns, run, resume, stop_at)
        if not rows.named:
            self.__dict__.pop("feature_names_in_", None)

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
        size = None if self.size is None else whole(self.size, "size")
        run["size"] = size
        self._plan(size, run)
        self._train(None, run, resume, stop_at)
        return self

    def _describe(self, trained: TrainedModel) -> None:
        import json

        encoding = json.loads(trained.encoding() or "{}")
        self._features = []
        for name, coding in encoding["features"]:
            values = coding["one_of"]["values"] if "one_of" in coding else None
            self._features.append((name, values))
        names = [name for name, _ in self._features]
        self.n_features_in_ = len(names)
        numpy = _arrays.numpy()
        if names != [f"x{place}" for place in range(len(names))]:
            self.feature_names_in_ = names if numpy is None else numpy.asarray(names, dtype=object)
        self._describe_label(encoding["label"][1])

    def _describe_label(self, coding: dict[str, Any]) -> None:
        """Attributes that follow from how the label was declared."""

    def _answers(self, X: Any) -> tuple[bytes, int]:
        """What the model says of each row of X."""
        trained = self._fitted()
        rows = Rows(X)
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
            listed = plain(declared)
            if key == name and [text(value) for value in listed] == values:
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
            # A missing value says nothing, and decides nothing by being missing.
            input_tags=InputTags(allow_nan=True),
            # Noise and batches never follow from a seed.
            non_deterministic=True,
        )


def _bounds(bounds: Any, rows: Rows, numbers: list[int]) -> dict[int, tuple[float, float]]:
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
        return {place: pair(bounds[rows.names[place]], f"the bounds of {rows.names[place]!r}") for place in numbers}
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ParameterError("bounds are not the lowest and the highest values", hint) from None
    if not hasattr(low, "__len__") and not hasattr(high, "__len__"):
        return dict.fromkeys(numbers, pair(bounds, "the bounds"))
    width = len(rows.names)
    lows = plain(low) if hasattr(low, "__len__") else [low] * width
    highs = plain(high) if hasattr(high, "__len__") else [high] * width
    if len(lows) != width or len(highs) != width:
        raise ParameterError("bounds are not as many as X has columns", hint)
    return {place: pair((lows[place], highs[place]), f"the bounds of column {place}") for place in numbers}
