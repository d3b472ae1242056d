"""How a run, or a model, can fail."""

from __future__ import annotations

import sys

from deniable._errors import Error


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


def not_fitted(name: str) -> Exception:
    """The error of a model that was not trained: also scikit-learn's own, where scikit-learn is in use."""
    what, hint = f"this {name} is not fitted yet", "call fit first"
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return NotFittedError(what, hint)
    both = type("NotFittedError", (NotFittedError, exceptions.NotFittedError), {})
    found: Exception = both(what, hint)
    return found
