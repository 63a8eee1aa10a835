"""Files as people have them: encodings, compressed files, decimal commas, thousands."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from holdfast.datasets import ReadOptions, open_data, read_rows, read_table

GERMAN = "hba1c;blutdruck;diagnose\n" + "".join(
    f"{4 + k % 7},{k % 10};{110 + k};{'krank' if k % 3 else 'gesund'}\n" for k in range(80)
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_decimal_commas_are_found(tmp_path):
    found = read_table(write(tmp_path / "lab.csv", GERMAN), "diagnose")
    assert found.X["hba1c"].dtype.kind == "f"
    assert found.X["hba1c"].iloc[:3].tolist() == [4.0, 5.1, 6.2]
    assert found.X["blutdruck"].iloc[0] == 110
    assert "decimal commas" in found.notes[0]
    assert "hba1c" in found.notes[0]


def test_decimal_commas_as_said(tmp_path):
    path = write(tmp_path / "lab.csv", GERMAN)
    same = read_table(path, "diagnose", options=ReadOptions(decimal=","))
    assert same.X["hba1c"].iloc[1] == 5.1
    words = read_table(path, "diagnose", options=ReadOptions(decimal="."))
    assert words.X["hba1c"].iloc[1] == "5,1"
    for wrong in ({"decimal": ";"}, {"thousands": ".."}, {"decimal": ",", "thousands": ","}, {"encoding": "klingon"}):
        with pytest.raises(ValueError, match=r"decimal|thousands|encoding"):
            ReadOptions(**wrong)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (['"25,545.37"', '"1,250"', "999"], [25545.37, 1250, 999]),
        (['"1,234,567"', "12", "5"], [1234567, 12, 5]),
        (["1 250.5", "12", "2 000 000"], [1250.5, 12, 2000000]),
        (["12'500", "1'000'000", "7"], [12500, 1000000, 7]),
    ],
)
def test_thousands_are_found(tmp_path, values, numbers):
    path = write(tmp_path / "t.csv", "income,c\n" + "".join(f"{v},{'xy'[k % 2]}\n" for k, v in enumerate(values * 4)))
    found = read_table(path, "c")
    assert found.X["income"].iloc[:3].tolist() == numbers
    assert "thousands" in found.notes[0]


def test_german_thousands(tmp_path):
    path = write(tmp_path / "t.csv", "preis;menge;c\n" + "1.250,50;1,5;x\n12,25;2,5;y\n" * 4)
    assert read_table(path, "c").X["preis"].iloc[:2].tolist() == [1250.5, 12.25]
    path = write(tmp_path / "u.csv", "preis;menge;c\n" + "1.250;1,5;x\n2.375;2,5;y\n" * 4)
    with pytest.raises(ValueError, match=r"'preis' has numbers such as 1\.250.*--thousands"):
        read_table(path, "c")
    found = read_table(path, "c", options=ReadOptions(thousands="."))
    assert found.X["preis"].iloc[:2].tolist() == [1250, 2375]
    assert found.X["menge"].iloc[:2].tolist() == [1.5, 2.5]


def test_a_comma_that_may_be_either_is_asked_about(tmp_path):
    path = write(tmp_path / "t.csv", "v;c\n" + "1,250;x\n2,375;y\n" * 4)
    with pytest.raises(ValueError, match=r"--decimal ,.*--thousands ,"):
        read_table(path, "c")
    assert read_table(path, "c", options=ReadOptions(decimal=",")).X["v"].iloc[0] == 1.25
    assert read_table(path, "c", options=ReadOptions(thousands=",")).X["v"].iloc[0] == 1250


def test_words_with_commas_stay_words(tmp_path):
    path = write(tmp_path / "t.csv", 'v,c\n"Meier, Anna",x\n"Huber, Jo",y\n')
    assert read_table(path, "c").X["v"].tolist() == ["Meier, Anna", "Huber, Jo"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_encodings_are_found(tmp_path, encoding):
    text = "größe,ort,c\n" + "1,Zürich,x\n2,Genève,y\n" * 5
    found = read_table(write(tmp_path / "t.csv", text.encode(encoding)), "c")
    assert found.feature_names == ["größe", "ort"]
    assert found.X["ort"].iloc[1] == "Genève"
    assert any("not UTF-8" in note for note in found.notes) == (not encoding.startswith("utf-8"))


def test_a_wrong_encoding_is_one_sentence(tmp_path):
    path = write(tmp_path / "t.csv", "ort,c\nZürich,x\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"not in utf-8.*--encoding"):
        read_table(path, "c", options=ReadOptions(encoding="utf-8"))


def test_a_letter_beyond_the_first_megabyte(tmp_path):
    text = "ort,c\n" + "a" * 50 + ",x\n" + ("b" * 50 + ",y\n") * 21_000 + "Zürich,x\n"
    found = read_table(write(tmp_path / "t.csv", text.encode("latin-1")), "c")
    assert found.X["ort"].iloc[-1] == "Zürich"


def test_compressed_feather_and_others(tmp_path):
    frame = pd.DataFrame({"a": np.arange(12.0), "c": ["x", "y"] * 6})
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        frame.to_csv(file, index=False)
    frame.to_feather(tmp_path / "t.feather")
    for name in ("t.csv.gz", "t.feather"):
        assert read_table(tmp_path / name, "c").X["a"].tolist() == list(range(12))
        assert open_data(tmp_path / name, "c").name == "t"
    write(tmp_path / "cut.csv.gz", (tmp_path / "t.csv.gz").read_bytes()[:40])
    write(tmp_path / "bad.feather", b"ARROW1 and nonsense")
    for name, said in {
        "cut.csv.gz": "damaged|cannot be read", "bad.feather": "Feather", "t.zip": "unpack", "t.pkl": "pickle",
        "t.json": "JSON", "t.xls": "CSV",
    }.items():  # fmt: skip
        if not (tmp_path / name).exists():
            write(tmp_path / name, b"PK")
        with pytest.raises(ValueError, match=said):
            read_rows(tmp_path / name)


def test_excel_names_its_extra_or_is_read(tmp_path, monkeypatch):
    write(tmp_path / "t.xlsx", b"PK\x03\x04 no workbook")
    monkeypatch.setattr("holdfast.datasets.formats.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"save it as CSV.*holdfast\[excel\]"):
        read_rows(tmp_path / "t.xlsx")


def test_json_on_one_line(tmp_path):
    rows = json.dumps([{"a": k, "b": "x" * 100} for k in range(3000)])
    for name in ("t.csv", "t.txt"):
        with pytest.raises(ValueError, match=r"JSON|first line"):
            read_rows(write(tmp_path / name, rows))
    with pytest.raises(ValueError, match="not the header of a table"):
        read_rows(write(tmp_path / "long.csv", "x" * 200_000 + "\n1\n"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "gz"])
def test_standard_input(monkeypatch, kind):
    frame, content = pd.DataFrame({"a": np.arange(12.0), "c": ["x", "y"] * 6}), io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(content)
    else:
        text = frame.to_csv(index=False).encode()
        content.write(gzip.compress(text) if kind == "gz" else text)
    content.seek(0)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    assert read_table("-", "c").X["a"].tolist() == list(range(12))
