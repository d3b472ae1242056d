"""Progress bars on standard error, for long work."""

from __future__ import annotations

import sys
import time

_WIDTH = 30


class Progress:
    """A bar on standard error, once something takes longer than ``after`` seconds; it is wiped off at the end.

    Without being told, it shows where somebody can see it: in a terminal and in a notebook. ``unit`` is what is counted;
    where it is named, the bar tells how many are done and how long the rest takes at this pace.
    """

    def __init__(self, label: str, show: bool | None = None, *, unit: str = "", after: float = 1.0) -> None:
        self._label = label
        self._unit = unit
        self._after = after
        self._start = time.monotonic()
        self._first: tuple[float, int] | None = None
        self._last = 0.0
        self._longest = 0
        #: Whether there is a bar at all.
        self.shown = _is_watched() if show is None else bool(show)

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._first is None:
            # If a run is resumed, its earlier steps say nothing about the pace.
            self._first = (now, done)
        if not self.shown or now - self._start < self._after:
            return
        # Not more often than anybody can read, but the last one always.
        if done < total and now - self._last < 0.1:
            return
        self._last = now
        share = min(done / total, 1.0) if total else 0.0
        bar = ("█" * round(_WIDTH * share)).ljust(_WIDTH)
        words = f"{self._label} ▕{bar}▏ {100 * share:3.0f} %"
        if self._unit:
            words += f", {done}/{total} {self._unit}"
            since, before = self._first
            if done > before:
                words += f", {(now - since) / (done - before) * max(total - done, 0):.0f} s left"
        self._longest = max(self._longest, len(words))
        sys.stderr.write("\r" + words.ljust(self._longest))
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._longest:
            sys.stderr.write("\r" + " " * self._longest + "\r")
            sys.stderr.flush()


class Waiting:
    """A line on standard error that says what is being done and for how long, once it takes longer than ``after`` seconds.

    It is wiped off at the end. It shows where somebody can see it: in a terminal and in a notebook.
    """

    def __init__(self, show: bool | None = None, *, after: float = 1.0) -> None:
        self._after = after
        self._start = time.monotonic()
        self._second = -1
        self._longest = 0
        self._doing = ""
        self.shown = _is_watched() if show is None else bool(show)

    def __call__(self, doing: str) -> None:
        passed = time.monotonic() - self._start
        if not self.shown or passed < self._after or (int(passed), doing) == (self._second, self._doing):
            return
        self._second, self._doing = int(passed), doing
        words = f"{doing}, {self._second} s"
        self._longest = max(self._longest, len(words))
        sys.stderr.write("\r" + words.ljust(self._longest))
        sys.stderr.flush()

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        if self._longest:
            sys.stderr.write("\r" + " " * self._longest + "\r")
            sys.stderr.flush()


def _is_watched() -> bool:
    try:
        if sys.stderr.isatty():
            return True
    except (AttributeError, ValueError):
        # There is no standard error, or it is closed.
        pass
    # A notebook has no terminal, and shows what is written over like one.
    return "ipykernel" in sys.modules
