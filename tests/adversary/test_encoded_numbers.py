"""Numbers under an encoder: no move shorter than a radius changes an answer, whatever the threat says they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary import encoded
from tests.adversary.families import small


@pytest.mark.parametrize("said", encoded.SAID)
@small(2)
@given(st.data())
def test_numbers_under_an_encoder(said, data):
    case = data.draw(encoded.cases.map(lambda case: encoded.EncodedCase(**vars(case) | {"said": said})))
    tally = encoded.attack(case)
    tally.check()
    whole = not case.fractions or said in ("free", "frozen")
    assert tally.refused == (said == "nothing") or not whole
