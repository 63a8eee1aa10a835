"""A new table is read as the training table was: the same cells are the same rows, or are refused by row and cell."""

import datetime
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, load, save
from holdfast.auditing.prepare import fit_encoder, inspect, read_table_for
from holdfast.datasets import Reading, ReadOptions, TableEncoder, open_data, read_table
from holdfast.datasets import formats as text
from holdfast.datasets.formats import parse_number
from tests.adversary.readings import DATES, GAP, ROWS, Spelling, table, write
from tests.cli.program import run
from tests.sizes import FULL

SIGNS = [(".", ""), (".", ","), (".", "'"), (",", ""), (",", "."), (",", "\u00a0")]
SPELLINGS = [
    Spelling("csv", *signs, ";", trailing, date, encoding, quoted=quoted)
    for k, (signs, trailing, date, encoding, quoted) in enumerate(
        itertools.product(SIGNS, ["", "rows", "all"], DATES, ["utf-8", "utf-8-sig", "utf-16"], [False, True])
    )
    if FULL or k % 11 == 0
]
SPELLINGS += [Spelling("parquet"), Spelling("feather"), Spelling(whole=".0"), Spelling(separator="\t")]


def trained(file, dates=("day",), options=None):
    """A model of a file, without a search, and the rows it was trained on."""
    options = ReadOptions(missing=(GAP,)) if options is None else options
    dataset, _ = inspect(open_data(file, "y", options=options), (), dates)
    encoder, frame = fit_encoder(dataset, np.arange(len(dataset.y)), (), dates, [])
    rows = encoder.encode(frame)
    inner = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(rows, dataset.y)
    return Pipeline([("table", encoder), *inner.steps]), rows


def read(model, path, **options):
    return read_table_for(model, path, ReadOptions(**options), allow_unknown=True)[1]


@pytest.mark.parametrize("how", SPELLINGS, ids=lambda how: "-".join(map(str, how)))
def test_the_training_file_gives_the_rows_of_training(tmp_path, how):
    """Also after the model was saved; and the front of the file alone, which leaves more open, gives its front."""
    model, rows = trained(write(table(0), tmp_path / "t", how))
    model = load(save(model, tmp_path / "m.holdfast"))
    for count in (ROWS, 5, 1):
        found = read(model, write(table(0)[:count], tmp_path / "t", how))
        np.testing.assert_array_equal(found.matrix, rows[:count])
        assert {each.kind for each in found.unknown} <= {"gap"}


@pytest.mark.parametrize("how", SPELLINGS[::7], ids=lambda how: "-".join(map(str, how)))
def test_another_spelling_gives_the_same_rows(tmp_path, how):
    model, rows = trained(write(table(1), tmp_path / "t", how))
    for other in (Spelling("parquet"), how._replace(thousands=""), how._replace(date="compact", encoding="utf-8")):
        found = read(model, write(table(1), tmp_path / "u", other))
        np.testing.assert_array_equal(found.matrix, rows)


def test_every_command_reads_the_same_rows(tmp_path):
    """Of a file with sentinels, decimal commas, dates and separators at the ends of lines."""
    how = Spelling("csv", ",", ".", ";", "rows", "us", "utf-16")
    file = write(table(2), tmp_path / "t.csv", how)
    model, rows = trained(file)
    save(model, tmp_path / "m.holdfast")
    expected = model[1:].predict(rows).tolist()
    for command in ("predict", "certify", "attack", "explain"):
        done = json.loads(run(command, "m.holdfast", "t.csv", "--allow-unknown", "--json", cwd=tmp_path).stdout)
        entries = done.get("certificates", done)
        found = (
            [each["prediction"] for each in done["counterfactuals"]] if command == "explain" else entries["prediction"]
        )
        assert found == expected
        assert any("decimal commas" in note for note in done["notes"])
        assert done["rows_with_unknown_values"] == table(2)["count"].isna().sum()
    done = json.loads(
        run("audit", "-m", "m.holdfast", "t.csv", "-t", "y", "--json", "--explain", 0, cwd=tmp_path, code=1).stdout
        or "{}"
    )
    assert not done  # a gap, which an audit does not fill


def csv(path, *lines):
    path.write_text("\n".join([*lines, ""]))
    return path


def test_one_scale_in_one_column(tmp_path):
    """2.000 beside 1.234,5 is two thousand, and 2.5 is refused: it was 2.0 beside 1234.5."""
    lines = ["price;y", "1.234,5;a", "2.000;b", "12;a", "3.100;b", "2,25;a", "4.000.000;b"]
    found = read_table(csv(tmp_path / "t.csv", *lines), "y")
    assert found.X["price"].tolist() == [1234.5, 2000, 12, 3100, 2.25, 4e6]
    assert found.notes == [
        "Numbers with decimal commas and points between the thousands were read as such in price (else: --decimal .)."
    ]
    found = read_table(csv(tmp_path / "t.csv", "price;y", "1 234;a", "2,5;b", "12;a"), "y")
    assert found.X["price"].tolist() == [1234, 2.5, 12]
    with pytest.raises(ValueError, match=r"'price' has '1.234,5' in row 1, but column 'price' has '2.5' in row 7"):
        read_table(csv(tmp_path / "t.csv", *lines, "2.5;a"), "y")
    with pytest.raises(ValueError, match=r"'price' has '2.5' in row 7, but its numbers have commas before decimals"):
        read_table(csv(tmp_path / "t.csv", *lines, "2.5;a"), "y", options=ReadOptions(decimal=","))
    path = csv(tmp_path / "t.csv", "a;b;y", "1,5;0.5;a", "2,5;2;b")
    with pytest.raises(ValueError, match=r"'b' has '0.5' in row 1, but its numbers have commas.*--drop"):
        read_table(path, "y")
    assert read_table(path, "y", drop=["b"]).X["a"].tolist() == [1.5, 2.5]


def test_numbers_of_later_rows(tmp_path, monkeypatch):
    """A file is read in pieces: a piece without signs is numbers to the reader, and those beside it were gaps."""
    monkeypatch.setattr(text, "_CHUNK", 4)
    lines = (
        [f"{k};{'ab'[k % 2]}" for k in range(4)] + [f"{k},5;{'ab'[k % 2]}" for k in range(4)] + ["2.000;a", "1.250,5;b"]
    )
    found = read_table(csv(tmp_path / "t.csv", "v;y", *lines), "y")
    assert found.X["v"].tolist() == [0, 1, 2, 3, 0.5, 1.5, 2.5, 3.5, 2000, 1250.5]


@pytest.mark.parametrize(
    ("word", "decimal", "number"),
    [
        ("1.234,5", ",", 1234.5), ("2.000", ",", 2000), ("2.5", ",", None), ("1 234", ",", 1234), ("12 34", ",", None),
        ("1.234 567", ",", None), ("1,234", ".", 1234), ("1,23", ".", None), (".5", ".", 0.5), ("5.", ".", 5),
        (",5", ",", 0.5), ("-1'250.5e2", ".", -125050), ("1_12", ".", None), ("\uff11\uff12", ".", None),
        ("0,123", ".", None),
        ("+7", ",", 7), ("", ".", None), ("044 123", ".", None), ("\u0661", ".", None),
    ],
)  # fmt: skip
def test_parse(word, decimal, number):
    assert parse_number(word, decimal) == number


def test_codes_and_addresses_are_words(tmp_path):
    """1_12 and 11_2 were both 112; 192.168.100.200 was 192168100200."""
    path = csv(
        tmp_path / "t.csv",
        "site,ip,n,y",
        *[f"{c},192.168.100.20{k % 2},{k},{k % 2}" for k, c in enumerate(["1_12", "11_2", "2_4"] * 4)],
    )
    encoder = TableEncoder().fit(read_table(path, "y").X)
    assert encoder.categories_ == {"site": ["11_2", "1_12", "2_4"], "ip": ["192.168.100.200", "192.168.100.201"]}
    assert TableEncoder().fit(pd.DataFrame({"n": [1, 2, 3], "w": ["1_0", "\uff11", "2_0"]})).medians_ == {"n": 2.0}


def test_a_separator_at_the_end_of_lines(tmp_path):
    """All columns moved by one, without a word."""
    rows = read_table(csv(tmp_path / "t.csv", "x,z,y", "43.36,0.749,1,", "44,0.8,0,"), "y")
    assert rows.X.to_numpy().tolist() == [[43.36, 0.749], [44, 0.8]]
    rows = read_table(csv(tmp_path / "r.csv", "x,z,y", '"1",43.36,0.749,1', '"2",44,0.8,0'), "y")
    assert rows.X.to_numpy().tolist() == [[43.36, 0.749], [44, 0.8]]
    assert "names of rows" in rows.notes[0]
    rows = read_table(csv(tmp_path / "o.csv", "x,z,y", "0,0.749,1,", "1,0.8,0,"), "y")  # numbered as an index is
    assert rows.X.to_numpy().tolist() == [[0, 0.749], [1, 0.8]]
    for lines in (["43.36,0.749,1,old", "44,0.8,0,new"], ["1,2,0,7,"], ["0,2,0,7", "1,2,1,7"]):
        with pytest.raises(ValueError, match="more cells than its header has names"):
            read_table(csv(tmp_path / "u.csv", "x,z,y", *lines), "y")


def test_sentinels_in_python():
    frame = pd.DataFrame({"n": [1.0, -999, 3, 5], "w": ["a", "b", "?", "a"]})
    reading = Reading(missing=("-999", "?"))
    encoder = TableEncoder(reading=reading).fit(frame)
    assert encoder.medians_ == {"n": 3.0}
    assert encoder.categories_ == {"w": ["(missing)", "a", "b"]}
    for again in (frame, frame.to_numpy(dtype=object), frame.astype({"n": str}), frame.astype({"n": "Int64"})):
        with pytest.raises(ValueError, match=r"'n' has no value in row 2\. "):
            encoder.transform(again)
        assert encoder.transform_new(again, allow_unknown=True)[0][:, 0].tolist() == [1, 3, 3, 5]
    with pytest.raises(ValueError, match="no value"):
        encoder.transform(frame.assign(n=[1, 2, -999, 4]))


def test_dates_in_every_form(tmp_path):
    """20240215 was a number of days, and date32 became categories."""
    iso = ["2024-02-15", "2024-12-31", "2023-01-31", None]
    first = TableEncoder(dates=["d"]).fit(pd.DataFrame({"d": iso}))
    days = first.encode(pd.DataFrame({"d": iso}))
    assert days[:2, 0].tolist() == [19768, 20088]
    for column in (
        [20240215, 20241231, 20230131, None], ["20240215", "20241231", "20230131", None], pd.to_datetime(iso),
        [datetime.date(2024, 2, 15), datetime.date(2024, 12, 31), datetime.date(2023, 1, 31), None],
        ["15.2.2024", "31.12.2024", "2023/1/31", None], ["2/15/2024", "12/31/2024", "1/31/2023", None],
        ["2024-2-15", "2024-12-31T00:00:00Z", "2023-01-31", None],
    ):  # fmt: skip
        frame = pd.DataFrame({"d": column})
        np.testing.assert_array_equal(first.transform_new(frame, allow_unknown=True)[0], days)
        np.testing.assert_array_equal(TableEncoder(dates=["d"]).fit(frame).encode(frame), days)
    with pytest.raises(ValueError, match="holds dates"):
        TableEncoder().fit(pd.DataFrame({"d": [datetime.date(2024, 2, 15)] * 3}))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (45292, r"'d' holds dates, but row 2 says 45292"), ("2024", "row 2 says 2024"),
        (20240231, "row 2 says 20240231"), (19768.5, "row 2 says 19768.5"),
        ("9999-12-31", r"'d' has the date '9999-12-31' in row 2.*--missing=9999-12-31"),
        ("1600-01-01", "read from 1678 to 2261"),
        ("2204-02-15", "dates far outside those of the training rows in row 2"),
        ("soon", "words instead of numbers in row 2"), ("13/13/2024", "leave open what is the month"),
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused(value, said):
    encoder = TableEncoder(dates=["d"]).fit(pd.DataFrame({"d": ["2024-02-15", "2024-12-31", "2023-01-31"]}))
    with pytest.raises(ValueError, match=said):
        encoder.transform(pd.DataFrame({"d": ["2024-02-15", value]}))


def test_dates_keep_the_order_of_training():
    encoder = TableEncoder(dates=["d"]).fit(pd.DataFrame({"d": ["1/31/2024", "2/1/2024", "3/1/2024"]}))
    assert encoder.transform(pd.DataFrame({"d": ["2/1/2024"]})).tolist() == [[19754.0]]
    with pytest.raises(ValueError, match="words instead of numbers in row 1"):
        encoder.transform(pd.DataFrame({"d": ["31/1/2024"]}))


def test_a_model_reads_with_its_own_signs(tmp_path):
    """Of a model of decimal commas, 4.999 is not five, and 1,234 not a thousand; a note says what was read."""
    lines = [f"{k}.{k:02}0,5;{k};{'ab'[k % 2]}" for k in range(1, 13)]
    model, _ = trained(csv(tmp_path / "t.csv", "p;n;y", *lines), ())
    assert model[0].reading_ == Reading(",", ".", (GAP,), {}, ["n"])
    rows = read(model, csv(tmp_path / "u.csv", "p;n", "4.999;1"))
    assert rows.matrix.tolist() == [[4999, 1]]
    assert "points between the thousands" in rows.notes()[0]
    assert read(model, csv(tmp_path / "u.csv", "n,p", '50,"1,234"')).matrix.tolist() == [[1.234, 50]]
    with pytest.raises(ValueError, match=r"'p' has '4.5' in row 1"):
        read(model, csv(tmp_path / "u.csv", "p;n", "4.5;1"))
    assert read(model, csv(tmp_path / "u.csv", "p;n", "4.5;1"), decimal=".").matrix.tolist() == [[4.5, 1]]
    other = read(model, csv(tmp_path / "u.csv", "p;n;remark", "4,5;1;2.5"))  # a column that nobody needs
    assert other.matrix.tolist() == [[4.5, 1]]


def test_two_features_of_one_name():
    with pytest.raises(ValueError, match="both be named 'a=b'"):
        TableEncoder().fit(pd.DataFrame({"a=b": [1.0, 2, 3], "a": ["b", "c", "b"]}))


def test_a_packed_file_of_arrays_stays_small(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((2**25, 12), dtype=np.int8), y=np.zeros(2**10))
    assert (tmp_path / "bomb.npz").stat().st_size < 2**20
    with pytest.raises(ValueError, match=r"'X' of shape \(33554432, 12\) would take 3\.2 GB"):
        read_table(tmp_path / "bomb.npz")
