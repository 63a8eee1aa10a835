"""Two metrics with the same distance margin f = 1, and very different adversarial margins."""

import matplotlib.pyplot as plt
import numpy as np
from triplet import draw, gap, margin


def stretched(ratio: float, angle: float) -> np.ndarray:
    """A metric that sees one direction ``ratio`` times as strongly as the other, scaled so that f = 1."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    M = turn @ np.diag([1.0, ratio]) @ turn.T
    return M / gap(M)


figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
metrics = {"one metric": stretched(4.0, 2.6), "another metric": stretched(8.0, 1.2)}
for ax, (name, M) in zip(axes, metrics.items(), strict=True):
    draw(ax, M)
    ax.set_title(f"{name}: f = {gap(M):.2f}, r = {margin(M):.2f}")
