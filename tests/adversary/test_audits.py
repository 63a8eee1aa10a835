"""What an audit of a model in use says, beside what certify and predict say of the same rows."""

from hypothesis import given

from tests.adversary import audits
from tests.adversary.families import small


@small(6)
@given(audits.dressed)
def test_numbers_in_columns_of_every_type(case):
    audits.attack(case).check()


@small(6)
@given(audits.measured)
def test_units_of_the_rows_that_are_named(case):
    audits.attack(case).check()


@small(8)
@given(audits.wrong)
def test_rows_that_are_not_those_of_training(case):
    audits.attack(case).check()
