"""Runs in an interpreter that has ``groot-trees``: ``python trees_worker.py SPLIT.npz OUT.json``; imports none of ours.

A robust decision tree (GROOT) for moves in L∞, its depth chosen as ``RobustClassifierCV`` chooses. A tree is certified
exactly: a move of size r leads to every leaf whose box is no farther than r.
"""

import json
import sys
import time

import numpy as np
from groot.model import GrootTreeClassifier
from sklearn.model_selection import StratifiedKFold

DEPTHS = range(1, 9)


def leaves(node: dict, low: np.ndarray, high: np.ndarray) -> list:
    """``(low, high, class)`` of every leaf; a row goes left where ``x <= threshold``."""
    if "value" in node:
        return [(low, high, int(np.argmax(node["value"])))]
    feature, threshold = node["feature"], node["threshold"]
    left, right = high.copy(), low.copy()
    left[feature] = min(left[feature], threshold)
    right[feature] = max(right[feature], threshold)
    return leaves(node["left_child"], low, left) + leaves(node["right_child"], right, high)


def radii(tree: GrootTreeClassifier, X: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """The L∞ distance of each row to the nearest box of a leaf with another answer; infinite if there is none."""
    d = X.shape[1]
    found = np.full(len(X), np.inf)
    for low, high, answer in leaves(tree.root_.to_json(), np.full(d, -np.inf), np.full(d, np.inf)):
        if (low > high).any():  # no row comes here
            continue
        away = np.maximum(np.maximum(low - X, X - high), 0.0).max(axis=1)
        found = np.where(prediction != answer, np.minimum(found, away), found)
    return found


def fitted(depth: int, epsilon: float, X, y) -> GrootTreeClassifier:
    """A tree that expects moves of ``epsilon`` in every feature."""
    return GrootTreeClassifier(max_depth=depth, attack_model=[epsilon] * X.shape[1], random_state=0).fit(X, y)


def main(split: str, out: str) -> None:
    """Choose the depth, fit, and score."""
    given = np.load(split)
    X, y, epsilon, weight = given["X_train"], given["y_train"], float(given["epsilon"]), float(given["weight"])
    began = time.perf_counter()
    scores = np.zeros(len(DEPTHS))
    folds = StratifiedKFold(5, shuffle=True, random_state=int(given["seed"]))
    for train, test in folds.split(X, y):
        for i, depth in enumerate(DEPTHS):
            tree = fitted(depth, epsilon, X[train], y[train])
            prediction = tree.predict(X[test])
            right = prediction == y[test]
            held = right & (radii(tree, X[test], prediction) > epsilon)
            scores[i] += weight * held.mean() + (1 - weight) * right.mean()
    depth = DEPTHS[int(np.argmax(scores))]
    tree = fitted(depth, epsilon, X, y)
    seconds = time.perf_counter() - began
    prediction = tree.predict(given["X_test"])
    right = prediction == given["y_test"]
    reach = radii(tree, given["X_test"], prediction)
    certified = {str(r): float(np.mean(right & (reach > r))) for r in given["radii"]}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"depth": depth, "seconds": seconds, "accuracy": float(right.mean()), "certified": certified}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
