"""The same step in PyTorch on a GPU, and in Opacus where it is installed; prints one JSON object.

A step without privacy is forward, backward, Adam. Products are rounded to TF32 or not, as for ours; cuDNN runs the LSTM without privacy.
"""

import gc
import json
import statistics
import time

import torch

EXAMPLES, STEPS, VOCABULARY, EMBEDDING, HIDDEN = 256, 64, 10_000, 256, 512
WARM, TIMED = 5, 40


class Model(torch.nn.Module):
    def __init__(self, lstm):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, EMBEDDING)
        self.cell = lstm(EMBEDDING, HIDDEN, batch_first=True)
        self.output = torch.nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, tokens):
        return self.output(self.cell(self.embedding(tokens))[0])


def measure(step):
    torch.cuda.reset_peak_memory_stats()
    times = []
    for number in range(WARM + TIMED):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if number >= WARM:
            times.append((time.perf_counter() - start) * 1e3)
    return {
        "median": round(statistics.median(times), 3),
        "least": round(min(times), 3),
        "most": round(max(times), 3),
        "memory_mib": round(torch.cuda.max_memory_allocated() / 2**20),
    }


def plain(inputs, targets):
    model = Model(torch.nn.LSTM).cuda()
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(inputs)
        torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1)).backward()
        optimizer.step()

    return measure(step)


def private(inputs, targets):
    from opacus import GradSampleModule
    from opacus.layers import DPLSTM
    from opacus.optimizers import DPOptimizer

    model = GradSampleModule(Model(DPLSTM).cuda())
    optimizer = DPOptimizer(
        torch.optim.Adam(model.parameters()), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=EXAMPLES
    )

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(inputs)
        torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1)).backward()
        optimizer.step()

    return measure(step)


def main():
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(VOCABULARY, (EXAMPLES, STEPS + 1), generator=generator).cuda()
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    result = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    for name, kind in (("plain_ms", plain), ("opacus_ms", private)):
        for rounded in (True, False):
            torch.backends.cuda.matmul.allow_tf32 = rounded
            torch.backends.cudnn.allow_tf32 = rounded
            # What the last one left in cycles of references.
            gc.collect()
            torch.cuda.empty_cache()
            try:
                result.setdefault("Rounded" if rounded else "Full", {})[name] = kind(inputs, targets)
            except ImportError:
                pass
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
