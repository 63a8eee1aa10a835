"""A few of the tables that ``python -m tests.adversary`` writes in every spelling."""

from hypothesis import given

from tests.adversary import readings
from tests.adversary.families import small


@small(15)
@given(readings.cases())
def test_a_table_is_the_same_in_every_spelling(case):
    readings.attack(case).check()
