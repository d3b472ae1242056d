"""Is the claim true?

A mechanism says "I am (ε, δ)-differentially private". Three ways to hold it to that:

- :func:`verify` when both output distributions can be written down: a proof or a refutation, by exact arithmetic.
  :func:`smallest_epsilon` and :func:`smallest_delta` say what would be true.
- :func:`black_box` when there is only code: any Python callable is run on two neighbouring data sets, and an event that is
  too likely on one of them refutes the claim.
- :func:`one_run` when running is dear: one training with canaries.

:func:`goodness_of_fit` holds a sampler to its distribution.

>>> from deniable import audit
>>> truth, lie = {"yes": "3/4", "no": "1/4"}, {"yes": "1/4", "no": "3/4"}
>>> audit.verify(truth, lie, epsilon="1.0987").proved
True
>>> audit.verify(truth, lie, epsilon=1).refuted
True
"""

from __future__ import annotations

from deniable.audit.canaries import OneRun, one_run
from deniable.audit.exact import (
    Bound,
    Masses,
    Mechanism,
    Verdict,
    mechanism,
    smallest_delta,
    smallest_epsilon,
    verify,
)
from deniable.audit.hunt import CONFIDENCE, BlackBox, black_box
from deniable.audit.samplers import Fit, goodness_of_fit

__all__ = [
    "BlackBox",
    "Bound",
    "Fit",
    "Mechanism",
    "OneRun",
    "Verdict",
    "black_box",
    "goodness_of_fit",
    "mechanism",
    "one_run",
    "smallest_delta",
    "smallest_epsilon",
    "verify",
]
