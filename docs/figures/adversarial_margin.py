"""The adversarial margin of one triplet."""

import matplotlib.pyplot as plt
import numpy as np
from triplet import draw, gap, margin

M = np.array([[1.0, 0.35], [0.35, 0.8]])
figure, ax = plt.subplots(figsize=(6.2, 4.9), layout="constrained")
draw(ax, M)
ax.set_title(f"f = b − a = {gap(M):.2f},  r = {margin(M):.2f}")
