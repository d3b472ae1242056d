"""Mistakes that are planted, to show that each of them is found. `scripts/soak` runs this first: a soak that cannot fail would say nothing."""

import time

import analysts
import books
import figures
import world

T = 0.25


class Nowhere:
    """A server that is never away, and says nothing."""

    schedule = T
    starts = 1

    def __init__(self, log=b"", outages=()):
        self.log, self.outages = log, list(outages)

    def logged(self):
        return self.log

    outage_between = world.World.outage_between
    last_outage_end = world.World.last_outage_end


def question(number=7, attempts=1):
    asked = analysts.Question("ann", 50, number, "0.5", True)
    asked.attempts = attempts
    return asked


def answer(value=None, charge=1, repeated=False):
    value = world.people_younger_than(50) + 1 if value is None else value
    return analysts.Answer(value, value - 6, value + 6, charge, repeated)


def charge(number=1, asked=7, analyst="ann"):
    return {"number": number, "analyst": analyst, "purpose": question(asked).sql}


def seen(here=None, first=None, again=None, late=0.0):
    """Figures of one question that was answered, and perhaps asked again."""
    found = figures.Figures(here or Nowhere())
    asked, now = question(), time.monotonic()
    first = first or answer()
    found.answer(asked, first, None, now - late)
    if again is not None:
        found.answer(asked, again, first, now)
    return found


def with_books(*charges):
    found = seen()
    books.compare(found, found.acknowledged, charges)
    return found


def with_memory(*mebibytes):
    found = seen()
    found.idle = 100 * figures.MEBIBYTE
    found.memory = [(at, size * figures.MEBIBYTE) for at, size in enumerate(mebibytes)]
    return found


def after(found, do):
    do(found)
    return found


def outage(start, end):
    made = world.Outage("kill")
    made.start, made.end = start, end
    return made


NOW = time.monotonic()
MISTAKES = {
    "wrong answers": lambda: seen(first=answer(world.people_younger_than(50) + 61)),
    "repeated answers that differ": lambda: seen(again=answer(world.people_younger_than(50) + 2, repeated=True)),
    "charged twice": lambda: seen(again=answer(charge=2)),
    "charged twice (in the ledger)": lambda: with_books(charge(1), charge(2)),
    "charges lost": lambda: with_books(),
    "charges lost (to another)": lambda: with_books(charge(analyst="bob")),
    "charges lost (for another question)": lambda: with_books(charge(asked=8)),
    "overspent": lambda: after(seen(), lambda found: found.check_budget([{"promise": {"epsilon": "0.5"}}] * 3, False, 1)),
    "hints that would spend the budget twice": lambda: after(seen(), lambda found: found.note_advice("damaged; restore it from a copy")),
    "times the ledger was not intact": lambda: after(seen(), lambda found: found.ledger_failed("now", "it is malformed")),
    "times the server did not start": lambda: after(seen(), lambda found: found.start_failed("error")),
    "new question, seconds at p99": lambda: seen(late=5 * T),
    # It was late before the server was killed: the kill does not hide that.
    "new question, seconds at p99 (before a kill)": lambda: seen(Nowhere(outages=[outage(NOW - 1, NOW + 60)]), late=9 * T),
    "memory above idle": lambda: with_memory(100, 400, 100, 100),
    "memory, last quarter": lambda: with_memory(100, 100, 100, 100, 180, 180),
    "stop by SIGTERM": lambda: after(seen(), lambda found: found.stops.append(60.0)),
    "panics": lambda: seen(Nowhere(b"the program stopped at server/src/lib.rs:1")),
    "new questions answered": lambda: figures.Figures(Nowhere()),
}


def missed(found):
    return [name for name, _, _, holds in found.verdicts() if holds is False]


assert missed(after(with_books(charge()), lambda found: found.check_budget([{"promise": {"epsilon": "0.5"}}] * 2, False, 1))) == []
for planted, make in MISTAKES.items():
    name = planted.split(" (")[0]
    assert any(figure.startswith(name) for figure in missed(make())), f"planted and not found: {planted}"
