"""What one triplet costs: the hinge by its distance margin, the perturbation loss by its adversarial margin."""

import matplotlib.pyplot as plt
import numpy as np

from holdfast.learn import Perturbation, Push

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
one = np.ones(1)
f = np.linspace(-1, 2, 301)
left.plot(f, [Push().value_and_partials(one, one + g, None)[0] for g in f], color="#0072b2")
left.set(title="push", xlabel="distance margin f = b − a", ylabel="cost of a triplet")
r, tau = np.linspace(-0.5, 1.0, 301), 0.6
h = one  # then f = 2 r
term = Perturbation(tau=tau)
right.plot(r, [term.value_and_partials(one, one + 2 * s, h)[0] for s in r], color="#d55e00")
right.axvline(tau, color="0.6", lw=0.8, ls="--")
right.text(tau, 0.25, "  tau", color="0.4")
right.set(title="perturbation loss", xlabel="adversarial margin r")
