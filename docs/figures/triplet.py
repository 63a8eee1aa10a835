"""One triplet in two features, as the figures of the guide draw it."""

import numpy as np
from matplotlib.patches import Circle, Ellipse

from holdfast.learn import adversarial_margin, closest_adversarial

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "0.35"
X, TARGET, IMPOSTOR = np.array([0.0, 0.0]), np.array([-0.55, 0.75]), np.array([1.15, 0.45])


def gap(M: np.ndarray) -> float:
    """``f = d²(x, impostor) − d²(x, target)``."""
    a, b = ((v - X) @ M @ (v - X) for v in (TARGET, IMPOSTOR))
    return float(b - a)


def margin(M: np.ndarray) -> float:
    """``r``, the distance from x to where f is zero."""
    return float(adversarial_margin(M, X[None], TARGET[None], IMPOSTOR[None])[0])


def draw(ax, M: np.ndarray) -> None:
    """The points, where both are equally far, the ball that just touches it, and ``d(x, ·) = d(x, target)``."""
    nearest = closest_adversarial(M, X[None], TARGET[None], IMPOSTOR[None])[0]
    slope = M @ (IMPOSTOR - TARGET)  # the line of equal distance is at right angles to it
    along = np.array([-slope[1], slope[0]]) / np.linalg.norm(slope)
    line = nearest + np.linspace(-3, 3, 2)[:, None] * along
    ax.plot(*line.T, color=GREY, lw=1.2, ls="--")
    values, V = np.linalg.eigh(M)
    size = np.sqrt((TARGET - X) @ M @ (TARGET - X))
    angle = np.degrees(np.arctan2(V[1, 0], V[0, 0]))
    ax.add_patch(Ellipse(X, *(2 * size / np.sqrt(values)), angle=angle, fill=False, ec=BLUE, lw=0.9, ls=":"))
    ax.add_patch(Circle(X, margin(M), facecolor="0.5", alpha=0.15, edgecolor="0.2"))
    ax.annotate("", nearest, X, arrowprops={"arrowstyle": "-|>", "color": "0.1", "shrinkA": 0, "shrinkB": 0})
    for point, colour, mark, name in (
        (X, "0.1", "*", "$x_i$"),
        (TARGET, BLUE, "o", "$x_j$ target"),
        (IMPOSTOR, ORANGE, "s", "$x_l$ impostor"),
        (nearest, "0.1", "X", "$x_{min}$"),
    ):
        ax.plot(*point, marker=mark, ms=14 if mark == "*" else 9, color=colour, mec="white", zorder=5, ls="")
        ax.annotate(name, point, xytext=(8, -14) if mark == "*" else (7, 7), textcoords="offset points", color=colour)
    ax.set(xlim=(-1.5, 2.0), ylim=(-1.25, 1.5), aspect="equal")
