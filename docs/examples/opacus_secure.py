#!/usr/bin/env python3
"""Trains with differential privacy by Opacus, with noise and batches of a cryptographic generator.

    opacus_secure.py [STEPS]

Opacus' own PrivacyEngine(secure_mode=True) wants torchcsprng, which has had no release since 2021. A program
calls use_in_opacus() instead, once, before it trains with PrivacyEngine(): then Gaussian noise and Poisson
sampling come from gpuaes.random, on the device of the gradients. It replaces functions of Opacus that are not public; it
knows Opacus 1.6, and raises RuntimeError where they are missing. Samplers of torch.distributed keep
PyTorch's generator.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import sys

from gpuaes.random import Generator


# Standard deviations of the addends of noise, in those of the noise: their squares sum up to 1, and powers of two keep
# every bit. Opacus counts 2^(p (m - 1)) attempts of an attack on m addends of p bits: 2^159 for 53 bits, 2^144 for 24.
ADDENDS = {"float64": (1 / 2,) * 4, "float32": (1 / 2,) * 3 + (1 / 4,) * 4}


def secure_noise(generator, std, like, package):
    """Normal numbers with mean 0, for `like`, an array of `package`, which is torch or numpy.

    They are the sum of several, as Opacus has it in its secure mode: which floats a single normal number can be would
    tell something of the gradient beneath (https://arxiv.org/abs/2107.10138).
    """
    dtype = str(like.dtype).removeprefix("torch.")
    if dtype not in ADDENDS:
        raise TypeError(
            f"noise for gradients of {dtype}: expected {' or '.join(ADDENDS)}, since a sum of fewer bits shows too much"
            " of what the noise hides: add_noise() rounds the sum of gradient and noise instead"
        )
    noise = package.zeros_like(like)
    for share in ADDENDS[dtype]:
        noise += generator.normal_(package.empty_like(like), 0.0, std * share)
    return noise


def add_noise(generator, std, gradient, package):
    """Adds noise to a gradient of a half type, in place: both are added as float32, and the sum is rounded once. Noise
    of a half type would leave its own steps in the sum, which tell something of the gradient."""
    total = package.empty_like(gradient, dtype=package.float32)
    total[...] = gradient
    total += secure_noise(generator, std, total, package)
    gradient[...] = total


def secure_batches(generator, count, rate, steps):
    """Lists of numbers below `count`, each of which is in a list with the probability `rate`."""
    import numpy

    for _ in range(steps):
        chosen = generator.bernoulli_(numpy.empty(count, dtype=bool), rate)
        yield numpy.flatnonzero(chosen).tolist()


def use_in_opacus(generator=None):
    """Replaces Opacus' noise and its sampler of batches. Without a generator, one with a key of os.urandom()
    that replaces its key after each call: who sees its state later learns nothing of noise of the past."""
    import torch
    from opacus import __version__, optimizers  # noqa: F401, imports all optimizers
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    generator = generator or Generator(forward_secure=True)

    def generate_noise(std, reference, generator=None, secure_mode=False, _secure=generator):
        if std == 0:
            return torch.zeros_like(reference)
        if reference.dtype in (torch.float16, torch.bfloat16):
            # Opacus adds the result to `reference`, the gradient: nothing is left to add.
            add_noise(_secure, std, reference, torch)
            return torch.zeros_like(reference)
        return secure_noise(_secure, std, reference, torch)

    # Each optimizer has the function by its own name.
    users = [
        module for name, module in sys.modules.items()
        if name.startswith("opacus.optimizers.") and hasattr(module, "_generate_noise")
    ]
    if not users or not {"__iter__", "__len__"} <= vars(UniformWithReplacementSampler).keys():
        raise RuntimeError(f"Opacus {__version__} is not made as 1.6 is: expected optimizers with _generate_noise()")
    for module in users:
        module._generate_noise = generate_noise
    UniformWithReplacementSampler.__iter__ = lambda sampler: secure_batches(
        generator, sampler.num_samples, sampler.sample_rate, len(sampler)
    )


def main():
    import opacus
    import torch

    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    use_in_opacus()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.randn(4096, 20)
    data = torch.utils.data.TensorDataset(inputs, (inputs[:, 0] > 0).long())
    loader = torch.utils.data.DataLoader(data, batch_size=4096 // steps)
    model = torch.nn.Linear(20, 2).to(device)
    engine = opacus.PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.5), data_loader=loader,
        noise_multiplier=1.0, max_grad_norm=1.0,
    )
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.2f}, epsilon {engine.get_epsilon(1e-5):.2f}")


if __name__ == "__main__":
    main()
