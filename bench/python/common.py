"""What both sides share: how a call is timed, and what is asked."""

import json
import statistics
import time
from collections.abc import Callable

BOUNDS = (0.0, 100.0)
EPSILON = 1.0
# The noise's standard deviation over the sensitivity, in the draws.
MULTIPLIER = 10.0
DRAWS = 1_000_000
# A step of training, composed.
STEPS, SIGMA, BATCH, SIZE, STEP_DELTA = 14_062, 1.0, 256, 60_000, 1e-5
# The classifiers. diffprivlib's is pure, so δ is for the other two.
CLASSIFIER_EPSILON, CLASSIFIER_DELTA = 1.0, 1e-5
FITS = 5


class Timed:
    """Seconds of each call: by the clock, and of all threads of the process together. On a busy machine the second varies less."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def call(self, call: Callable[[], object]) -> None:
        before, before_cpu = time.perf_counter(), time.process_time()
        call()
        self.wall.append(time.perf_counter() - before)
        self.cpu.append(time.process_time() - before_cpu)

    def times(self, factor: float) -> "Timed":
        self.wall = [factor * one for one in self.wall]
        self.cpu = [factor * one for one in self.cpu]
        return self


def repeat(call: Callable[[int], object], *, most: int = 15, enough_seconds: float = 3.0) -> Timed:
    """Times calls, after one that is not counted where there is time for it. A call is told its number, so that it can ask something new."""
    timed = Timed()
    started = time.perf_counter()
    while len(timed.wall) <= most and (not timed.wall or time.perf_counter() - started < enough_seconds):
        timed.call(lambda: call(len(timed.wall)))
    if len(timed.wall) > 1:
        del timed.wall[0], timed.cpu[0]
    return timed


def tell(what: str, tool: str, version: str, timed: Timed, **more: object) -> None:
    """Prints the row of one process."""
    seconds = {"seconds": timed.wall, "cpu_seconds": timed.cpu, "median": statistics.median(timed.wall)}
    print(json.dumps({"what": what, "tool": tool, "version": version, **seconds, **more}), flush=True)
