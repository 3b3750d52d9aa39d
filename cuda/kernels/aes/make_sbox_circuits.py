#!/usr/bin/env python3
"""Makes aes_sbox_circuits.cuh from aes_sbox.blif and aes_inverse_sbox.blif.

    cd cuda/kernels && ./make_sbox_circuits.py > aes_sbox_circuits.cuh

The circuits are those of J. Boyar and R. Peralta ("A depth-16 circuit for the
AES S-box", 2011; the one of 113 gates, and for the inverse its nonlinear middle
with linear layers of its own), mapped to look-up tables of three inputs, one
LOP3 instruction each, by ABC (https://github.com/berkeley-abc/abc; commands
like "st; dch; if -K 3 -a; mfs2" in a loop, best kept). x0 and s0 are the most
significant bits.

What this script adds is the order: it looks for one in which few values are
alive at a time, since registers are what bitsliced warps are short of. Each
circuit is checked on all 256 inputs. The same input gives the same output.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import random

INPUTS = [f"x{k}" for k in range(8)]
OUTPUTS = [f"s{k}" for k in range(8)]
TRIES = 2000


def read_blif(path):
    """{name: (inputs, rows)} of the look-up tables; a row is (pattern, value)."""
    luts, rows = {}, None
    with open(path) as file:
        for line in file.read().replace("\\\n", " ").split("\n"):
            words = line.split("#")[0].split()
            if words and words[0] == ".names":
                rows = []
                luts[words[-1]] = (words[1:-1], rows)
            elif words and not words[0].startswith("."):
                rows.append(words)
    return luts


def truth_table(inputs, rows):
    """Bit 4a + 2b + c is the result; of fewer inputs, the last one is repeated."""
    table = 0
    for index in range(8):
        bits = [index >> 2 & 1, index >> 1 & 1, index & 1][: len(inputs)]
        match = any(all(p in ("-", str(b)) for p, b in zip(row[0], bits)) for row in rows)
        if match == (rows[0][1] == "1"):
            table |= 1 << index
    return table


def read_circuit(path):
    """{name: (three inputs, table)}"""
    circuit = {}
    for name, (inputs, rows) in read_blif(path).items():
        short = lambda n: n.replace("new_", "").rstrip("_")
        padded = [short(n) for n in inputs] + [short(inputs[-1])] * (3 - len(inputs))
        circuit[short(name)] = (padded, truth_table(inputs, rows))
    return circuit


def try_order(circuit, rng):
    """(most values alive, their sum over time, order) of one greedy, random order."""
    users = {}
    for inputs, _ in circuit.values():
        for name in set(inputs):
            users[name] = users.get(name, 0) + 1
    left = dict(users)
    for name in OUTPUTS:
        left[name] = left.get(name, 0) + 1
    near_weight, noise, users_weight = rng.random(), rng.choice([0.1, 0.5, 1, 2]), rng.random() / 2
    done, todo, order = set(INPUTS), sorted(circuit), []
    alive = most = total = len(INPUTS)
    while todo:
        best = None
        for name in todo:
            inputs = set(circuit[name][0])
            if not inputs <= done:
                continue
            ends = sum(left[i] == 1 for i in inputs)
            near = sum(left[i] == 2 for i in inputs)
            score = 2 * ends + near_weight * near + noise * rng.random()
            score -= users_weight * users.get(name, 0)
            if best is None or score > best[0]:
                best = (score, name, ends)
        _, name, ends = best
        for i in set(circuit[name][0]):
            left[i] -= 1
        alive += 1 - ends
        most, total = max(most, alive), total + alive
        done.add(name)
        todo.remove(name)
        order.append(name)
    return most, total, order


def best_order(circuit):
    rng = random.Random(1)
    return min(try_order(circuit, rng) for _ in range(TRIES))[2]


def multiply(a, b):
    product = 0
    while b:
        product ^= a * (b & 1)
        a = a << 1 ^ 0x11B * (a >> 7)
        b >>= 1
    return product


def affine(x):
    result = 0x63
    for shift in range(5):
        result ^= (x << shift | x >> 8 - shift) & 0xFF
    return result


def sbox_table():
    """FIPS 197 section 5.1.1"""
    inverses = [next((y for y in range(256) if multiply(x, y) == 1), 0) for x in range(256)]
    return [affine(x) for x in inverses]


def check(circuit, order, expected):
    for x in range(256):
        value = {name: x >> (7 - k) & 1 for k, name in enumerate(INPUTS)}
        for name in order:
            (a, b, c), table = circuit[name]
            value[name] = table >> (4 * value[a] + 2 * value[b] + value[c]) & 1
        assert sum(value[name] << (7 - k) for k, name in enumerate(OUTPUTS)) == expected[x]


def print_function(name, what, circuit, order):
    print(f"/* {what}: {len(order)} LUTs. plane[0] has the lowest bit of each byte. */")
    print(f"static __device__ __forceinline__ void {name}(uint32_t plane[8])")
    print("{")
    for k, x in enumerate(INPUTS):
        print(f"    const uint32_t {x} = plane[{7 - k}];")
    for lut in order:
        (a, b, c), table = circuit[lut]
        print(f"    const uint32_t {lut} = lut3<0x{table:02x}>({a}, {b}, {c});")
    for k, s in enumerate(OUTPUTS):
        print(f"    plane[{7 - k}] = {s};")
    print("}")


def main():
    print("""/*
 * The AES S-box and its inverse as circuits, on 32 bytes at once. They have no
 * tables and no branches, so neither time nor addresses depend on data.
 *
 * Generated by make_sbox_circuits.py, which says where the circuits are from.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_AES_SBOX_CIRCUITS_CUH
#define GPUAES_KERNELS_AES_SBOX_CIRCUITS_CUH

#include "intrinsics.cuh"
""")
    sbox = sbox_table()
    inverse = [sbox.index(x) for x in range(256)]
    for name, what, path, expected in (
            ("sbox_circuit", "S(x)", "aes_sbox.blif", sbox),
            ("inverse_sbox_circuit", "InvS(x)", "aes_inverse_sbox.blif", inverse)):
        circuit = read_circuit(path)
        order = best_order(circuit)
        check(circuit, order, expected)
        print_function(name, what, circuit, order)
        print()
    print("#endif")


if __name__ == "__main__":
    main()
