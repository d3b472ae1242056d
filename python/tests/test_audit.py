"""The verifier, the black box, one run with canaries, and goodness of fit."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import pytest

from deniable import audit

from .conftest import examples_run, refused

TRUTH = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
LIE = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}


def test_examples_run():
    examples_run(audit)


def test_randomized_response_at_ln_3_is_proved_and_refuted_on_either_side():
    bound = audit.smallest_epsilon(TRUTH, LIE)
    assert bound.lower <= math.log(3) <= bound.upper and bound.upper - bound.lower < 1e-12
    assert audit.verify(TRUTH, LIE, epsilon="1.098612289").proved
    verdict = audit.verify(TRUTH, LIE, epsilon="1.098612288")
    assert verdict.refuted and not verdict.proved
    # δ at ε = 0 is the total variation distance, 1/2.
    assert audit.smallest_delta(TRUTH, LIE, epsilon=0).exact == Fraction(1, 2)


def test_distributions_come_as_dicts_or_lists_of_exact_numbers():
    expected = audit.smallest_epsilon(TRUTH, LIE)
    for first, second in [
        ([0.75, 0.25], [0.25, 0.75]),
        ((Decimal("0.75"), "1/4"), ("0.25", Fraction(3, 4))),
        ({"no": "0.25", "yes": "0.75"}, LIE),
        ({"yes": 0.75, "no": 0.25, "never": 0}, LIE),
    ]:
        assert audit.smallest_epsilon(first, second) == expected
    # An outcome that only one of them has reveals its data set.
    assert math.isinf(float(audit.smallest_epsilon({"a": 1}, {"a": "1/2", "b": "1/2"})))
    assert audit.smallest_epsilon({"a": 1}, {"a": "1/2", "b": "1/2"}, delta="1/2").upper < 1e9


def test_named_mechanisms_and_densities():
    laplace = audit.mechanism("laplace", scale=2)
    assert audit.smallest_epsilon(laplace).exact == Fraction(1, 2)
    assert audit.verify(laplace, epsilon=0.5).proved
    geometric = audit.mechanism("geometric", scale=4, spacing="1/100")
    assert audit.smallest_epsilon(geometric).exact == 25
    uniform = [{"left": 0, "right": 1, "coefficient": 1}]
    moved = [{"left": "1/4", "right": "5/4", "coefficient": 1}]
    assert audit.smallest_delta(uniform, moved, epsilon=3).exact == Fraction(1, 4)
    assert "laplace" in repr(laplace)


def test_a_verdict_shows_itself():
    verdict = audit.verify(TRUTH, LIE, epsilon=1)
    shown = verdict._repr_html_()
    assert "refuted" in shown and "1.0986" in shown
    assert verdict.to_dict()["refuted"] is True
    assert "no finite" in audit.verify([1, 0], [0.5, 0.5], epsilon=1)._repr_html_()


def test_bad_distributions_are_refused_with_a_hint():
    nan = float("nan")
    for first, second, said in [
        ({}, {}, "empty"),
        ([], [], "empty"),
        ([0.5, 0.4], [0.5, 0.5], "not a probability distribution"),
        ([1 / 3, 1 / 3, 1 / 3], ["1/3", "1/3", "1/3"], "not a probability distribution"),
        ([1.5, -0.5], [0.5, 0.5], "not a probability distribution"),
        ([0.5, 0.5], [1], "outcomes"),
        ([nan, 0.5], [0.5, 0.5], "not finite"),
        ([float("inf"), 0.5], [0.5, 0.5], "not finite"),
        ([True, False], [0.5, 0.5], "not a number"),
        (["half", "half"], [0.5, 0.5], ""),
        ({"a": 1}, [1], "dict"),
        ("abc", "abc", "list"),
        (TRUTH, None, "two distributions"),
        (None, TRUTH, ""),
        (7, 8, "list"),
    ]:
        assert said in refused(audit.smallest_epsilon, first, second)
    for epsilon, delta in [(nan, 0), (-1, 0), (None, 0), ("x", 0), (1, nan), (1, 2), (1, -0.1), (True, 0), ([1], 0), (1e9, 0)]:
        refused(audit.verify, TRUTH, LIE, epsilon=epsilon, delta=delta)
    refused(audit.mechanism, "cauchy", scale=1)
    refused(audit.mechanism, "laplace", width=1)
    refused(audit.smallest_epsilon, audit.mechanism("laplace"))
    refused(audit.smallest_epsilon, audit.mechanism("laplace", scale=0))
    refused(audit.smallest_epsilon, audit.mechanism("laplace", scale=1, sigma=2))
    refused(audit.smallest_epsilon, audit.mechanism("laplace", scale=1), TRUTH)


def response(answer):
    """The truth with probability 3/4: ε = ln 3."""
    return answer if random.random() < 0.75 else 1 - answer


def test_a_broken_mechanism_is_refuted_and_a_right_one_is_not():
    # The right one is refuted with probability at most 1e-11, which is the false-alarm rate of this test. The broken one, whose
    # true ε is ln 3 = 1.0986, has 20,000 hits to count, of which 3/4 ± 0.0031 are on the likelier side: the bound is 0.99 or more on average, and a
    # bound below 0.85 would be more than nine deviations off.
    sure = 1 - 1e-11
    right = audit.black_box(response, 0, 1, epsilon="1.0987", samples=40_000, confidence=sure)
    assert right.refuted is False
    assert right.epsilon_lower <= math.log(3)
    broken = audit.black_box(response, 0, 1, epsilon=0.85, samples=40_000, confidence=sure)
    assert broken.refuted is True
    assert 0.85 < broken.epsilon_lower <= math.log(3)
    assert broken.event.startswith("value") and broken.likelier in ("a", "b")
    assert broken.hits[0] > broken.hits[1] and sum(broken.draws) >= 40_000
    assert broken.calls > sum(broken.draws) and broken.delta == "0"


def test_labels_lists_and_no_claim():
    def label(answer):
        return "yes" if response(answer) else "no"

    # Certain of the bound but for 1e-11 each; there is nothing else that can fail.
    found = audit.black_box(label, 0, 1, samples=10_000, confidence=1 - 1e-11)
    assert found.refuted is None and found.epsilon is None
    assert 0 < found.epsilon_lower <= math.log(3)
    assert "“yes”" in found.event or "“no”" in found.event

    def leaks(answer):
        return [random.random(), answer]

    told = audit.black_box(leaks, 0, 1, epsilon=5, samples=4_000)
    assert told.refuted is True and "value" in told.event
    big = audit.black_box(lambda answer: 2**70 + answer, 0, 1, epsilon=5, samples=4_000)
    assert big.refuted is True


def test_delta_is_taken_into_account():
    def fails(answer):
        # Reveals everything with probability 0.05.
        return answer if random.random() < 0.05 else 7

    # With δ = 0 any ε is refuted, with δ = 0.06 none: with probability 1e-11 at most it would be.
    sure = 1 - 1e-11
    assert audit.black_box(fails, 0, 1, epsilon=3, samples=20_000, confidence=sure).refuted is True
    assert audit.black_box(fails, 0, 1, epsilon=0, delta=0.06, samples=20_000, confidence=sure).refuted is False


def test_numpy_outputs_are_read():
    numpy = pytest.importorskip("numpy")
    generator = numpy.random.default_rng()
    found = audit.black_box(
        lambda center: numpy.array([center, 0.0]) + generator.laplace(size=2), 0.0, 9.0, epsilon=1, samples=4_000
    )
    assert found.refuted is True
    for scalar in (numpy.int64, numpy.float32, numpy.bool_):
        assert audit.black_box(lambda answer, of=scalar: of(answer), 0, 1, epsilon=2, samples=2_000).refuted is True


def test_a_black_box_shows_itself_without_outputs():
    found = audit.black_box(lambda answer: f"secret {answer}", 0, 1, epsilon=1, samples=1_000)
    assert "secret" not in repr(found) and "refuted=True" in repr(found)
    assert "refuted" in found._repr_html_() and found.to_dict()["refuted"] is True


def test_time_is_kept():
    def slow(answer):
        time.sleep(0.001)
        return response(answer)

    start = time.monotonic()
    found = audit.black_box(slow, 0, 1, epsilon="1.0987", samples=100_000, seconds=3, confidence=1 - 1e-11)
    # All of it would take minutes.
    assert time.monotonic() - start < 40
    assert found.refuted is False and found.calls < 20_000


def test_bad_questions_to_the_black_box_are_refused():
    nan = float("nan")
    refused(audit.black_box, 3, 0, 1, epsilon=1)
    for named in [
        {"epsilon": nan},
        {"epsilon": -1},
        {"epsilon": "one"},
        {"epsilon": 1, "delta": nan},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "samples": 10},
        {"epsilon": 1, "samples": 1e5},
        {"epsilon": 1, "samples": 10**9},
        {"epsilon": 1, "confidence": 1},
        {"epsilon": 1, "confidence": nan},
        {"epsilon": 1, "look": "nothing"},
        {"epsilon": 1, "look": None},
        {"epsilon": 1, "seconds": 0},
        {"epsilon": 1, "seconds": nan},
    ]:
        refused(audit.black_box, response, 0, 1, **named)
    for output in [{"a": 1}, object(), [[1, 2]], [object()]]:
        refused(audit.black_box, lambda _, output=output: output, 0, 1, epsilon=1, samples=1_000)
    refused(audit.black_box, lambda _: [0] * 2000, 0, 1, epsilon=1, samples=1_000)


def test_what_the_mechanism_raises_is_raised():
    class Own(Exception):
        pass

    def fails(_):
        raise Own

    with pytest.raises(Own):
        audit.black_box(fails, 0, 1, epsilon=1)


LONG_AUDIT = """
import random, sys, time
from deniable import audit

def slow(answer):
    time.sleep(0.0005)
    return random.random() + answer

print("running", flush=True)
try:
    audit.black_box(slow, 0, 1, epsilon=1, samples=10_000_000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_stops_a_long_audit():
    process = subprocess.Popen([sys.executable, "-c", LONG_AUDIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "running"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "interrupted" in said and process.returncode == 7


def test_progress_is_shown_when_asked_for(capsys):
    def slow(answer):
        time.sleep(0.0005)
        return response(answer)

    audit.black_box(slow, 0, 1, epsilon=2, samples=3_000, progress=True)
    assert "auditing" in capsys.readouterr().err
    audit.black_box(response, 0, 1, epsilon=2, samples=3_000)
    assert capsys.readouterr().err == ""


def test_one_run_bounds_epsilon():
    coins = [True] * 500 + [False] * 500
    random.shuffle(coins)
    told = audit.one_run([float(coin) for coin in coins], coins, epsilon=2)
    assert told.refuted is True and 2 < told.epsilon_lower <= told.largest
    assert told.correct == told.guesses and told.canaries == 1000 and told.included == 500
    assert told.allowed is not None and told.allowed < told.correct
    # Scores that know nothing: refuted with probability at most 1e-11.
    blind = audit.one_run([random.random() for _ in coins], coins, epsilon=0, confidence=1 - 1e-11)
    assert blind.refuted is False
    # Equal scores tell nothing either, whatever the order of the canaries; at most 1e-11 again.
    sorted_coins = [True] * 500 + [False] * 500
    assert audit.one_run([0.0] * 1000, sorted_coins, epsilon=0, confidence=1 - 1e-11).refuted is False
    assert audit.one_run([0.0] * 10, [1, 0] * 5).refuted is None
    assert "right guesses" in told._repr_html_() and told.to_dict()["canaries"] == 1000


def test_bad_runs_are_refused():
    nan = float("nan")
    refused(audit.one_run, [], [])
    refused(audit.one_run, [1.0], [True])
    refused(audit.one_run, [1.0, 2.0], [True])
    refused(audit.one_run, [1.0, nan], [True, False])
    refused(audit.one_run, [1.0, None], [True, False])
    refused(audit.one_run, [1.0, 2.0], [True, "no"])
    refused(audit.one_run, [1.0, 2.0], [True, 2])
    refused(audit.one_run, [1.0, 2.0], [True, False], guesses=2)
    refused(audit.one_run, [1.0, 2.0], [True, False], epsilon=nan)
    refused(audit.one_run, [1.0, 2.0], [True, False], confidence=1)
    refused(audit.one_run, "ab", [True, False])


def test_goodness_of_fit():
    # 1 and −1 with probability 1/4 each, 0 otherwise; a right sampler fails at 1e-11 at most.
    fair = [random.choice([0, 0, 1, -1]) for _ in range(20_000)]
    masses = {0: "1/2", 1: 0.25, -1: 0.25}
    good = audit.goodness_of_fit(fair, masses, false_alarm=1e-11)
    assert good.consistent and good.samples == 20_000
    assert not audit.goodness_of_fit([*fair, 2], masses).consistent
    assert not audit.goodness_of_fit(fair, {0: "1/3", 1: "1/3", -1: "1/3"}).consistent
    # A sum of three fair steps is far from discrete Laplace noise of scale 3: its largest distance is above 0.1.
    assert not audit.goodness_of_fit(fair, "discrete-laplace", scale=3).consistent
    # By inversion: P(|k| ≥ m) falls by e^(−1/2) a step, and k = 0 is not counted twice. 1e-11 again.
    def geometric():
        return math.floor(-2 * math.log(1 - random.random()))

    laplace = [geometric() - geometric() for _ in range(20_000)]
    assert audit.goodness_of_fit(laplace, "discrete-laplace", scale=2, false_alarm=1e-11).consistent
    assert not audit.goodness_of_fit(laplace, "discrete-gaussian", sigma=2).consistent
    rounded = [round(random.gauss(0, 5)) for _ in range(20_000)]
    assert audit.goodness_of_fit(rounded, "rounded-gaussian", sigma=5, false_alarm=1e-11).consistent
    assert "limit" in good._repr_html_() and good.to_dict()["consistent"]


def test_bad_samples_are_refused():
    nan = float("nan")
    refused(audit.goodness_of_fit, [], "discrete-laplace", scale=1)
    refused(audit.goodness_of_fit, [], {"a": 1})
    refused(audit.goodness_of_fit, [0.5], "discrete-laplace", scale=1)
    refused(audit.goodness_of_fit, [nan], "discrete-laplace", scale=1)
    refused(audit.goodness_of_fit, [1], "discrete-laplace")
    refused(audit.goodness_of_fit, [1], "discrete-laplace", scale=0)
    refused(audit.goodness_of_fit, [1], "discrete-laplace", scale=nan)
    refused(audit.goodness_of_fit, [1], "cauchy", sigma=1)
    refused(audit.goodness_of_fit, [1], {1: 0.4})
    refused(audit.goodness_of_fit, [1], {1: nan})
    refused(audit.goodness_of_fit, [1], {1: 1}, false_alarm=0)
    refused(audit.goodness_of_fit, 5, {1: 1})
