"""The look at a table before anything is trained."""

import numpy as np
import pandas as pd
import pytest

from holdfast.datasets import open_data
from holdfast.datasets.checks import CHECKS, Finding, Repairs, check_dataset, describe, refuse_fatal, repair
from holdfast.datasets.columns import to_days

N = 120


@pytest.fixture
def frame():
    """Two honest measurements, a category, a label."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    return pd.DataFrame(
        {
            "weight": rng.normal(70, 9, N) + 5 * y,
            "height": rng.normal(170, 9, N),
            "town": rng.choice(["Bern", "Basel", "Chur"], N),
            "y": np.where(y == 1, "ill", "well"),
        }
    )


def findings(frame, **options):
    return {(f.column, f.kind): f for f in check_dataset(open_data(frame, "y"), **options)}


def test_an_honest_table_has_no_findings(frame):
    assert findings(frame) == {}


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_honest_sets_have_no_fatal_findings(name):
    assert not [f for f in check_dataset(open_data(name)) if f.fatal or f.kind in ("leak", "identifier")]


COLUMNS = {
    "ID": (np.arange(1000, 1000 + N), "identifier", "--drop ID", False),
    "Unnamed: 0": (np.arange(N), "identifier", "--drop 'Unnamed: 0'", False),
    "case number": (np.random.default_rng(1).permutation(10**6)[:N], "identifier", "--drop 'case number'", False),
    "make": ([f"model {k}" for k in range(N)], "identifier", "--drop make", True),
    "street": ([f"street {k % 60}" for k in range(N)], "categories", "--drop street", True),
    "story": ([f"The patient came in on day {k} and said that all was well" for k in range(N)], "text",
              "--drop story", True),
    "seen": ([f"2024-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(N)], "date", "--dates seen", True),
    "gesehen": ([f"{1 + k % 28}.{1 + k % 12}.2024" for k in range(N)], "date", "--dates gesehen", True),
    "few dates": (["2024-01-31", "2024-02-01"] * (N // 2), "date", "--dates 'few dates'", True),
    "typed": (pd.date_range("2024-01-01", periods=N), "date", "--dates typed", True),
    "smoker": (np.random.default_rng(2).integers(0, 2, N), "code", "--categorical smoker", False),
    "grade": (np.random.default_rng(3).integers(1, 5, N), "code", "--categorical grade", False),
    "income": ([f"CHF {1000 + 7 * k},50" for k in range(N)], "number", "--drop income", True),
    "rate": ([f"{k / 7:.1f}%" for k in range(N)], "number", "--drop rate", True),
    "huge": (np.where(np.arange(N) == 5, 1e30, np.random.default_rng(4).normal(size=N)), "sentinel",
             "--missing=1e+30", True),
    "vast": (np.random.default_rng(6).normal(size=N) * 1e150, "units", "--drop vast", True),
    "offset": (1e9 + 1e-3 * np.random.default_rng(7).normal(size=N), "precision", "", False),
    "coded": (np.where(np.arange(N) % 9 == 0, -999.0, np.random.default_rng(5).normal(40, 9, N)), "sentinel",
              "--missing=-999", False),
}  # fmt: skip


@pytest.mark.parametrize("name", list(COLUMNS))
def test_each_kind_of_column(frame, name):
    values, kind, flag, fatal = COLUMNS[name]
    found = findings(frame.assign(**{name: values}))
    assert set(found) == {(name, kind)}
    assert found[name, kind].flag == flag
    assert found[name, kind].fatal is fatal


def test_a_column_that_decides_the_target(frame):
    found = findings(frame.assign(cause=np.where(frame["y"] == "ill", "flu", None), late=(frame["y"] == "ill") * 3.5))
    assert {("cause", "leak"), ("late", "leak")} <= set(found)
    assert found["cause", "leak"].flag == "--drop cause"


def test_a_column_to_leave_out_has_no_other_flag(frame):
    """A leak in two values: it is no code to freeze as well."""
    found = check_dataset(open_data(frame.assign(after=(frame["y"] == frame["y"].iloc[0]).astype(float)), "y"))
    assert [f.flag for f in found if f.column == "after"] == ["--drop after"]


def test_declared_columns_are_not_remarked_on(frame):
    with_code = frame.assign(smoker=np.arange(N) % 3 % 2, seen="2024-01-31")
    assert findings(with_code, categorical=["smoker"], dates=["seen"]) == {}


def test_duplicates_and_small_classes(frame):
    doubled = pd.concat([frame, frame.head(20)], ignore_index=True)
    assert findings(doubled)[None, "duplicates"].flag == "--drop-duplicates"
    rare = frame.assign(y=frame["y"].where(np.arange(N) > 2, "rare"))
    found = findings(rare)[None, "small class"]
    assert found.fatal
    assert "The class rare has 3 rows" in found.sentence
    assert "--merge-small" in found.sentence


def test_all_at_once_with_the_flags_to_paste(frame):
    bad = frame.assign(
        make=[f"model {k}" for k in range(N)], seen="2024-01-31", huge=[1e30] + [0.1, 0.2, 0.3] * 39 + [1, 2]
    )
    with pytest.raises(ValueError) as refused:
        refuse_fatal(check_dataset(open_data(bad, "y")))
    assert "All at once: --drop make --dates seen --missing=1e+30" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_described_by_kind():
    told = describe([Finding(name, "code", "has two values", f"--categorical {name}") for name in "ab"])
    assert told == ["Columns 'a', 'b': each has two values: --categorical a --categorical b."]


def test_repairs(frame):
    bad = frame.assign(same=1, empty=np.nan, y=frame["y"].where(np.arange(N) > 2, "rare"))
    found = repair(open_data(bad, "y"), Repairs(drop_small=True, drop_duplicates=True))
    assert found.feature_names == ["weight", "height", "town"]
    assert len(found.y) == N - 3
    assert found.row_numbers[0] == 4
    notes = " ".join(found.notes)
    assert "Empty, and left out: empty" in notes
    assert "without influence: same" in notes
    assert "rare (3)" in notes
    merged = repair(open_data(bad.assign(y=bad["y"].where(np.arange(N) > 9, "r" + bad.index.astype(str))), "y"),
                    Repairs(merge_small=True))  # fmt: skip
    assert (merged.y == "(other)").sum() == 10
    with pytest.raises(ValueError, match="not both"):
        Repairs(drop_small=True, merge_small=True)


def test_days():
    days = to_days("d", pd.Series(["1970-01-02", "31.1.1970", None, "soon"]))
    assert days.tolist()[:2] == [1.0, 30.0]
    assert days.tolist()[3] == "soon"
    assert to_days("d", pd.Series(pd.to_datetime(["1970-01-03", None]))).tolist()[0] == 2.0
    assert to_days("d", pd.Series(["1/31/1970", "2/1/1970"])).tolist() == [30.0, 31.0]
    with pytest.raises(ValueError, match="what is the month"):
        to_days("d", pd.Series(["1/2/1970", "2/1/1970"]))


def test_every_check_takes_a_table_of_words(frame):
    assert len(CHECKS) == len({check.__name__ for check in CHECKS})
    assert not [f for f in findings(frame[["town", "y"]]).values() if f.fatal]
