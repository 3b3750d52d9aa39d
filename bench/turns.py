"""What bench/python_rates and bench/format_rates share: packages to compare with, turns of the sides, memory of a device,
and the command line.

PyTorch makes the tensors. Without it, device memory comes from the driver (test/python/device_arrays.py): that is to
rehearse on the emulator, and leaves out what has no PyTorch to be compared with.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import importlib
import pathlib
import statistics
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOP / "python"), str(TOP / "test" / "python")]

import gpuaes  # noqa: E402
from rows import print_columns, spread_of  # noqa: E402

OURS, REFERENCE = 0, 1
LEAST_TURNS, MOST_TURNS = 3, 200


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, cupy, cryptography = optional("torch"), optional("cupy"), optional("cryptography")
if torch and not torch.cuda.is_available():
    torch = None


def take_turns(seconds, *sides, clock=time.perf_counter):
    """Runs each side once, then all of them in turns. The median seconds of each by the clock, and how far the ratio of
    the first two is spread."""
    for side in sides:
        side()
    taken, end = [[] for _ in sides], time.perf_counter() + seconds
    while len(taken[0]) < LEAST_TURNS or len(taken[0]) < MOST_TURNS and time.perf_counter() < end:
        order = list(enumerate(sides))
        for number, side in order if len(taken[0]) % 2 == 0 else reversed(order):
            began = clock()
            side()
            taken[number].append(clock() - began)
    return [statistics.median(each) for each in taken], spread_of(*taken[:2]) if len(sides) > 1 else None


# ---- Device memory ------------------------------------------------------------------------


class TorchMemory:
    @staticmethod
    def bytes(count):
        pattern = torch.arange(256, dtype=torch.int64, device="cuda").to(torch.uint8)
        return pattern.repeat(-(-count // 256))[:count]

    @staticmethod
    def of(data):
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).to("cuda")

    @staticmethod
    def empty(count, kind="uint8"):
        return torch.empty(count, dtype=getattr(torch, kind), device="cuda")

    @staticmethod
    def address(tensor):
        return tensor.data_ptr()

    @staticmethod
    def stream():
        return torch.cuda.current_stream().cuda_stream

    wait = staticmethod(lambda: torch.cuda.synchronize())

    @staticmethod
    def copy(tensor):
        return tensor.clone()

    @staticmethod
    def same(a, b):
        return torch.equal(a, b)


class DriverMemory:
    """Without PyTorch: the driver's own."""

    def __init__(self):
        import device_arrays

        self.arrays, self.driver = device_arrays, device_arrays.driver()

    def of(self, data):
        return self.arrays.DeviceArray.of(data)

    def bytes(self, count):
        return self.of((bytes(range(256)) * -(-count // 256))[:count])

    def empty(self, count, kind="uint8"):
        size, typestr = {"uint8": (1, "|u1"), "float32": (4, "<f4")}[kind]
        return self.arrays.DeviceArray(self.arrays.Memory(count * size), (count,), typestr)

    def address(self, array):
        return array.address

    def stream(self):
        return 0

    def wait(self):
        with self.driver.current():
            self.driver.wait(self.arrays.LEGACY_STREAM)

    @staticmethod
    def copy(array):
        return array.tobytes()

    @staticmethod
    def same(array, copy):
        return array.tobytes() == copy


# ---- The command line ------------------------------------------------------------------------


def main(usage, sets, packages, amounts, quick):
    """Runs the sets that are named, with `amounts`, or those for --quick; both are {NAME: NUMBER}."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("sets", nargs="*", metavar="SET")
    options = parser.parse_args()
    if unknown := set(options.sets) - set(sets):
        parser.error(f"there is no set {' '.join(unknown)}: expected {', '.join(sets)}")
    amounts = argparse.Namespace(**(quick if options.quick else amounts), seconds=0 if options.quick else 2)
    memory = TorchMemory if torch else DriverMemory()
    gpuaes.start()
    for name, package in packages.items():
        print(f"# {name}:", getattr(package, "__version__", "of unknown version") if package else "none")
    print_columns()
    for name in options.sets or sets:
        sets[name](amounts, memory)
