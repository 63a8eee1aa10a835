"""The benchmark lies beside the package: it is imported from the root of the repository."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # pytest itself may have been started elsewhere

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
