"""Inner products and sums of vectors: the loops every kernel uses."""

import numpy as np

from holdfast.numerics.compile import FAST, inner


@inner
def dot_work(s):
    """What an inner product, or a sum, of s numbers is charged: the processor does four multiply-adds at once."""
    return s // 4 + 8


@inner(fastmath=FAST)
def dot(x, y):
    """``x · y``."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@inner
def length(x):
    """``‖x‖₂``."""
    return np.sqrt(dot(x, x))


@inner(fastmath=FAST)
def add_scaled(out, factor, x):
    """``out += factor · x``."""
    for k in range(x.size):
        out[k] += factor * x[k]


@inner
def subtract(x, y, out):
    """``out = x − y``."""
    for k in range(x.size):
        out[k] = x[k] - y[k]


@inner
def scale(factor, x, out):
    """``out = factor · x``."""
    for k in range(x.size):
        out[k] = factor * x[k]
