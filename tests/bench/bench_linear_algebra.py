"""Decompositions, solvers and sorting beside NumPy's, which runs LAPACK: one JSON line each.

    python bench_linear_algebra.py [NAME…]
"""
import json
import sys
import time

import numpy as np

import tapedeck as tf

rng = np.random.default_rng(1)


def square(n):
    return rng.standard_normal((n, n)) + 2 * np.sqrt(n) * np.eye(n)


def symmetric(n):
    a = rng.standard_normal((n, n))
    return a + a.T + 4 * np.sqrt(n) * np.eye(n)


def values(count):
    return rng.standard_normal(count, dtype=np.float32)


# name → sizes, what makes the operand, ours, NumPy's
CASES = {
    "inv": ((300, 1000, 3000), square, tf.linalg.inv, np.linalg.inv),
    "det": ((1000, 3000), square, tf.linalg.det, np.linalg.det),
    "cholesky": ((1000, 3000), symmetric, tf.linalg.cholesky, np.linalg.cholesky),
    "qr": ((300, 1000, 2000), square, tf.linalg.qr, np.linalg.qr),
    "svd": ((300, 1000), square, tf.linalg.svd, lambda a: np.linalg.svd(a, full_matrices=False)),
    "eigh": ((300, 1000, 3000), symmetric, tf.linalg.eigh, np.linalg.eigh),
    "eigvalsh": ((1000, 3000), symmetric, tf.linalg.eigvalsh, np.linalg.eigvalsh),
    "sort": ((1_000_000, 36_000_000), values, tf.sort, np.sort),
    "argsort": ((1_000_000, 36_000_000), values, tf.argsort, lambda a: np.argsort(a, kind="stable")),
    "unique": ((1_000_000, 36_000_000), values, tf.unique, lambda a: np.unique(a, return_inverse=True)),
}


def seconds(f, operand):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        f(operand)
        best = min(best, time.perf_counter() - start)
        if best > 3:
            break
    return round(best, 4)


def main():
    for name in sys.argv[1:] or CASES:
        sizes, make, ours, numpys = CASES[name]
        for size in sizes:
            operand = make(size)
            print(json.dumps(dict(bench="linear_algebra", op=name, size=size, dtype=str(operand.dtype),
                                  seconds=seconds(ours, tf.constant(operand)), numpy_seconds=seconds(numpys, operand))),
                  flush=True)


if __name__ == "__main__":
    main()
