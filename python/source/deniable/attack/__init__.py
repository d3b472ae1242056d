"""What an adversary makes of a release.

Every attack here reads what was published and nothing else, and shows what it recovered beside the most that (ε, δ) allows:

- :func:`reconstruct` rebuilds people from a published table of counts, medians and means; :func:`reconstruct_cells` the
  cells of a table from its margins.
- :func:`linear` rebuilds everybody's secret bit from noisy answers to random subset queries; :func:`average` asks one
  question many times; :func:`difference` asks two that differ in one person.
- :func:`membership` asks from published means who was in the data; :func:`membership_scores` judges any such attack, on a
  model for example, by its scores.
- :func:`link` finds the rows of one table in another; :func:`uniqueness` says whom columns single out.

Results are objects with plain attributes. What they show of themselves are numbers of people, never people; what was
recovered is in their attributes and in ``to_dict()``.

>>> from deniable import attack
>>> found = attack.reconstruct(attack.census())
>>> found.unique, len(found.certain)
(True, 7)
"""

from __future__ import annotations

from deniable.attack.linkage import Links, Uniqueness, link, uniqueness
from deniable.attack.questions import (
    Averaging,
    Linear,
    Repeated,
    average,
    difference,
    linear,
    rewritings,
    right_guesses,
)
from deniable.attack.reconstruction import Cells, Reconstruction, census, reconstruct, reconstruct_cells
from deniable.attack.tracing import (
    Membership,
    MembershipScores,
    membership,
    membership_scores,
    membership_study,
)

__all__ = [
    "Averaging",
    "Cells",
    "Linear",
    "Links",
    "Membership",
    "MembershipScores",
    "Reconstruction",
    "Repeated",
    "Uniqueness",
    "average",
    "census",
    "difference",
    "linear",
    "link",
    "membership",
    "membership_scores",
    "membership_study",
    "reconstruct",
    "reconstruct_cells",
    "rewritings",
    "right_guesses",
    "uniqueness",
]
