"""The same steps in PyTorch on a GPU, and in Opacus where it is installed; prints one JSON object.

A step without privacy is forward, backward, Adam. For the LSTM products are rounded to TF32 or not, as for ours, and cuDNN runs it without privacy. The transformer runs in TF32, in bf16 by autocast, and in bf16
compiled; with privacy by hooks, and by ghost clipping.
"""

import gc
import json
import statistics
import time

import torch

EXAMPLES, STEPS, VOCABULARY, EMBEDDING, HIDDEN = 256, 64, 10_000, 256, 512
WARM, TIMED = 10, 40


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


BATCH, CONTEXT, WIDTH, HEADS, BLOCKS = 64, 256, 512, 8, 6


class Attention(torch.nn.Module):
    """Causal, with PyTorch's own fused kernel: `nn.MultiheadAttention` has weights that Opacus cannot hook."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.output = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, values):
        examples, steps, _ = values.shape
        parts = self.project(values).view(examples, steps, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = torch.nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.output(found.transpose(1, 2).reshape(examples, steps, WIDTH))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.expand, self.contract = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)
        self.activation = torch.nn.GELU(approximate="tanh")

    def forward(self, values):
        values = values + self.attention(self.first(values))
        return values + self.contract(self.activation(self.expand(self.second(values))))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.positions = torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.output = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        places = torch.arange(CONTEXT, device=tokens.device).repeat(tokens.shape[0], 1)
        return self.output(self.norm(self.blocks(self.embedding(tokens) + self.positions(places))))


def transformer(inputs, targets, half, compiled):
    model = Transformer().cuda()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def losses():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
            return torch.nn.functional.cross_entropy(model(inputs).reshape(-1, VOCABULARY), targets.reshape(-1))

    forward = torch.compile(losses) if compiled else losses

    def step():
        optimizer.zero_grad(set_to_none=True)
        forward().backward()
        optimizer.step()

    return measure(step)


def private_transformer(inputs, targets, ghost, half):
    from opacus import GradSampleModule
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    options = dict(noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=BATCH)
    if ghost:
        model = GradSampleModuleFastGradientClipping(Transformer().cuda(), max_grad_norm=1.0, use_ghost_clipping=True)
        optimizer = DPOptimizerFastGradientClipping(torch.optim.Adam(model.parameters()), **options)
        criterion = DPLossFastGradientClipping(model, optimizer, torch.nn.CrossEntropyLoss(), "mean")
    else:
        model = GradSampleModule(Transformer().cuda())
        optimizer = DPOptimizer(torch.optim.Adam(model.parameters()), **options)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
            logits = model(inputs)
            flat = logits.reshape(-1, VOCABULARY), targets.reshape(-1)
            loss = criterion(*flat, shape=logits.shape) if ghost else torch.nn.functional.cross_entropy(*flat)
        loss.backward()
        optimizer.step()

    return measure(step)


def tokens(generator, examples, steps):
    drawn = torch.randint(VOCABULARY, (examples, steps + 1), generator=generator).cuda()
    return drawn[:, :-1].contiguous(), drawn[:, 1:].contiguous()


def attempt(into, name, work):
    """What a library does not have, or cannot do, is named and left out."""
    gc.collect()
    torch.cuda.empty_cache()
    try:
        into[name] = work()
    except ImportError:
        pass
    except Exception as error:  # noqa: BLE001
        into[name] = {"error": f"{type(error).__name__}: {error}"[:300]}


def main():
    generator = torch.Generator().manual_seed(1)
    texts = tokens(generator, EXAMPLES, STEPS)
    result = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    for rounded in (True, False):
        torch.backends.cuda.matmul.allow_tf32 = rounded
        torch.backends.cudnn.allow_tf32 = rounded
        into = result.setdefault("Rounded" if rounded else "Full", {})
        for name, kind in (("plain_ms", plain), ("opacus_ms", private)):
            attempt(into, name, lambda: kind(*texts))
    torch.backends.cuda.matmul.allow_tf32 = True
    texts = tokens(generator, BATCH, CONTEXT)
    into = result["transformer"] = {}
    attempt(into, "plain_tf32_ms", lambda: transformer(*texts, False, False))
    attempt(into, "plain_bf16_ms", lambda: transformer(*texts, True, False))
    attempt(into, "compiled_bf16_ms", lambda: transformer(*texts, True, True))
    for half in (False, True):
        kind = "bf16" if half else "tf32"
        attempt(into, f"opacus_hooks_{kind}_ms", lambda: private_transformer(*texts, False, half))
        attempt(into, f"opacus_ghost_{kind}_ms", lambda: private_transformer(*texts, True, half))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
