"""Accounts and what they release.

Statistical tests allow deviations of seven standard deviations: each of the about thirty comparisons fails by chance with a
probability below 3e-12, all together below 1e-10.
"""

from __future__ import annotations

import array
import copy
import math
import os
import pickle
import sys
import threading

import pytest

import deniable
import deniable.mechanisms
from deniable.accounting import Accountant, Gaussian, Laplace, Pure
from deniable.mechanisms import Account

from .conftest import examples_run

ENOUGH = 7.0


def test_examples_run():
    assert examples_run(deniable.mechanisms) > 30


def near(value, expected, deviation):
    assert abs(value - expected) <= ENOUGH * deviation, (value, expected, deviation)


def moments(values):
    values = list(values)
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


# Charges.


def test_nothing_is_released_without_a_charge():
    account = Account(epsilon=1)
    first = account.laplace(10, sensitivity=1, epsilon="0.6", purpose="first")
    assert (first.number, first.cost, first.left, account.left) == (1, "ε = 0.6", 0.4, 0.4)
    with pytest.raises(deniable.BudgetError) as refused:
        account.laplace(10, sensitivity=1, epsilon="0.6")
    assert refused.value.left == 0.4 and "0.6" in refused.value.cost and refused.value.hint
    assert [(charge["purpose"], charge["cost"]) for charge in account.charges] == [("first", "ε = 0.6")]
    account.laplace(10, sensitivity=1, epsilon=account.left)
    assert account.left == 0
    assert account.charges[1]["event"] == first.event.__class__.from_json(account.charges[1]["event"].to_json())


def test_charges_add_up_by_the_filter_of_each_budget():
    # Twenty Gaussians of ρ = 1/3200 each are far below (1, 1e-6), of which each alone would take a tenth.
    account = Account(epsilon=1, delta=1e-6)
    for _ in range(20):
        account.gaussian(0, sensitivity=1, noise_multiplier=40)
    plan = Accountant().compose(Gaussian(40), 20)
    assert plan.get_epsilon(1e-6) < 1 and account.left > 0.1
    assert len(account.charges) == 20

    account = Account(rho="0.01")
    for _ in range(4):
        account.gaussian(0, sensitivity=1, rho="0.0025")
    with pytest.raises(deniable.BudgetError):
        account.gaussian(0, sensitivity=1, rho="0.0025")

    # A pure budget has no room for releases that are not pure.
    with pytest.raises(deniable.Error):
        Account(epsilon=1).gaussian(0, sensitivity=1, epsilon="0.5", delta=1e-9)


def test_a_ledger_in_a_file_outlives_the_account(tmp_path):
    path = tmp_path / "ledger.db"
    first = Account(epsilon=1, ledger=path)
    first.count([1, 0, 1], epsilon="0.75", purpose="before")
    del first
    second = Account(epsilon=1, ledger=str(path))
    assert second.left == 0.25 and second.charges[0]["purpose"] == "before"
    with pytest.raises(deniable.BudgetError):
        second.count([1, 0, 1], epsilon="0.75")
    # Both hold the same budget.
    third = Account(epsilon=1, ledger=path)
    third.count([1], epsilon="0.25")
    assert second.left == 0
    with pytest.raises(deniable.LedgerError):
        Account(epsilon=2, ledger=path)
    with pytest.raises(deniable.LedgerError):
        Account(epsilon=1, ledger=tmp_path / "missing" / "ledger.db")


def test_an_account_is_not_copied():
    account = Account(epsilon=1)
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises((deniable.ParameterError, TypeError)):
            copying(account)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_no_account():
    account = Account(epsilon=1)
    session = account.threshold_session(threshold=1, sensitivity=1, epsilon="0.25")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        refused = 0
        for spend in (lambda: account.laplace(1, sensitivity=1, epsilon="0.1"), lambda: session.ask(3)):
            try:
                spend()
            except deniable.Error:
                refused += 1
        os.write(write, bytes([refused]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == bytes([2])
    assert account.left == 0.75


def test_threads_share_one_budget():
    account = Account(epsilon=1)
    done, refused = [], []

    def spend():
        for _ in range(20):
            try:
                done.append(account.laplace(1, sensitivity=1, epsilon="0.02"))
            except deniable.BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(done), len(refused)) == (50, 30)
    assert sorted(release.number for release in done) == list(range(1, 51))


# Noise.


def test_laplace_noise_is_laplace_noise():
    count = 40_000
    values = list(
        memoryview(Account(epsilon=9).laplace([0] * count, sensitivity=3, epsilon=1, coordinates=1).value)
    )
    # The discrete Laplace of scale t has the variance 2a/(1−a)² with a = e^(−1/t), and a fourth moment of about 24t⁴.
    ratio = math.exp(-1 / 3)
    variance = 2 * ratio / (1 - ratio) ** 2
    mean, found = moments(values)
    near(mean, 0, math.sqrt(variance / count))
    near(found, variance, math.sqrt(25 * 3**4 / count))
    near(sum(value == 0 for value in values) / count, (1 - ratio) / (1 + ratio), math.sqrt(0.25 / count))
    assert all(isinstance(value, int) for value in values)


def test_gaussian_noise_is_gaussian_noise():
    count = 40_000
    release = Account(rho=1).gaussian([100.0] * count, sensitivity=2, noise_multiplier=3)
    mean, variance = moments(release.value)
    # A grid that is fine enough for so many roundings adds under 0.1 % to σ = 6.
    near(mean, 100, 6.01 / math.sqrt(count))
    near(variance, 36, 36.1 * math.sqrt(2 / count) + 0.01)
    inside = sum(abs(value - 100) <= 6 for value in release.value) / count
    near(inside, math.erf(1 / math.sqrt(2)), math.sqrt(0.25 / count))
    assert release.cost.startswith("ρ = 0.0555")
    # Neighbouring values of the grid, and nothing between them.
    step = 2.0 ** (math.floor(math.log2(2 / 200)) - 11)
    assert all((value / step).is_integer() for value in release.value)


def test_the_least_gaussian_noise_is_taken():
    account = Account(epsilon=1, delta=1e-6)
    release = account.gaussian(5, sensitivity=1, epsilon="0.5", delta=1e-7)
    assert Accountant().compose(release.event).get_epsilon(1e-7) == pytest.approx(0.5, rel=1e-6)
    assert release.cost == "ε = 0.5, δ = 0.0000001"
    # z·σ at 95 %, and half a step of rounding.
    sigma = deniable.accounting.calibrate_gaussian("0.5", 1e-7)
    assert release.margin(0.95) == pytest.approx(1.959964 * sigma + 0.5, rel=1e-3)


def test_intervals_hold_as_often_as_they_say():
    account = Account(epsilon=10**6)
    inside = 0
    for _ in range(300):
        low, high = account.laplace(20.25, sensitivity=1, epsilon=1).interval(0.9)
        inside += low <= 20.25 <= high
    # At least 90 %; the standard deviation is below √(0.09/300).
    assert inside / 300 >= 0.9 - ENOUGH * math.sqrt(0.09 / 300)
    low, high = account.laplace([0.0] * 1000, sensitivity=1, epsilon=1, coordinates=1).interval(0.999)
    outside = sum(not below <= 0 <= above for below, above in zip(low, high))
    # All of them together, so that even one is a chance of a thousandth, and five one of below 1e-15.
    assert outside < 5 and len(low) == len(high) == 1000
    for confidence in (0, 1, float("nan"), -3):
        with pytest.raises(deniable.ParameterError):
            account.laplace(1, sensitivity=1, epsilon=1).margin(confidence)


def test_rounding_is_paid_for():
    # One number of a vector moves: no more noise than for the number alone. All of a million: hardly more.
    account = Account(epsilon=10**6)
    one = account.laplace(0.0, sensitivity=1, epsilon=1).margin(0.5)
    many = account.laplace([0.0] * 1000, sensitivity=1, epsilon=1)
    assert many.event == Laplace(epsilon=1, vector=True)
    # The margin of 1000 values is that of one at a thousandth of the risk.
    alone = account.laplace(0.0, sensitivity=1, epsilon=1).margin(1 - 0.5 / 1000)
    assert alone <= many.margin(0.5) * 1.001 <= alone * 1.003 and one == pytest.approx(math.log(2), rel=2e-3)


# Aggregates.


def test_bounds_decide_the_sensitivity():
    account = Account(epsilon=10**6)
    # e^−50 of noise: the answer is exact but for a chance below 1e-20.
    assert account.sum(array.array("q", [5, 500, -7]), bounds=(-1, 60), epsilon=60 * 50).value == 5 + 60 - 1
    total = account.sum([0.25, 7.0, float("nan"), None, -3.0], bounds=(0, 1), epsilon=10**5)
    assert total.value == pytest.approx(1.25, abs=1e-3)
    wide = account.sum([1, 2, 3], bounds=(-1, 60), epsilon=1).margin(0.5)
    changed = Account(epsilon=10, neighbors="change_one").sum([1, 2, 3], bounds=(-1, 60), epsilon=1).margin(0.5)
    assert wide == pytest.approx(60 * math.log(2), rel=1e-3)
    assert changed == pytest.approx(61 * math.log(2), rel=1e-3)
    gaussian = Account(rho=1).sum([1.0, 2.0], bounds=(0, 4), noise_multiplier=2)
    assert gaussian.margin(0.95) == pytest.approx(8 * 1.96, rel=1e-2)


def test_means():
    values = [1.0, 2.0, 6.0] * 400
    for account in (Account(epsilon=10**6), Account(epsilon=10**6, neighbors="change_one")):
        before = account.left
        mean = account.mean(values, bounds=(0, 10), epsilon=1000, purpose="mean")
        assert mean.value == pytest.approx(3, abs=0.01) and float(mean) == mean.value
        assert before - account.left == 1000 and mean.cost == "ε = 1000"
        low, high = mean.interval(0.999999999)
        assert low <= 3 <= high and high - low < 0.1
        assert 0 <= account.mean([], bounds=(0, 10), epsilon="0.001").value <= 10
    assert len(account.charges) == 2


def test_counts_and_histograms():
    account = Account(epsilon=10**6)
    assert account.count([True] * 7 + [False] * 3, epsilon=50).value == 7
    assert account.count(array.array("d", [0.0, 2.5, float("nan")]), epsilon=50).value == 1
    assert list(account.histogram([0, 1, 1, 2, 9, -1, 0.5], bins=3, epsilon=50).value) == [1, 2, 1]
    # A person who changes moves two bins.
    one = account.histogram([0], bins=3, epsilon=1).event
    other = Account(epsilon=9, neighbors="change_one").histogram([0], bins=3, epsilon=1)
    assert one != other.event or other.margin(0.5) > 1
    assert Accountant().compose(other.event).get_epsilon(0) == 1


def test_quantiles():
    account = Account(epsilon=10**6)
    values = array.array("q", range(1001))
    median = account.median(values, bounds=(0, 1000), epsilon=50)
    assert isinstance(median.value, int) and abs(median.value - 500) < 10 and median.interval(0.9) is None
    low, high = account.quantile(values, [0.25, "3/4"], bounds=(0, 1000), epsilon=100).value
    assert abs(low - 250) < 10 and abs(high - 750) < 10
    coarse = account.quantile([0.5] * 100, 0.5, bounds=(0, 1), epsilon=50, resolution=0.25).value
    assert coarse == 0.5
    with pytest.raises(deniable.ParameterError):
        account.quantile(values, 1.5, bounds=(0, 1000), epsilon=1)


# Choices.


@pytest.mark.parametrize("how", ["exponential", "noisy_max", "permute_and_flip"])
def test_choices(how):
    account = Account(epsilon=10**6)
    choose = getattr(account, how)
    sure = choose([1, 99, 3], sensitivity=1, epsilon=50, candidates="abc")
    assert (sure.value, sure.index) == ("b", 1)
    assert choose([1.5, 2.5, 99.5], sensitivity="0.5", epsilon=50).value == 2
    # Two scores one apart at ε = 1: the better is chosen with a probability that is known.
    count = 2000
    better = sum(choose([0, 1], sensitivity=1, epsilon=1, monotone=True).index for _ in range(count)) / count
    decay = math.exp(-1)
    expected = {
        "exponential": 1 / (1 + decay),
        # The coin of the worse shows heads with probability 1/e, and then it is chosen half of the time.
        "permute_and_flip": 1 - decay / 2,
        # The tie goes to the first: P[Z₁ − Z₀ ≥ 0] of two discrete Laplace numbers, summed.
        "noisy_max": sum(
            ((1 - decay) / (1 + decay)) ** 2 * decay ** (abs(first) + abs(second))
            for first in range(-60, 61)
            for second in range(-60, 61)
            if 1 + second > first
        ),
    }[how]
    near(better, expected, math.sqrt(0.25 / count))
    assert 0 < sure.margin(0.95) < 1
    with pytest.raises(deniable.ParameterError):
        Account(epsilon=1, neighbors="change_one")._choose(how, [1], 1, 1, None, True, "")
    for scores in ([], [1, 2]):
        with pytest.raises(deniable.ParameterError):
            choose(scores, sensitivity=1, epsilon=1, candidates="a")


def test_randomized_response():
    account = Account(epsilon=10, neighbors="change_one")
    count = 4000
    reports = account.randomized_response(["b"] * count, answers=["a", "b", "c"], epsilon=1)
    truth = math.e / (math.e + 2)
    near(reports.value.count("b") / count, truth, math.sqrt(0.25 / count))
    a, b, c = reports.estimate(1 - 1e-9)
    assert (a.answer, b.answer, c.answer) == ("a", "b", "c")
    assert b.low <= 1 <= b.high and a.low <= 0 <= a.high
    near(b.fraction, 1, math.sqrt(0.25 / count) / (truth - (1 - truth) / 2))
    coded = account.randomized_response(array.array("q", [0, 1, 5, -1]), answers=2, epsilon=1)
    assert len(coded.value) == 4 and set(coded.value) <= {0, 1}
    assert account.left == 8
    with pytest.raises(deniable.ParameterError):
        Account(epsilon=1).randomized_response([0, 1], epsilon="0.5")


def test_thresholds():
    account = Account(epsilon=10**6)
    found = account.above_threshold(
        [1.5, 99.5, 2.5, 98.5, 97.5], threshold=50, sensitivity="0.5", epsilon=200, positives=2
    )
    assert found.value == [False, True, False, True] and found.interval(0.9) is None
    session = account.threshold_session(threshold=50, sensitivity=1, epsilon=200, positives=2, purpose="watch")
    # Others may spend meanwhile.
    account.laplace(1, sensitivity=1, epsilon=1)
    assert [session.ask(number) for number in (1, 99, 3, 98, 99)] == [False, True, False, True, None]
    assert session.positives_left == 0 and session.cost == "ε = 200"
    with pytest.raises(deniable.ParameterError):
        session.ask(1.5)
    real = account.threshold_session(threshold=0.5, sensitivity=1, epsilon=200)
    assert real.ask(-50) is False and real.ask(70.25) is True
    with pytest.raises(deniable.BudgetError):
        Account(epsilon=1).threshold_session(threshold=1, sensitivity=1, epsilon=2)


# What goes in.


def test_numbers_of_all_kinds():
    account = Account(epsilon=10**9)
    add = lambda values: account.laplace(values, sensitivity=1, epsilon=100)
    for code in "bhilqBHILQ":
        release = add(array.array(code, [1, 2, 3]))
        assert list(release.value) == [1, 2, 3], code
    for code in "df":
        release = add(array.array(code, [1, 2, 3]))
        assert [round(value) for value in release.value] == [1, 2, 3], code
    assert add(7).value == 7 and isinstance(add(7).value, int)
    assert isinstance(add(7.0).value, float) and float(add(7)) == 7.0
    assert list(add([1, None, True]).value) == [1, 0, 1]
    assert list(add(range(4)).value) == [0, 1, 2, 3]
    # A number that does not fit is clamped, without an error.
    assert add(10**30).value > 2**62 and add([10**400, 1.0]).value[1] != 0
    for wrong in ("text", ["text"], object(), b"", memoryview(b"abcd").cast("c")):
        if wrong == b"":
            continue
        with pytest.raises(deniable.ParameterError):
            add(wrong)


def test_no_value_is_in_an_error():
    account = Account(epsilon=1)
    secret = 8675309
    for wrong in [
        lambda: account.laplace(secret, sensitivity=0, epsilon=1),
        lambda: account.laplace(secret, sensitivity=-1, epsilon=1),
        lambda: account.laplace(secret, sensitivity=1, epsilon=0),
        lambda: account.laplace(secret, sensitivity=1, epsilon=99),
        lambda: account.laplace([secret, "x"], sensitivity=1, epsilon=1),
        lambda: account.gaussian(secret, sensitivity=1),
        lambda: account.gaussian(secret, sensitivity=1, epsilon=1, delta=0),
        lambda: account.gaussian(secret, sensitivity=1, noise_multiplier=0),
        lambda: account.gaussian(secret, sensitivity=1, epsilon=1, rho=1),
        lambda: account.sum([secret], bounds=(2, 1), epsilon=1),
        lambda: account.sum([secret], bounds=(0, float("inf")), epsilon=1),
        lambda: account.sum([secret], bounds=3, epsilon=1),
        lambda: account.histogram([secret], bins=0, epsilon=1),
        lambda: account.count([secret]),
        lambda: account.above_threshold([secret], threshold=1, sensitivity=1, epsilon=1, positives=0),
    ]:
        with pytest.raises(deniable.Error) as caught:
            wrong()
        assert str(secret) not in str(caught.value) + repr(caught.value)
    assert account.left == 1
    for wrong in [{}, {"delta": 1e-6}, {"epsilon": 1, "rho": 1}, {"epsilon": -1}, {"epsilon": 1, "delta": 1}]:
        with pytest.raises(deniable.ParameterError):
            Account(**wrong)
    assert "8675309" not in repr(account) and "person" in repr(account)


def test_numpy_arrays():
    numpy = pytest.importorskip("numpy")
    account = Account(epsilon=10**9)
    values = numpy.arange(12.0).reshape(3, 4)
    release = account.laplace(values, sensitivity=1, epsilon=1000)
    assert release.value.shape == (3, 4) and release.value.dtype == numpy.float64
    assert numpy.abs(release.value - values).max() < 1
    assert numpy.asarray(release).shape == (3, 4)
    low, high = release.interval(0.9)
    assert low.shape == (3, 4) and (low < high).all()
    release.value[0, 0] = 5.0
    # Strides, a scalar, an empty array, whole numbers.
    assert account.laplace(numpy.arange(10)[::2], sensitivity=1, epsilon=100).value.tolist() == [0, 2, 4, 6, 8]
    assert account.laplace(numpy.float32(2.5), sensitivity=1, epsilon=1000).value == pytest.approx(2.5, abs=0.1)
    assert account.laplace(numpy.array(3), sensitivity=1, epsilon=100).value == 3
    assert account.laplace(numpy.array([]), sensitivity=1, epsilon=1).value.tolist() == []
    assert account.count(numpy.array([True, False, True]), epsilon=50).value == 2
    with pytest.raises(deniable.ParameterError):
        account.laplace(numpy.array(["a"]), sensitivity=1, epsilon=1)
    big = Account(rho=1).gaussian(numpy.zeros(100_000), sensitivity=1, noise_multiplier=2)
    near(float(big.value.std()), 2.0, 2 / math.sqrt(2 * 100_000) + 0.0005)


def test_arrow_arrays():
    pyarrow = pytest.importorskip("pyarrow", minversion="14")
    account = Account(epsilon=10**9)
    for kind in (pyarrow.int64(), pyarrow.int8(), pyarrow.uint64(), pyarrow.float64(), pyarrow.float32()):
        values = pyarrow.array([1, None, 3], type=kind)
        for given in (values, pyarrow.chunked_array([values, values])):
            release = account.laplace(given, sensitivity=1, epsilon=500)
            assert [round(value) for value in release.value][:3] == [1, 0, 3]
            returned = pyarrow.array(release)
            assert returned.to_pylist() == list(release.value)
    assert account.count(pyarrow.array([True, None, True]), epsilon=50).value == 2
    assert account.sum(pyarrow.array([5, 7]), bounds=(0, 10), epsilon=1000).value == 12
    with pytest.raises(deniable.ParameterError):
        account.laplace(pyarrow.array(["a"]), sensitivity=1, epsilon=1)
    with pytest.raises(deniable.ParameterError):
        pyarrow.array(account.laplace(1, sensitivity=1, epsilon=1))


def test_frames():
    account = Account(epsilon=10**9)
    for library in ("pandas", "polars"):
        module = sys.modules.get(library)
        if module is None:
            try:
                module = __import__(library)
            except ImportError:
                continue
        for values in ([1, 2, 3], [1.0, 2.0, 3.0], [1, None, 3]):
            series = module.Series(values)
            total = account.sum(series, bounds=(0, 10), epsilon=10**5).value
            assert total == pytest.approx(sum(value or 0 for value in values), abs=0.01)


def test_a_table_is_not_a_column():
    """Each cell of a row would be charged as a unit of its own."""
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    table = numpy.ones((10, 3))
    account = Account(epsilon=100)
    for values in (table, pandas.DataFrame(table), table.tolist()):
        for release in (
            lambda: account.count(values, epsilon=1),
            lambda: account.sum(values, bounds=(0, 1), epsilon=1),
            lambda: account.mean(values, bounds=(0, 1), epsilon=1),
            lambda: account.quantile(values, 0.5, bounds=(0, 1), epsilon=1),
        ):
            with pytest.raises(deniable.ParameterError) as refused:
                release()
            assert refused.value.hint
    assert account.count(table[:, :1], epsilon=1) is not None


def test_one_large_value_leaves_the_others_as_they_are():
    """The noise at this ε is below 1 but for a probability below 1e-100."""
    account = Account(epsilon=10**9)
    total = account.sum([10**400, 1.0, 2.0], bounds=(0, 10), epsilon=10**6)
    assert abs(float(total.value) - 13) < 1


def test_no_value_of_a_text_column_is_quoted():
    pandas = pytest.importorskip("pandas")
    secret = "Quendolina"
    for column in (pandas.Series([secret, "x"], dtype="string"), pandas.Series([secret, "x"], dtype="category")):
        with pytest.raises(deniable.ParameterError) as refused:
            Account(epsilon=1).sum(column, bounds=(0, 1), epsilon=1)
        assert secret not in str(refused.value) and refused.value.__suppress_context__
