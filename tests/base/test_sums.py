"""Whoever adds, in whatever pieces: the same bits."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, Perturbation
from holdfast.base.blocks import LEAF, leaves, round_reproducibly, round_to_bits, tree_sum


@pytest.mark.parametrize("n", [1, 2, 7, 8, 13, 64, 100])
@pytest.mark.parametrize("group", [2, 4, 8])
def test_groups_of_neighbours_can_be_summed_first(n, group):
    values = [(x,) for x in np.random.default_rng(n).normal(size=n) * 10.0 ** np.arange(n)]
    grouped = [tree_sum(values[start : start + group]) for start in range(0, n, group)]
    assert tree_sum(grouped) == tree_sum(values)
    assert tree_sum(values)[0] == pytest.approx(sum(x for (x,) in values), rel=1e-12)


def test_nothing_counts_for_nothing():
    assert tree_sum([(1.0, None), (2.0, None), (None, 3.0)]) == (3.0, 3.0)


@pytest.mark.parametrize("n", [1, LEAF, LEAF + 1, 3 * LEAF - 1])
def test_leaves_cover_the_rows_and_stay_when_more_come(n):
    assert np.concatenate([np.arange(n)[part] for part in leaves(n)]).tolist() == list(range(n))
    assert leaves(n + 5000)[: n // LEAF] == leaves(n)[: n // LEAF]


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200, 7.3, 0.0])
def test_rounded_numbers_are_near_and_do_not_depend_on_the_last_digits(scale):
    rng = np.random.default_rng(0)
    value, gradient = 0.123 * scale, rng.normal(size=(30, 30)) * scale
    near, G = round_reproducibly(value, gradient)
    assert abs(near - value) <= 2.0**-30 * abs(value)
    assert np.abs(G - gradient).max() <= 2.0**-24 * np.abs(gradient).max()
    again, H = round_reproducibly(value * (1 + 1e-15), gradient * (1 + 1e-15 * rng.normal(size=(30, 30))))
    assert near == again
    np.testing.assert_array_equal(G, H)
    assert round_reproducibly(np.inf, gradient)[0] == np.inf


@pytest.mark.parametrize("noise", [1e-9, 1e-10])
def test_entries_round_differently_as_often_as_is_said(noise):
    """Where the unit is 2^-24, as for a largest entry in [½, 1): ``2^24 · noise`` of the entries."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.9, 0.9, size=400_000)
    changed = np.mean(round_to_bits(x) != round_to_bits(x + noise * rng.choice([-1.0, 1.0], size=x.size)))
    assert 0.8 * 2**24 * noise < changed < 1.2 * 2**24 * noise


def test_the_order_of_the_rows_does_not_matter():
    """Even where an iteration enlarges every error threefold: 40 of them would end elsewhere."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(X))
    learner = LMNN(mu=0.9, perturbation=Perturbation(tau=2.0))
    M = learner.fit(X, y).get_mahalanobis_matrix()
    N = learner.fit(X[order], y[order]).get_mahalanobis_matrix()
    assert learner.n_iter_ > 25
    assert np.abs(M - N).max() < 1e-8 * np.abs(M).max()
