import numpy as np
import pandas as pd
import pytest

from holdfast.datasets import TableEncoder, open_data, read_rows, read_table
from holdfast.datasets import formats as source
from holdfast.datasets import formats as text


def write(path, text):
    path.write_text(text)
    return path


ROWS = "a,b,c\n" + "".join(f"{k},{k % 3},{'xy'[k % 2]}\n" for k in range(20))


def test_csv(tmp_path):
    found = read_table(write(tmp_path / "t.csv", ROWS), "c")
    assert found.feature_names == ["a", "b"]
    assert found.target_names == ["x", "y"]
    assert found.name == "t"
    assert len(read_rows(tmp_path / "t.csv")) == 20


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators(tmp_path, separator):
    path = write(tmp_path / "t.csv", ROWS.replace(",", separator))
    assert read_table(path, "c").feature_names == ["a", "b"]


def test_byte_order_mark_and_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(("\ufeff" + ROWS.replace("a,b", '"a, or ä",b')).encode())
    assert read_table(path, "c").feature_names == ["a, or ä", "b"]


def test_parquet_and_npz(tmp_path):
    frame = pd.DataFrame({"a": np.arange(20.0), "c": ["x", "y"] * 10})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "c").feature_names == ["a"]
    np.savez(tmp_path / "t.npz", X=np.ones((4, 2)), y=[0, 1, 0, 1])
    assert read_table(tmp_path / "t.npz").X.shape == (4, 2)
    with pytest.raises(ValueError, match="no array 'z'"):
        read_table(tmp_path / "t.npz", "z")


BAD = {
    "missing column": (ROWS, "d", "no column 'd'; its columns are a, b, c"),
    "no target said": (ROWS, None, "--target.*a, b, c"),
    "empty": ("", "c", "empty"),
    "header alone": ("a,b,c\n", "c", "no rows"),
    "one class": ("a,c\n1,x\n2,x\n", "c", "x in every row"),
    "missing labels": ("a,c\n1,x\n2,\n3,y\n", "c", "1 rows of t.csv have no 'c', the first is row 2"),
    "a quantity": ("a,c\n1,0.5\n2,0.7\n3,0.5\n", "c", "a quantity, not a class"),
    "labels that name rows": ("a,c\n" + "".join(f"{k},n{k}\n" for k in range(20)), "c", "20 different values"),
    "ragged": ("a,c\n1,x\n1,2,3,4\n", "c", "cannot be read"),
    "only a target": ("c\nx\ny\n", "c", "no columns besides"),
    "binary": ("a,\0c\n", "c", "not a text file"),
    "a broken parquet": ("hello", "c", "damaged"),
    "a broken npz": ("hello", "c", "damaged"),
}


@pytest.mark.parametrize("kind", list(BAD))
def test_bad_tables(tmp_path, kind):
    text, target, match = BAD[kind]
    suffix = next((s for s in ("parquet", "npz") if s in kind), "csv")
    with pytest.raises(ValueError, match=match):
        read_table(write(tmp_path / f"t.{suffix}", text), target)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_table(tmp_path / "no.csv", "c")
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path, "c")
    with pytest.raises(ValueError, match="neither a file nor the name"):
        open_data("whine")
    with pytest.raises(ValueError, match="--target and --drop are for tables"):
        open_data("wine", "alcohol")


def test_unlabelled_rows_can_be_left_out(tmp_path):
    path = write(tmp_path / "t.csv", "a,c\n1,1\n2,\n3,2\n4,1\n5,2\n")
    found = read_table(path, "c", drop_unlabelled=True)
    assert found.y.tolist() == [1, 2, 1, 2]
    assert "1 rows" in found.notes[0]


def test_too_large(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", ROWS)
    with pytest.raises(ValueError, match="more than 10 rows"):
        read_table(path, "c", max_rows=10)
    with open(tmp_path / "huge.csv", "wb") as file:
        file.truncate(2**31)  # two gigabytes that take no room on the disk
    with pytest.raises(ValueError, match=r"2\.1 GB"):
        read_table(tmp_path / "huge.csv", "c")
    (tmp_path / "line.csv").write_bytes(b"1," * 2**19)
    with pytest.raises(ValueError, match="first line"):
        read_table(tmp_path / "line.csv", "c")
    monkeypatch.setattr(source, "MAX_BYTES", 2**20)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((2**10, 2**10)), y=np.zeros(2**10))
    with pytest.raises(ValueError, match="would take"):
        read_table(tmp_path / "bomb.npz")
    pd.DataFrame({"a": np.zeros(10**6), "c": 0}).to_parquet(tmp_path / "long.parquet")
    with pytest.raises(ValueError, match="more than 500,000 rows"):
        read_table(tmp_path / "long.parquet", "c")


def test_encoder():
    train = pd.DataFrame(
        {
            "n": [1.0, None, 3.0],
            "text": ["1.5", "2", None],
            "word": ["b", "a", None],
            "flag": [True, False, True],
            "code": [1, 2, 1],
        }
    )
    encoder = TableEncoder(categorical=["code"]).fit(train)
    assert encoder.feature_names_ == [
        *("n", "text", "word=(missing)", "word=a", "word=b", "flag=False", "flag=True", "code=1", "code=2")
    ]
    assert encoder.frozen_.tolist() == [False, False] + [True] * 7
    out = encoder.encode(train)
    assert out[1].tolist() == [2.0, 2.0, 0, 1, 0, 1, 0, 0, 1]
    new = train.assign(word="unseen", extra=1, code=[1.0, 2.0, 1.0])[["extra", *train.columns[::-1]]]
    assert encoder.encode(new)[0].tolist() == [1.0, 1.5, 0, 0, 0, 0, 1, 1, 0]
    notes = " ".join(encoder.notes(train))
    assert "2 missing numbers" in notes
    assert "word, flag, code" in notes


def test_encoder_refuses():
    numbers = pd.DataFrame({"n": ["1", "2", "oops", "4"], "m": [1, 2, 3, 4]})
    with pytest.raises(ValueError, match=r"Column 'n' holds numbers, but row 3 says 'oops'"):
        TableEncoder().fit(numbers)
    encoder = TableEncoder().fit(numbers.assign(n=[1, 2, 3, 4]))
    with pytest.raises(ValueError, match="row 3 says 'oops'"):
        encoder.encode(numbers)
    with pytest.raises(ValueError, match=r"column 'n' has words instead of numbers in row 3 \('oops'\)"):
        encoder.transform(numbers)
    with pytest.raises(ValueError, match="lacks the column 'm'"):
        encoder.transform(numbers[["n"]])
    with pytest.raises(ValueError, match="infinite in row 2"):
        encoder.encode(pd.DataFrame({"n": [1.0, np.inf], "m": [0, 0]}))
    with pytest.raises(ValueError, match="holds dates"):
        TableEncoder().fit(pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-01-02"])}))
    with pytest.raises(ValueError, match="200 different words"):
        TableEncoder().fit(pd.DataFrame({"name": [f"n{k}" for k in range(200)]}))
    with pytest.raises(ValueError, match="is empty"):
        TableEncoder().fit(pd.DataFrame({"n": [np.nan, np.nan]}))
    with pytest.raises(ValueError, match="no column 'z'"):
        TableEncoder(categorical=["z"]).fit(numbers)


def test_a_column_that_pieces_read_differently(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_CHUNK", 5)
    path = write(tmp_path / "t.csv", ROWS.replace("\n13,", "\noops,"))
    with pytest.raises(ValueError, match="row 14 says 'oops'"):
        TableEncoder().fit(read_table(path, "c").X)
