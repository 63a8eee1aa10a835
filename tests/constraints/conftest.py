"""Here even few points are searched in single precision first, as many are."""

import pytest

from holdfast.constraints import search


@pytest.fixture(scope="module", autouse=True)
def single_precision_first():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_FEW", 0)
        yield
