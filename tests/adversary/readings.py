"""Tables in many spellings: a model trained on one spelling of a table must read the others as the same rows.

A case is a table of known values, the spelling of the training file and that of a new file. The model is the nearest
neighbour, with labels drawn at random: it answers its own rows with their labels, unless they were read as others.
"""

import datetime
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, save
from holdfast.auditing.prepare import fit_encoder, inspect
from holdfast.datasets import ReadOptions, open_data
from tests.adversary.tally import Tally
from tests.cli.program import run

GAP = "-999"
ROWS = 30
DATES = {
    "iso": "{0.year}-{0.month:02}-{0.day:02}", "german": "{0.day}.{0.month}.{0.year}",
    "us": "{0.month}/{0.day}/{0.year}", "compact": "{0.year}{0.month:02}{0.day:02}",
}  # fmt: skip


class Spelling(NamedTuple):
    """How a table is written.

    Attributes
    ----------
    kind : {"csv", "parquet", "feather"}
    decimal, thousands : str
        The signs of its numbers.
    separator : str
    trailing : {"", "rows", "all"}
        Where lines end with a separator.
    date : str
        A key of DATES.
    encoding : str
    whole : str
        What follows a whole number: "", or ".0" as in a column with gaps.
    quoted : bool
    """

    kind: str = "csv"
    decimal: str = "."
    thousands: str = ""
    separator: str = ","
    trailing: str = ""
    date: str = "iso"
    encoding: str = "utf-8"
    whole: str = ""
    quoted: bool = False


class Case(NamedTuple):
    """A table and two spellings; ``columns`` are those it has, ``rows`` of the new file are taken from the front."""

    seed: int
    columns: tuple[str, ...]
    trained: Spelling
    new: Spelling
    rows: int


def table(seed: int) -> pd.DataFrame:
    """Prices with up to two decimals, some in the thousands, counts with gaps, codes, a date, a flag, labels."""
    rng = np.random.default_rng(seed)
    price = (rng.choice([1.0, 40.0, 3000.0], ROWS) * rng.uniform(0.5, 1.5, ROWS)).round(rng.integers(0, 3))
    price[::5], price[:2] = price[::5].round(), [rng.integers(1001, 5000), 12.5]
    count = rng.integers(0, 9000, ROWS).astype(float)
    count[rng.random(ROWS) < 0.2] = np.nan
    days = [datetime.date(2023, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 700, ROWS)]
    days[0] = datetime.date(2023, 1, 31)
    codes = rng.choice(["1_12", "11_2", "112", "2_4"], ROWS, p=[0.3, 0.3, 0.1, 0.3])
    codes[:3] = ["1_12", "11_2", "2_4"]
    values = {"price": price, "count": count, "code": codes, "day": days, "flag": rng.random(ROWS) < 0.5}
    return pd.DataFrame(values).assign(unused=np.nan, y=rng.integers(0, 2, ROWS))


def write(frame: pd.DataFrame, path: Path, how: Spelling) -> Path:
    """The table in this spelling."""
    if how.kind != "csv":
        path = path.with_suffix(f".{how.kind}")
        frame = frame.assign(count=frame["count"].fillna(float(GAP))) if "count" in frame else frame
        frame.to_parquet(path) if how.kind == "parquet" else frame.to_feather(path)
        return path
    lines = [how.separator.join(frame.columns) + how.separator * (how.trailing == "all")]
    for row in frame.itertuples(index=False):
        cells = [_cell(value, how) for value in row]
        lines.append(how.separator.join(cells) + how.separator * bool(how.trailing))
    path.write_bytes("\n".join([*lines, ""]).encode(how.encoding))
    return path


def _cell(value, how: Spelling) -> str:
    if isinstance(value, datetime.date):
        text = DATES[how.date].format(value)
    elif isinstance(value, float):
        whole, _, decimals = f"{value:,.2f}".rstrip("0").rstrip(".").partition(".")
        text = GAP if value != value else whole.replace(",", how.thousands)
        text += how.decimal + decimals if decimals else "" if value != value else how.whole
    else:
        text = str(value)
    return f'"{text}"' if how.quoted or how.separator in text else text


def attack(case: Case) -> Tally:
    """Train on one file, predict the other, and the training file itself; refusals of other spellings are sound."""
    tally, frame = Tally(), table(case.seed)[[*case.columns, "y"]]
    with tempfile.TemporaryDirectory() as folder:
        file = write(frame, Path(folder) / "t.csv", case.trained)
        dates = [name for name in case.columns if name == "day"]
        dataset, _ = inspect(open_data(file, "y", options=ReadOptions(missing=(GAP,))), (), dates)
        encoder, known = fit_encoder(dataset, np.arange(ROWS), [], dates, [])
        codes = encoder.categories_.get("code", [])
        tally.expect("code" not in case.columns or len(codes) == frame["code"].nunique(), "codes are taken for numbers")
        inner = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1))
        inner.fit(encoder.encode(known), dataset.y)
        save(Pipeline([("table", encoder), *inner.steps]), Path(folder) / "m.holdfast")
        answers = inner.predict(encoder.encode(known)).tolist()  # rows may be alike
        other = write(frame[: case.rows], Path(folder) / "new.csv", case.new)
        for path, rows in ((file, ROWS), (other, case.rows)):
            gaps = ("--allow-unknown",) if "count" in case.columns else ()
            done = run("predict", "m.holdfast", path.name, "--json", *gaps, cwd=folder, code=None)
            told = json.loads(done.stdout) if done.returncode == 0 else {"unknown_values": [{"kind": "refused"}]}
            if any(each["kind"] != "gap" for each in told["unknown_values"]):
                tally.refused += 1
                tally.expect(path is other, f"the training file was refused: {done.stderr}")
            else:
                wrong = sum(a != b for a, b in zip(told["prediction"], answers[:rows], strict=True))
                tally.expect(not wrong, f"{wrong} of {rows} rows of {path.name} were read as others")
    return tally


@st.composite
def cases(draw) -> Case:
    """Spellings in which no number or date has two meanings, given the signs of the training file."""
    columns = draw(st.sampled_from([
        ("price",), ("price", "count"), ("count", "price", "unused"), ("price", "code"), ("price", "day"),
        ("price", "count", "code", "day", "flag"),
    ]))  # fmt: skip
    trained = draw(spellings())
    new = draw(spellings())
    if new.decimal != trained.decimal:
        new = new._replace(thousands="")
    if trained.date == "us" and new.kind == "csv":
        new = new._replace(date=draw(st.sampled_from(["us", "iso"])))
    new = draw(st.sampled_from([trained, new]))
    return Case(draw(st.integers(0, 999)), columns, trained, new, draw(st.sampled_from([1, 2, ROWS])))


@st.composite
def spellings(draw) -> Spelling:
    """Any spelling that is a table."""
    decimal = draw(st.sampled_from(".,"))
    separator = draw(st.sampled_from(";\t," if decimal == "." else ";\t"))
    thousands = draw(st.sampled_from(["", {".": ",", ",": "."}[decimal], " ", "'"]))
    return Spelling(
        draw(st.sampled_from(["csv"] * 4 + ["parquet", "feather"])), decimal, thousands, separator,
        draw(st.sampled_from(["", "", "rows", "all"])), draw(st.sampled_from(list(DATES))),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
        draw(st.sampled_from(["", ".0"])) if decimal == "." and not thousands else "", draw(st.booleans()),
    )  # fmt: skip
