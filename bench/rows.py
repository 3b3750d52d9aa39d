"""Rows as gpuaes_bench prints them: rows.h describes the columns.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import statistics

COLUMNS = (
    "part cipher operation statistic bytes memory placement devices threads ours reference unit ratio spread"
    " cpu_ours cpu_reference processor against"
).split()


def print_columns():
    print("# " + "\t".join(COLUMNS), flush=True)


def print_row(**values):
    """A figure that is None or missing is printed as -."""
    row = {"statistic": "median", "memory": "device", "devices": 1, "threads": 1, "processor": "gpu", **values}
    if row.get("ours") and row.get("reference"):
        row["ratio"] = row["ours"] / row["reference"]
    for name, digits in ("ours", 6), ("reference", 6), ("ratio", 4), ("spread", 3):
        if row.get(name) is not None:
            row[name] = f"{row[name]:.{digits}g}"
    print("\t".join("-" if row.get(name) is None else str(row[name]) for name in COLUMNS), flush=True)


def print_skipped(part, what):
    print(f"# skipped: {part}: {what}", flush=True)


def spread_of(first, second):
    """The distance of the quartiles of the ratio of two sides, turn by turn, as a part of its median; None of one turn."""
    if len(first) < 2:
        return None
    low, middle, high = statistics.quantiles((a / b for a, b in zip(first, second)), n=4)
    return (high - low) / middle
