"""The accountant in Opacus, where it is installed."""

from __future__ import annotations

import pytest

import deniable
import deniable.accounting

pytest.importorskip("opacus", minversion="1.6")


def test_it_is_an_accountant_of_opacus():
    import deniable.opacus
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier

    registered = deniable.opacus.register()
    assert deniable.opacus.register() is registered
    accountant = create_accountant("deniable")
    for _ in range(3):
        accountant.step(noise_multiplier=1.1, sample_rate=0.004)
    accountant.step(noise_multiplier=1.2, sample_rate=0.004)
    assert accountant.history == [(1.1, 0.004, 3), (1.2, 0.004, 1)] and len(accountant) == 4
    again = create_accountant("deniable")
    again.load_state_dict(accountant.state_dict())
    assert again.get_epsilon(1e-5) == accountant.get_epsilon(delta=1e-5) > 0

    # The reference for 14 062 steps, and what the others of Opacus say.
    accountant.history = [(1.1, 256 / 60000, 14062)]
    low, high = accountant.epsilon_interval(1e-5)
    assert low <= 2.38159692142438 and 2.38159692142436 <= high < 2.381597
    rdp = create_accountant("rdp")
    rdp.history = accountant.history
    assert high < rdp.get_epsilon(1e-5)
    sigma = get_noise_multiplier(
        target_epsilon=3, target_delta=1e-5, sample_rate=0.01, steps=1000, accountant="deniable"
    )
    accountant.history = [(sigma, 0.01, 1000)]
    assert 2.98 < accountant.get_epsilon(1e-5) <= 3
    accountant.history = [(0.0, 0.01, 1)]
    assert accountant.get_epsilon(1e-5) == float("inf")


def test_training_counts_its_steps():
    import deniable.opacus
    import torch
    from opacus import PrivacyEngine

    deniable.opacus.register()
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(256, 4), torch.randint(0, 2, (256,)))
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(data, batch_size=32)
    engine = PrivacyEngine(accountant="deniable")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
    )
    for inputs, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    expected = deniable.accounting.Accountant().compose(
        deniable.accounting.PoissonSampled(1 / 8, deniable.accounting.Gaussian(1.0)), len(engine.accountant)
    )
    assert len(engine.accountant) > 0
    assert engine.get_epsilon(1e-5) == expected.get_epsilon(1e-5)


def test_accumulated_batches_are_not_one_larger_sample():
    import deniable.opacus

    accountant = deniable.opacus.register()()

    class Optimizer:
        noise_multiplier = 2.0
        accumulated_iterations = 4

    accountant.get_optimizer_hook_fn(0.01)(Optimizer())
    ((multiplier, rate, steps),) = accountant.history
    assert (rate, steps) == (0.01, 4) and 0.999999 < multiplier <= 1.0
