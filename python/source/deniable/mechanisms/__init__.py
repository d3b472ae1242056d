"""Noise that is exact, and always charged.

Everything here goes through an :class:`Account`: a budget for one kind of privacy unit. A method states what it costs,
the account charges it, and only then is anything drawn, with random bits of the operating system. What comes back is a
:class:`Release`: the value, an interval, what it cost and what is left.

>>> from deniable.mechanisms import Account
>>> account = Account(epsilon=1)
>>> ages = [34, 29, 61, 45, 52, 38]
>>> total = account.sum(ages, bounds=(0, 100), epsilon=0.5)
>>> low, high = total.interval(0.95)
>>> low <= total.value <= high
True
>>> total.cost, account.left
('ε = 0.5', 0.5)

Numbers may be one number, a list, a NumPy array, or anything with the buffer protocol or the Arrow PyCapsule interface
(pyarrow, polars, pandas). What type they have is taken as public. There are two kinds of methods:

- those that compute on the data: :meth:`~Account.count`, :meth:`~Account.sum`, :meth:`~Account.mean`,
  :meth:`~Account.histogram`, :meth:`~Account.quantile`. One row is one unit. They cut values to the bounds that you
  state, and know their sensitivity by that;
- those that add noise to what you computed: :meth:`~Account.laplace`, :meth:`~Account.gaussian` and the choices by score.
  They believe the ``sensitivity`` that you state: how far one unit can move the number, or all numbers together.

What does not follow from the parameters never decides whether a method fails: a value that is missing or not a number
counts as zero, and one that is too large is cut. Whole numbers get noise on the whole numbers. Floats are rounded to a
grid that is some two thousand times finer than the noise, with noise on the same grid: noise that is added in floating
point betrays the number it is added to. The grid reaches to about 2^51 times the sensitivity; what is beyond is cut.
"""

from __future__ import annotations

from deniable.mechanisms.account import Account
from deniable.mechanisms.releases import Choice, Estimate, Mean, Release, Reports, ThresholdSession

__all__ = ["Account", "Choice", "Mean", "Release", "Reports", "ThresholdSession"]
