"""What was seen, and whether it is what was promised."""

import collections
import decimal
import os
import resource
import time

import analysts

MEBIBYTE = 1 << 20
MOST_ABOVE_IDLE = 256 * MEBIBYTE
MOST_GROWTH = 64 * MEBIBYTE
MOST_SECONDS_TO_STOP = 30
MOST_SECONDS_TO_RECOVER = 30
MOST_SECONDS_OF_CATALOG = 3
MOST_SECONDS_TO_SIGN_IN = 10
MOST_INCIDENTS = 100
MOST_BY_OTHERS = 20
"""Percent of the processor that others may take before times are the machine's rather than the server's."""
FORBIDDEN_ADVICE = ("restore it from a copy", "name another file", "accept-restored")
"""Following such a hint while the ledger is intact would spend the budget twice."""


class Figures:
    def __init__(self, here):
        self.here = here
        self.cheap = 4 * here.schedule
        self.answered = []
        self.acknowledged = {}
        self.times = collections.defaultdict(list)
        self.refusals = collections.Counter()
        self.breaks = collections.Counter()
        self.over_budget = 0
        self.lost_answers = []
        self.wrong, self.differing, self.twice, self.lost_charges, self.overspent = [], [], [], [], []
        self.not_intact, self.not_started, self.bad_advice = [], [], []
        self.recovery = 0.0
        self.stops = []
        self.events = collections.Counter()
        self.memory = []
        self.idle = None
        self.floods = {}
        self.left_out = []
        self.receipts = 0
        self.spent = None
        self.incidents = 0
        self.processor = Processor()

    # What analysts report.

    def answer(self, question, answer, before, asked):
        if not analysts.is_plausible(question, answer):
            self.wrong.append(f"{question.sql}: {answer.shown()}")
        if before is not None:
            if before.shown() != answer.shown():
                self.differing.append(f"{question.sql}: {before.shown()}, then {answer.shown()}")
            if before.charge != answer.charge or answer.repeated is False:
                self.twice.append(f"{question.sql}: charge {before.charge}, then {answer.charge}")
            self.time("repeated", asked, answer.received)
            return
        if self.acknowledged.setdefault(answer.charge, question) is not question:
            self.twice.append(f"charge {answer.charge} paid for two questions")
        self.answered.append((question, answer))
        self.time("fresh", asked, answer.received)

    def time(self, kind, began, ended):
        """A time counts unless the server was taken away in it. Then what counts is how long it had been waited for before, if that was too long already, and how long it took afterwards."""
        outage = self.here.outage_between(began, ended)
        if outage is None:
            self.times[kind].append(ended - began)
            return
        if outage.start - began > self.cheap:
            self.times[kind].append(outage.start - began)
        over = self.here.last_outage_end(ended)
        if over is not None and kind != "sign_in":
            self.recovery = max(self.recovery, ended - over)

    def unanswered(self, asked):
        """A question that had no answer when the soak ended."""
        self.events["questions without an end"] += 1
        self.time("fresh", asked, time.monotonic())

    def refusal(self, refusal, attempted):
        calm = self.here.outage_between(attempted, time.monotonic()) is None
        self.refusals[f"{refusal.code}{'' if calm else ' in an outage'}"] += 1
        self.note_advice(f"{refusal.what} {refusal.hint}")

    def note_advice(self, said):
        """Whatever the server or a command says is looked through for advice that must never be given."""
        if any(advice in said for advice in FORBIDDEN_ADVICE):
            self.bad_advice.append(said)

    def ledger_failed(self, when, said):
        self.not_intact.append(f"{when}: {said}")
        self.note_advice(said)

    def start_failed(self, said):
        self.not_started.append(said)
        self.note_advice(said)

    def broken(self, error, attempted):
        calm = self.here.outage_between(attempted, time.monotonic()) is None
        self.breaks[f"{type(error).__name__}{'' if calm else ' in an outage'}"] += 1

    # What the bookkeeper reports.

    def check_budget(self, charges, over, budget):
        total = sum((decimal.Decimal(charge["promise"]["epsilon"]) for charge in charges), decimal.Decimal(0))
        self.spent = {"epsilon": str(total), "limit": str(budget), "charges": len(charges)}
        if over or total > budget:
            self.overspent.append(f"{total} of {budget}")

    # What is made of it.

    def panics(self):
        return self.here.logged().count(b"the program stopped at")

    def quarter(self, place):
        """The largest memory in a quarter of the time."""
        if not self.memory:
            return 0
        start, end = self.memory[0][0], self.memory[-1][0]
        span = max(end - start, 1e-9) / 4
        return max((size for at, size in self.memory if place * span <= at - start <= (place + 1) * span), default=0)

    def verdicts(self):
        """Each figure with its limit and whether it holds; `None` where it says nothing by itself."""
        def none_of(name, found):
            return (name, len(found), 0, not found)

        def quantile(name, kind, part, limit):
            times = sorted(self.times[kind])
            if not times:
                return (name, None, limit, None)
            value = times[min(int(len(times) * part), len(times) - 1)]
            return (name, round(value, 3), limit, value <= limit)

        peak = max((size for _, size in self.memory), default=0)
        above_idle = round((peak - (self.idle or 0)) / MEBIBYTE, 1)
        growth = round((self.quarter(3) - self.quarter(0)) / MEBIBYTE, 1)
        worst_stop = max(self.stops, default=0.0)
        panics = self.panics()
        fresh = len(self.times["fresh"])
        return [
            ("new questions answered", len(self.answered), "> 0", len(self.answered) > 0),
            none_of("overspent", self.overspent),
            none_of("wrong answers", self.wrong),
            none_of("repeated answers that differ", self.differing),
            none_of("charges lost", self.lost_charges),
            none_of("charged twice", self.twice),
            none_of("times the ledger was not intact", self.not_intact),
            none_of("times the server did not start", self.not_started),
            none_of("hints that would spend the budget twice", self.bad_advice),
            quantile(f"new question, seconds at p99 of {fresh}", "fresh", 0.99, self.cheap),
            quantile("new question, seconds at p50", "fresh", 0.5, self.cheap),
            quantile("repeated question, seconds at p99", "repeated", 0.99, self.cheap),
            quantile("system catalog, seconds at p99", "catalog", 0.99, self.cheap),
            quantile("system catalog, most seconds", "catalog", 1, MOST_SECONDS_OF_CATALOG),
            quantile("sign-in with a password, most seconds", "sign_in", 1, MOST_SECONDS_TO_SIGN_IN),
            quantile("health, seconds at p99", "health", 0.99, self.cheap),
            ("answered after an outage, most seconds", round(self.recovery, 3), MOST_SECONDS_TO_RECOVER, self.recovery <= MOST_SECONDS_TO_RECOVER),
            ("stop by SIGTERM, most seconds", round(worst_stop, 3), MOST_SECONDS_TO_STOP, worst_stop <= MOST_SECONDS_TO_STOP),
            ("memory above idle, MiB", above_idle, MOST_ABOVE_IDLE // MEBIBYTE, above_idle * MEBIBYTE <= MOST_ABOVE_IDLE),
            ("memory, last quarter above first, MiB", growth, MOST_GROWTH // MEBIBYTE, growth * MEBIBYTE <= MOST_GROWTH),
            ("panics", panics, 0, panics == 0),
            ("incident files", self.incidents, MOST_INCIDENTS, self.incidents <= MOST_INCIDENTS),
        ]

    def report(self, options):
        verdicts = self.verdicts()
        return {
            "options": options,
            "holds": all(verdict is not False for *_, verdict in verdicts),
            "figures": [{"name": name, "value": value, "limit": limit, "holds": verdict} for name, value, limit, verdict in verdicts],
            "left_out": self.left_out,
            "events": dict(self.events),
            "starts": self.here.starts,
            "receipts_verified": self.receipts,
            "spent": self.spent,
            "processor": self.processor.shares(),
            "idle_mebibytes": round((self.idle or 0) / MEBIBYTE, 1),
            "repeated_questions": len(self.times["repeated"]),
            "answers_lost_in_outages": len(self.lost_answers),
            "refused_for_the_budget": self.over_budget,
            "refusals": dict(self.refusals),
            "broken_connections": dict(self.breaks),
            "floods": self.floods,
            "examples": {name: found[:3] for name, found in self.found().items() if found},
        }

    def found(self):
        return {
            "overspent": self.overspent, "wrong": self.wrong, "differing": self.differing, "lost_charges": self.lost_charges, "twice": self.twice,
            "not_intact": self.not_intact, "not_started": self.not_started, "bad_advice": self.bad_advice,
        }


class Processor:
    """Who kept the machine busy. Where others did, times say little of the server."""

    def __init__(self):
        self.began = self.read()

    @staticmethod
    def read():
        with open("/proc/stat") as stat:
            ticks = [int(field) for field in stat.readline().split()[1:9]]
        busy = sum(ticks) - ticks[3] - ticks[4]
        ours = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(ticks) / os.sysconf("SC_CLK_TCK"), busy / os.sysconf("SC_CLK_TCK"), ours

    def shares(self):
        """In percent of all cores, once what was started has ended."""
        whole, busy, ours = (after - before for before, after in zip(self.began, self.read()))
        part = lambda seconds: round(100 * seconds / max(whole, 1e-9))
        return {"by the soak": part(ours), "by others": part(max(busy - ours, 0)), "idle": part(whole - max(busy, ours))}


def table(report):
    """The report for people."""
    words = {True: "ok", False: "MISSED", None: "-"}
    rows = [(figure["name"], "none" if figure["value"] is None else str(figure["value"]), str(figure["limit"]), words[figure["holds"]]) for figure in report["figures"]]
    widths = [max(len(row[place]) for row in [*rows, ("figure", "seen", "limit", "")]) for place in range(4)]
    lines = ["{:<{}}  {:>{}}  {:>{}}  {}".format("figure", widths[0], "seen", widths[1], "limit", widths[2], "")]
    lines += ["{:<{}}  {:>{}}  {:>{}}  {}".format(name, widths[0], value, widths[1], limit, widths[2], verdict) for name, value, limit, verdict in rows]
    for key in ("events", "refusals", "broken_connections", "floods", "answers_lost_in_outages", "refused_for_the_budget", "receipts_verified", "spent", "idle_mebibytes", "processor"):
        lines.append(f"{key.replace('_', ' ')}: {report[key]}")
    for name, examples in report["examples"].items():
        lines += [f"{name.replace('_', ' ')}: {example[:500]}" for example in examples]
    lines += [f"left out: {what}" for what in report["left_out"]]
    others = report["processor"]["by others"]
    if others > MOST_BY_OTHERS:
        lines.append(f"other programs took {others} % of the processor: times say little of the server")
    lines.append("everything holds" if report["holds"] else "not everything holds")
    return "\n".join(lines)
