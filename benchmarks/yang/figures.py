"""Figures of the rows and of the studies, as PNG."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.yang.sets import SETS
from benchmarks.yang.tables import chosen

SHOWN = ("Euclidean", "LMNN", "LDD", "CAP", "SN", "DRIFT", "LMNN-PL", "LMNN-PL@0.2")


def draw(rows: pd.DataFrame, folder: Path) -> list[Path]:
    """Write every figure that rows and studies allow to ``folder/figures``; their paths."""
    import matplotlib

    matplotlib.use("Agg")
    rows = chosen(rows)
    figures = [robustness(rows), certified(rows)]
    names = ["robustness_australian", "certified"]
    for name, make in STUDIES.items():
        path = folder / f"{name}.csv"
        if path.is_file():
            names.append(name)
            figures.append(make(pd.read_csv(path)))
    out = []
    for name, figure in zip(names, figures, strict=True):
        if figure is not None:
            path = folder / "figures" / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            _save(figure, path)
            out.append(path)
    return out


def robustness(rows: pd.DataFrame):
    """Accuracy on australian as noise grows, three kinds of it."""
    rows = rows[(rows["dataset"] == "australian") & (rows["score"] == "accuracy")]
    if rows.empty:
        return None
    figure, axes = _axes(1, 3)
    kinds = ("isotropic", "anisotropic", "adversarial")
    for ax, kind in zip(axes, kinds, strict=True):
        part = rows[rows["condition"].str.fullmatch(f"{kind}_(gaussian_snr|l2_).*")]
        clean = rows[rows["condition"] == "clean"].groupby("method")["value"].mean()
        for k, method in enumerate(_present(part, SHOWN)):
            curve = part[part["method"] == method].groupby("level")["value"].mean()
            if kind == "adversarial":
                curve = pd.concat([pd.Series({0.0: clean[method]}), curve])
            ax.plot(curve.index, 100 * curve, f"C{k}.-", label=method)
        ax.set(title=kind, xlabel="length of the move" if kind == "adversarial" else "SNR in dB")
        if kind != "adversarial":
            ax.invert_xaxis()  # more noise to the right
    axes[0].set_ylabel("accuracy, %")
    axes[-1].legend(fontsize="small")
    return figure


def certified(rows: pd.DataFrame):
    """Certified accuracy as the radius grows, a panel for each data set."""
    rows = rows[rows["score"] == "certified_accuracy"]
    sets = _present(rows, list(SETS), "dataset")
    if not sets:
        return None
    columns = min(4, len(sets))
    figure, axes = _axes(-(-len(sets) // columns), columns)
    for ax, name in zip(axes, sets, strict=False):
        part = rows[rows["dataset"] == name]
        for k, method in enumerate(("Euclidean", "LMNN", "LMNN-PL", "LMNN-PL@0.2")):
            curve = part[part["method"] == method].groupby("level")["value"].mean()
            if len(curve):
                ax.plot(curve.index, 100 * curve, f"C{k}.-", label=method)
        ax.set(title=name, xlabel="radius")
    for ax in axes[len(sets) :]:
        ax.set_axis_off()
    axes[0].set_ylabel("certified accuracy, %")
    axes[0].legend(fontsize="small")
    return figure


def sensitivity(table: pd.DataFrame):
    """Test accuracy as one parameter changes and the others stay."""
    figure, axes = _axes(1, 3)
    for ax, (name, part) in zip(axes, table.groupby("parameter", sort=False), strict=False):
        ax.plot(part["at"], 100 * part["accuracy"], ".-")
        best = part[part["tuned"]]
        ax.plot(best["at"], 100 * best["accuracy"], "k*", markersize=10)
        ax.set(xlabel=name, title=part["dataset"].iloc[0])
    axes[0].set_ylabel("test accuracy, %")
    return figure


def convergence(table: pd.DataFrame):
    """Test accuracy along training."""
    figure, (ax,) = _axes(1, 1)
    for name, part in table.groupby("solver", sort=False):
        ax.plot(part["iteration"], 100 * part["accuracy"], label=name)
    ax.set(xlabel="iteration", ylabel="test accuracy, %", title=table["dataset"].iloc[0], xscale="symlog")
    ax.legend()
    return figure


def bound(table: pd.DataFrame):
    """The parts of the generalisation bound as tau grows."""
    figure, axes = _axes(1, 3)
    for ax, (column, label) in zip(
        axes,
        [("robust_share", "share of admissible triplets with margin > τ"), ("log10_K", "log₁₀ K"),
         ("log10_bound", "log₁₀ of the bound")],
        strict=True,
    ):  # fmt: skip
        for name, part in table.groupby("method", sort=False):
            ax.plot(part["tau"], part[column], ".-", label=name)
        ax.set(xlabel="τ", title=label)
    axes[0].legend()
    return figure


STUDIES = {"sensitivity": sensitivity, "convergence": convergence, "bound": bound}


def _save(figure, path: Path) -> None:
    """Write a figure with a palette of 64 colours, which its few lines need: about a quarter of the bytes."""
    from PIL import Image  # matplotlib needs it too

    figure.savefig(path, dpi=100)
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def _axes(rows: int, columns: int):
    """A figure and its axes, as a flat list."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), layout="constrained", squeeze=False)
    return figure, list(axes.ravel())


def _present(rows: pd.DataFrame, names: Sequence[str], column: str = "method") -> list[str]:
    there = set(rows[column])
    return [name for name in names if name in there]
