"""A step of training with PyTorch, and with Opacus's two ways of clipping, on one thread.

`peers.py MODEL WHAT` prints one JSON object, in the form of `train_bench`: CPU milliseconds of each step, and the most memory that the process had.
WHAT is `plain` (PyTorch without privacy), `hooks` (Opacus, gradients of examples made), `ghost` (Opacus, norms first, two backward passes) or
`imported` (nothing: the memory of the libraries alone).

A step is forward, backward, clipping and summing, without noise and without the optimizer's update: what our own step does.
"""

import json
import resource
import sys
import time
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.manual_seed(1)

LEAST_STEPS = 10
MOST_STEPS = 200
SECONDS = 6.0


class Lstm(nn.Module):
    """Embedding 50, LSTM 100, 985 tokens."""

    vocabulary, examples, steps = 985, 100, 20

    def __init__(self, recurrent: type[nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.vocabulary, 50)
        self.recurrent = recurrent(50, 100, batch_first=True)
        self.output = nn.Linear(100, self.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.output(self.recurrent(self.embedding(tokens))[0])


class Attention(nn.Module):
    """Four heads, causal, with PyTorch's own fused kernel: `nn.MultiheadAttention` has weights that Opacus cannot hook."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        examples, steps, width = values.shape
        parts = self.project(values).view(examples, steps, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.output(found.transpose(1, 2).reshape(examples, steps, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.expand, self.contract = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.activation = nn.GELU(approximate="tanh")

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        values = values + self.attention(self.first(values))
        return values + self.contract(self.activation(self.expand(self.second(values))))


class Transformer(nn.Module):
    """Four blocks, width 256, four heads, 128 steps, 1000 tokens."""

    vocabulary, examples, steps = 1000, 16, 128

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.vocabulary, 256)
        self.positions = nn.Embedding(self.steps, 256)
        self.blocks = nn.Sequential(*(Block(256, 4) for _ in range(4)))
        self.norm = nn.LayerNorm(256)
        self.output = nn.Linear(256, self.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(self.steps).repeat(tokens.shape[0], 1)
        return self.output(self.norm(self.blocks(self.embedding(tokens) + self.positions(places))))


def build(name: str, private: bool) -> nn.Module:
    if name == "transformer":
        return Transformer()
    if private:
        # Opacus takes its own recurrent layers only.
        from opacus.layers import DPGRU, DPLSTM

        return Lstm({"lstm": DPLSTM, "gru": DPGRU}[name])
    return Lstm({"lstm": nn.LSTM, "gru": nn.GRU}[name])


def main() -> None:
    name, what = sys.argv[1], sys.argv[2]
    model = build(name, what not in ("plain", "imported"))
    tokens = torch.randint(model.vocabulary, (model.examples, model.steps + 1))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    parameters = [parameter for parameter in model.parameters()]
    loss = nn.CrossEntropyLoss()

    def plain() -> None:
        model.zero_grad()
        loss(model(inputs).flatten(0, 1), targets.flatten()).backward()

    step = plain
    if what in ("hooks", "ghost"):
        from torch.utils.data import DataLoader, TensorDataset

        from opacus import PrivacyEngine

        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        loader = DataLoader(TensorDataset(inputs, targets), batch_size=model.examples)
        engine = PrivacyEngine(accountant="rdp")
        options = dict(noise_multiplier=0.0, max_grad_norm=1.0, poisson_sampling=False)
        if what == "hooks":
            model, optimizer, _ = engine.make_private(module=model, optimizer=optimizer, data_loader=loader, **options)

            def hooks() -> None:
                optimizer.zero_grad()
                loss(model(inputs).flatten(0, 1), targets.flatten()).backward()
                optimizer.clip_and_accumulate()

            step = hooks
        else:
            model, optimizer, criterion, _ = engine.make_private(
                module=model, optimizer=optimizer, data_loader=loader, criterion=loss, grad_sample_mode="ghost", **options
            )

            def ghost() -> None:
                optimizer.zero_grad()
                logits = model(inputs)
                criterion(logits.flatten(0, 1), targets.flatten(), shape=logits.shape).backward()

            step = ghost

    milliseconds: list[float] = []
    if what != "imported":
        begun = time.process_time()
        step()
        step()
        while len(milliseconds) < LEAST_STEPS or (time.process_time() - begun < SECONDS and len(milliseconds) < MOST_STEPS):
            start = time.process_time()
            step()
            milliseconds.append((time.process_time() - start) * 1e3)
    milliseconds.sort()
    print(
        json.dumps(
            {
                "model": name,
                "library": "pytorch" if what in ("plain", "imported") else "opacus",
                "what": what,
                "best_ms": round(milliseconds[0], 2) if milliseconds else None,
                "median_ms": round(milliseconds[len(milliseconds) // 2], 2) if milliseconds else None,
                "steps": len(milliseconds),
                "parameters": sum(parameter.numel() for parameter in parameters),
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
