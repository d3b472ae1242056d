"""The verdict on a claim, of an audit that runs something."""

from __future__ import annotations


def judged(refuted: bool | None, epsilon: str | None, delta: str) -> str:
    """The claim and what became of it, in words.

    >>> judged(True, "1", "0")
    'ε = 1, δ = 0: refuted'
    """
    verdict = {True: "refuted", False: "not refuted, which proves nothing", None: "not judged"}[refuted]
    claim = "no claim" if epsilon is None else f"ε = {epsilon}, δ = {delta}"
    return f"{claim}: {verdict}"
