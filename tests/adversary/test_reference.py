"""A reference that is not what the model votes with is refused; the right one, in any guise, is not."""

import numpy as np
from hypothesis import given

from tests.adversary import references
from tests.adversary.families import small
from tests.adversary.references import Reference


@small(30)
@given(references.cases)
def test_wrong_reference_is_refused(case):
    references.attack(case).check()


@small(8)
@given(references.harmless)
def test_small_errors_are_refused_or_harmless(case):
    references.attack_harmless(case).check()


@small(20)
@given(references.right)
def test_right_reference_is_accepted(case):
    references.attack_right(case).check()


@small(8)
@given(references.changed)
def test_model_changed_after_fit_is_refused(case):
    references.attack_changed(case).check()


def test_every_way_to_be_wrong():
    for wrong in references.WRONG:
        for steps in ("none", "pca"):
            references.attack(Reference(0, wrong, steps, "brute 3")).check()


def test_a_refusal_is_a_sentence():
    import pytest

    from holdfast import certify
    from tests.adversary.setups import sentence

    model, X, y = references.fitted(Reference(0, "none", "standard", "brute 1"), np.random.default_rng(0))
    with pytest.raises(ValueError, match="reference") as caught:
        certify(model, X[:3], reference=(X + 1.0, y))
    assert sentence(caught.value)
