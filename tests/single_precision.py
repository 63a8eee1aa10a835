"""Few points, too, are searched in single precision first, as many are: import the fixture."""

import pytest

from holdfast.base import neighbors


@pytest.fixture(scope="module", autouse=True)
def single_precision_first():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "_FEW", 0)
        yield
