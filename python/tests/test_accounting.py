"""The accountant, against certified references and against its own other answers."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import pytest

import deniable
import deniable.accounting
from deniable.accounting import (
    Accountant,
    Approximate,
    Composed,
    Concentrated,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    NoOp,
    PoissonSampled,
    Pure,
    RandomizedResponse,
    SampledWithoutReplacement,
    SelfComposed,
    ShuffledEpoch,
    calibrate,
    calibrate_gaussian,
    calibrate_noise,
    from_dp_event,
)

from .conftest import examples_run


def test_examples_run():
    assert examples_run(deniable.accounting) > 20


# q, σ, steps, δ and the ε that a contour integral gives, to 1e-11 or better.
TRAINING = [
    ("0.01", "1.0", 1000, "1e-5", 1.82823666651656),
    ("256/60000", "1.1", 14062, "1e-5", 2.38159692142437),
    ("256/60000", "1.1", 14062, "1e-14", 4.579205079910172),
    ("0.001", "0.7", 100_000, "1e-6", 4.13525256962034),
    ("0.01", "0.3", 1000, "1e-5", 69.8157107130009),
    ("0.0001", "0.6", 1_000_000, "1e-12", 4.99975190226306),
]


@pytest.mark.parametrize("rate, sigma, steps, delta, reference", TRAINING)
def test_training_is_what_the_reference_says(rate, sigma, steps, delta, reference):
    accountant = Accountant().compose(PoissonSampled(rate, Gaussian(sigma)), steps)
    low, high = accountant.epsilon_interval(delta)
    assert low <= reference * (1 + 1e-9) and high >= reference * (1 - 1e-9)
    assert high - low <= 1e-6 * high
    assert accountant.get_epsilon(delta) == high
    smallest, largest = accountant.delta_interval(high)
    assert smallest <= largest <= float(delta) * (1 + 1e-5)


def test_many_kinds_together():
    plan = Accountant()
    for place in range(1000):
        plan.compose(Laplace(epsilon=Fraction(1, 1000) + place * Fraction(99, 999_000)))
    for place in range(200):
        plan.compose(Gaussian(5 + place * Fraction(45, 199)))
    low, high = plan.epsilon_interval(1e-6)
    assert low <= 11.1308746350199 * (1 + 1e-9) and high >= 11.1308746350199 * (1 - 1e-9)
    assert high - low < 1e-3
    assert len(plan) == 1200


def test_calibration_keeps_its_target():
    sigma = calibrate_noise(3, 1e-5, sample_rate=0.01, steps=10_000)
    assert sigma == pytest.approx(1.564965535461, rel=1e-6)
    plan = PoissonSampled(0.01, Gaussian(sigma))
    assert 3 - 1e-6 < Accountant().compose(plan, 10_000).get_epsilon(1e-5) <= 3
    assert calibrate_noise(3, 1e-5, batch_size=100, dataset_size=10_000, steps=10_000) == sigma

    fixed = calibrate_noise(2, 1e-5, batch_size=64, dataset_size=10_000, steps=100, sampler="fixed_size")
    step = SampledWithoutReplacement(10_000, 64, Gaussian(fixed))
    assert Accountant(neighbors="change_one").compose(step, 100).get_epsilon(1e-5) <= 2

    epochs = calibrate_noise(2, 1e-5, steps=4, sampler="shuffled")
    epoch = ShuffledEpoch(epochs)
    assert 1.999 < Accountant(neighbors="change_one").compose(epoch, 4).get_epsilon(1e-5) <= 2

    once = calibrate_gaussian(1, 1e-6)
    assert 1 - 1e-9 < Accountant().compose(Gaussian(once)).get_epsilon(1e-6) <= 1

    def releases(multiplier):
        return 3 * Gaussian(multiplier) + Pure("0.1")

    found = calibrate(releases, 1, 1e-6, between=(1, 1000))
    assert 0.9999 < Accountant().compose(releases(found)).get_epsilon(1e-6) <= 1
    # The other way around: the largest ε that fits.
    largest = calibrate(lambda epsilon: 10 * Laplace(epsilon=epsilon), 1, 1e-6, between=(0.01, 10))
    assert Accountant().compose(10 * Laplace(epsilon=largest)).get_epsilon(1e-6) <= 1 < 11 * largest
    for between in [(1000, 2000), (0.1, 0.2)]:
        with pytest.raises(deniable.ParameterError):
            calibrate(releases, 1, 1e-6, between=between)


def test_events_are_what_they_say():
    assert Gaussian("2") == Gaussian(2.0) and hash(Gaussian("2")) == hash(Gaussian(2.0))
    assert Gaussian(2) != Gaussian(2, discrete=True)
    plan = Composed([Pure(1), SelfComposed(Gaussian(2), 5), NoOp()]) + 2 * Pure("1")
    assert plan == Pure(1) * 3 + Gaussian(2) * 5
    assert json.loads(plan.to_json())["composed"][0]["repeated"]["times"] == 3
    for copied in (Event.from_json(plan.to_json()), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan)), eval(repr(plan))):
        assert copied == plan
    assert NoOp() == 0 * Gaussian(1) and Accountant().compose(NoOp()).get_epsilon(0) == 0


def test_each_event_counts():
    delta = "1e-6"
    one = lambda event, **whose: Accountant(**whose).compose(event).get_epsilon(delta)
    assert one(Pure(0.5)) == pytest.approx(0.5, abs=1e-4) and one(Pure(0.5)) <= 0.5
    assert one(Approximate(0.5, "1e-7")) <= 0.5
    assert one(DiscreteLaplace("0.25", 2)) <= 0.5
    assert one(RandomizedResponse(0.5, 4), neighbors="change_one") <= 0.5
    assert 0 < one(Concentrated("0.1")) < 2.5
    # Ten choices cost less than ten of anything that is as private.
    assert one(10 * Exponential(0.5)) < one(10 * Pure(0.5)) <= 5
    # A curve of its own costs less than what is known of a vector.
    assert one(10 * Laplace(epsilon=0.5)) < one(10 * Laplace(epsilon=0.5, vector=True)) <= one(10 * Pure(0.5))
    assert Laplace(4) == Laplace(epsilon=0.25)
    # On a sample everything costs less.
    # An ε alone does not say which units it is about, and amplification is not proved for all.
    assert one(PoissonSampled(0.01, Pure(1))) == one(Pure(1))
    assert Accountant(neighbors="change_one").compose(PoissonSampled(0.01, Pure(1))).get_epsilon(0) == 1
    assert PoissonSampled("0.5", Gaussian(2) * 4) == PoissonSampled("0.5", Gaussian(1))
    assert one(PoissonSampled(1, Gaussian(2))) == pytest.approx(one(Gaussian(2)))


def test_all_accountants_are_there():
    accountant = Accountant().compose(Gaussian(20), 100)
    found = accountant.compare(1e-6)
    assert list(found) == ["basic", "advanced", "optimal", "zcdp", "renyi", "gdp", "numerical"]
    assert all(value is not None for value in found.values())
    assert found["numerical"] < min(found["renyi"], found["zcdp"]) < found["optimal"] <= found["basic"]
    assert found["gdp"] == pytest.approx(found["numerical"], rel=1e-9)
    assert accountant.get_epsilon(1e-6, method="renyi") == found["renyi"]
    assert accountant.get_delta(found["numerical"]) == pytest.approx(1e-6, rel=1e-6)
    assert accountant.get_delta(found["renyi"], method="renyi") <= 1.01e-6
    assert accountant.get_rho() == 0.125 and accountant.get_rdp([2.0]) == [pytest.approx(0.25)]
    assert Accountant().compose(Concentrated(1)).compare(1e-6)["gdp"] is None
    assert Accountant().compose(Concentrated(1)).epsilon_interval(1e-6)[0] == 0


def test_what_is_wrong_is_said():
    for wrong in [
        lambda: Gaussian(0),
        lambda: Gaussian(-1),
        lambda: Gaussian(float("nan")),
        lambda: Gaussian("much"),
        lambda: Gaussian(None),
        lambda: Laplace(),
        lambda: Laplace(0),
        lambda: Pure(-1),
        lambda: Pure(True),
        lambda: PoissonSampled(1.5, Gaussian(1)),
        lambda: SampledWithoutReplacement(10, 11, Gaussian(1)),
        lambda: SampledWithoutReplacement(10, 5, Pure(1)),
        lambda: Gaussian(1) * -1,
        lambda: Accountant(neighbors="REPLACE_SPECIAL"),
        lambda: Accountant().compose(Gaussian(1)).get_epsilon(0),
        lambda: Accountant().compose(Gaussian(1)).get_epsilon(1),
        lambda: Accountant().compose(Gaussian(1)).get_epsilon(1e-6, method="guess"),
        lambda: Accountant().compose(Pure(1)).get_delta(-1),
        lambda: Accountant().compose(Approximate(1, "0.5")).get_epsilon(1e-6),
        lambda: Accountant(neighbors="change_one").compose(PoissonSampled(0.1, Gaussian(1))).get_epsilon(1e-6),
        lambda: calibrate_noise(1, 0, sample_rate=0.1, steps=10),
        lambda: calibrate_noise(1, 1e-5, sample_rate=0.1, steps=10, sampler="guess"),
        lambda: calibrate_noise(1, 1e-5, steps=10),
        lambda: Event.from_json("{}"),
        lambda: Event(),
        lambda: Accountant().compose(Gaussian(1), 2**63),
    ]:
        with pytest.raises(deniable.ParameterError) as caught:
            wrong()
        assert caught.value.hint, caught.value
    assert isinstance(caught.value, ValueError)


def test_supports():
    sampled = PoissonSampled(0.01, Gaussian(1))
    assert Accountant().supports(sampled)
    assert not Accountant(neighbors="change_one").supports(sampled)
    assert not Accountant().supports(object())


# Trees as dp-accounting has them, by the names of their classes and attributes.


def made(name, **attributes):
    return type(name, (), attributes)()


def test_trees_of_dp_accounting_are_read():
    gaussian = made("GaussianDpEvent", noise_multiplier=1.1)
    step = made("PoissonSampledDpEvent", sampling_probability=0.01, event=gaussian)
    tree = made(
        "ComposedDpEvent",
        events=[
            made("SelfComposedDpEvent", event=step, count=1000),
            made("LaplaceDpEvent", noise_multiplier=10.0),
            made("DiscreteLaplaceDpEvent", noise_parameter=0.5, sensitivity=1),
            made("NoOpDpEvent"),
            made("ZCDpEvent", rho=0.01, xi=0.0),
            made("EpsilonDeltaDpEvent", epsilon=0.1, delta=1e-9),
        ],
    )
    expected = (
        1000 * PoissonSampled(0.01, Gaussian(1.1))
        + Laplace(10, vector=True)
        + DiscreteLaplace(0.5, vector=True)
        + Concentrated(0.01)
        + Approximate(0.1, 1e-9)
    )
    assert from_dp_event(tree) == expected
    assert from_dp_event(made("LaplaceDpEvent", noise_multiplier=10.0), one_number=True) == Laplace(10)
    # An accountant reads them by itself.
    assert Accountant().compose(step, 1000).get_epsilon(1e-5) == Accountant().compose(
        PoissonSampled(0.01, Gaussian(1.1)), 1000
    ).get_epsilon(1e-5)
    batch = made("SampledWithoutReplacementDpEvent", source_dataset_size=100, sample_size=10, event=gaussian)
    assert from_dp_event(batch) == SampledWithoutReplacement(100, 10, Gaussian(1.1))
    # p = 1/2 between two: the truth has probability 3/4, three times that of the other, and ln 3 = 1.0986….
    coin = from_dp_event(made("RandomizedResponseDpEvent", noise_parameter=0.5, num_buckets=2))
    assert 1.0986122886681 <= Accountant(neighbors="change_one").compose(coin).get_epsilon(0) < 1.0986122886682
    assert from_dp_event(made("RandomizedResponseDpEvent", noise_parameter=1.0, num_buckets=2)) == NoOp()
    relation = type("NeighboringRelation", (), {"name": "REPLACE_ONE"})()
    assert Accountant(neighbors=relation).neighbors == "change_one"


@pytest.mark.parametrize(
    "event",
    [
        made("NonPrivateDpEvent"),
        made("UnsupportedDpEvent"),
        made("SampledWithReplacementDpEvent", source_dataset_size=9, sample_size=3, event=None),
        made("MixtureOfGaussiansDpEvent", standard_deviation=1.0, sensitivities=[1], sampling_probs=[1]),
        made("SingleEpochTreeAggregationDpEvent", noise_multiplier=1.0, step_counts=4),
        made("RepeatAndSelectDpEvent", event=None, mean=1.0, shape=1.0),
        made("TruncatedSubsampledGaussianDpEvent"),
        made("ZCDpEvent", rho=0.1, xi=0.1),
        made("GaussianDpEvent"),
        made("RandomizedResponseDpEvent", noise_parameter=0.0, num_buckets=2),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_is_not_known_is_refused_by_name(event):
    with pytest.raises(deniable.ParameterError, match=type(event).__name__):
        from_dp_event(event)


def test_dp_accounting_itself_is_read():
    dp_event = pytest.importorskip("dp_accounting.dp_event")
    tree = dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1000
    )
    assert Accountant().compose(tree).get_epsilon(1e-5) == pytest.approx(1.82823666651656, rel=1e-7)
