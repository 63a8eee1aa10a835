"""A model file made by an attacker: no code, no signal, no hang, no endless memory, no wrong answer without a word."""

import copy
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from holdfast import (
    LMNN,
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    MarginLVQ,
    ProxyNCA,
    load,
    save,
)
from holdfast.datasets import TableEncoder
from holdfast.files.archive import ModelFileError
from holdfast.files.model_file import SKLEARN_TYPES
from holdfast.files.parts import CHECKS
from tests.adversary import model_files
from tests.cli.program import run, start

X, y = load_iris(return_X_y=True)
X, NAMES, ROWS = X[::5], np.array(["setosa", "versicolor", "virginica"])[y][::5], X[1::10]


def table(rows: np.ndarray) -> pd.DataFrame:
    """The flowers with a gap, a word and a number that is a category."""
    frame = pd.DataFrame(rows[:, :3].copy(), columns=["long", "wide", "petal"])
    frame.loc[::7, "wide"] = np.nan
    return frame.assign(size=np.where(rows[:, 0] > 5.8, "large", "small"), kind=np.round(rows[:, 3]))


def columns() -> ColumnTransformer:
    """Numbers with gaps filled in and scaled, words as indicators, a category by its order."""
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["long", "wide", "petal"]),
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["size"]),
            ("order", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["kind"]),
        ]
    )


# CI and `make attack` try 2,000; HOLDFAST_MUTATIONS=100000 takes an hour.
COUNT = int(os.environ.get("HOLDFAST_MUTATIONS", "2000" if os.environ.get("CI") == "true" else "200"))
SEED = 15

MODELS = {
    "neighbors": make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(LMNN())),
    "prototypes": make_pipeline(
        Normalizer(), CertifiedPrototypeClassifier(ProxyNCA(random_state=np.random.RandomState(0)))
    ),
    "table": make_pipeline(TableEncoder(), RobustScaler(), CertifiedKNeighborsClassifier(n_neighbors=5)),
    "pruned": make_pipeline(MaxAbsScaler(), TruncatedSVD(3), CertifiedKNeighborsClassifier(n_neighbors=3, prune=0.05)),
    "linear": make_pipeline(VarianceThreshold(), StandardScaler(), LogisticRegression()),
    "svm": make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
    "margin": make_pipeline(StandardScaler(), CertifiedPrototypeClassifier(MarginLVQ(2, random_state=0))),
    "kd_tree": make_pipeline(StandardScaler(), PCA(2, whiten=True), KNeighborsClassifier(3, algorithm="kd_tree")),
    "ball_tree": make_pipeline(
        MinMaxScaler(),
        LinearDiscriminantAnalysis(),
        KNeighborsClassifier(3, algorithm="ball_tree", metric="mahalanobis", metric_params={"VI": np.eye(2)}),
    ),
}
TABLES = {
    "words": make_pipeline(columns(), KNeighborsClassifier(3)),
    "words, holdfast": make_pipeline(columns(), CertifiedKNeighborsClassifier(n_neighbors=3)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mutated_files(tmp_path):
    for name, model in MODELS.items():
        save(model.fit(X, NAMES), tmp_path / f"{name}.holdfast")
        np.savez(tmp_path / f"{name}.npz", rows=ROWS, expected=model.predict(ROWS))
    for name, model in TABLES.items():
        save(model.fit(table(X), NAMES), tmp_path / f"{name}.holdfast")
        table(ROWS).to_csv(tmp_path / f"{name}.csv", index=False)
        np.savez(tmp_path / f"{name}.npz", rows=ROWS, expected=model.predict(table(ROWS)))
    command = [sys.executable, "-m", "tests.adversary.model_files", str(tmp_path), str(COUNT), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + COUNT)
    at = (tmp_path / "at").read_text().splitlines()[-1]
    assert done.returncode == 0, f"ended with {done.returncode} at mutation {at} (seed {SEED}): {done.stderr[-2000:]}"
    report = json.loads(done.stdout)
    print(report["seen"])
    assert sum(report["seen"].values()) == COUNT
    assert report["wrong"] == []
    assert report["seen"]["bytes: refused"] > COUNT / 10  # the mutations do reach what is checked
    assert report["seen"]["parts: refused"] > COUNT / 10
    assert report["seen"]["parts: another valid model"] > 0


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Name -> the bytes of its file."""
    folder = tmp_path_factory.mktemp("saved")
    models = {
        name: copy.deepcopy(MODELS[name]).fit(X, NAMES)
        for name in ("neighbors", "table", "svm", "kd_tree", "ball_tree")
    }
    return {name: save(model, folder / name).read_bytes() for name, model in models.items()}


def attributes(schema, name: str) -> list[dict]:
    """The nodes of all attributes of this name."""
    dicts = [n["content"] for n in model_files._nodes(schema) if n["__loader__"] == "DictNode"]
    return [content[name] for content in dicts if name in content]


def changed(content: bytes, name: str, change) -> bytes:
    """The file with an attribute changed everywhere, array or not, and a digest that agrees."""
    members = model_files.read(content)
    schema = json.loads(members["schema.json"])
    nodes = attributes(schema, name)
    assert nodes
    for node in nodes:
        if "file" in node:
            out = io.BytesIO()
            np.save(out, change(np.load(io.BytesIO(members[node["file"]]))), allow_pickle=False)
            members[node["file"]] = out.getvalue()
        else:
            node["content"] = json.dumps(change(json.loads(node["content"])))
            node.pop("__id__")
    members["schema.json"] = json.dumps(schema).encode()
    return model_files.write(members)


def with_number(value, place=0):
    def change(array):
        array.flat[place] = value
        return array

    return change


CHANGES = {
    "codes too large": ("neighbors", "reference_codes_", with_number(40), "reference_codes_ must be from 0 to 2"),
    "codes far too large": (
        "neighbors",
        "reference_codes_",
        with_number(10**9),
        "reference_codes_ must be from 0 to 2",
    ),
    "codes negative": ("neighbors", "reference_codes_", with_number(-1), "reference_codes_ must be from 0 to 2"),
    "codes of floats": ("neighbors", "reference_codes_", lambda a: a * 1.0, "must be whole numbers"),
    "codes lost": ("neighbors", "reference_codes_", lambda a: a[1:], r"must have shape \(30,\)"),
    "points lost": ("neighbors", "reference_", lambda a: a[1:], r"must have shape \(29,\)"),
    "points of NaN": ("neighbors", "reference_", with_number(np.nan), "reference_ must be finite"),
    "points narrower": ("neighbors", "reference_", lambda a: a[:, 1:], "reference_ must have shape"),
    "components of NaN": ("neighbors", "components_", with_number(np.nan), "components_ must be finite"),
    "components flat": ("neighbors", "components_", lambda a: a.ravel(), "components_ must have shape"),
    "no components": ("neighbors", "components_", lambda a: a[:0], "components_ must be"),
    "no neighbours": ("neighbors", "n_neighbors", lambda k: 0, "n_neighbors must be an integer of at least 1"),
    "too many neighbours": ("neighbors", "n_neighbors", lambda k: 31, "more than the 30 points"),
    "words of neighbours": ("neighbors", "n_neighbors", lambda k: "3", "n_neighbors must be an integer"),
    "no class": ("neighbors", "classes_", lambda a: a[:0], "classes_ must have at least 1"),
    "one class": ("neighbors", "classes_", lambda a: a[:1], "reference_codes_ must be from 0 to 0"),
    "classes unsorted": ("neighbors", "classes_", lambda a: a[::-1], "ascending"),
    "a class twice": ("neighbors", "classes_", lambda a: a[[0, 1, 1]], "ascending"),
    "other features": ("neighbors", "n_features_in_", lambda n: 5, "n_features_in_"),
    "no scale": ("neighbors", "scale_", with_number(0.0), "scale_ must be above 0"),
    "means short": ("neighbors", "mean_", lambda a: a[:1], "mean_ must have shape"),
    "many threads": ("kd_tree", "n_jobs", lambda n: 10**9, "n_jobs must be None or an integer"),
    "a cache": ("neighbors", "memory", lambda m: "/tmp", "memory must be None"),
    "frozen": ("table", "frozen_", lambda a: ~a, "frozen_"),
    "medians": ("table", "x0", lambda m: "x", "medians_"),
    "weights of NaN": ("svm", "coef_", with_number(np.nan), "coef_ must be finite"),
    "weights of other classes": ("svm", "coef_", lambda a: np.vstack([a, a]), "coef_ must have a row for each class"),
    "intercepts lost": ("svm", "intercept_", lambda a: a[1:], r"intercept_ must have shape \(3,\)"),
    "sklearn's codes": ("kd_tree", "_y", with_number(10**9), "_y must be from 0 to 2"),
    "sklearn's points": ("kd_tree", "_fit_X", with_number(np.nan), "_fit_X must be finite"),
    "sklearn's neighbours": ("kd_tree", "n_neighbors", lambda k: 31, "more than the 30 points"),
    "sklearn's metric": ("kd_tree", "effective_metric_", lambda m: "manhattan", "changed after fit"),
    "sklearn's search": ("kd_tree", "_fit_method", lambda m: "forest", "must search by"),
    "sklearn's VI": ("ball_tree", "VI", lambda V: V[:1], "VI.* must have shape"),
}


def test_every_type_of_scikit_learn_that_a_file_may_name_has_a_check():
    """But for pipelines, whose steps are checked, and neighbours, which are fitted again."""
    checked = {f"{kind.__module__}.{kind.__name__}" for kind, _ in CHECKS}
    others = {"sklearn.pipeline.Pipeline", "sklearn.neighbors._classification.KNeighborsClassifier"}
    assert checked | others >= SKLEARN_TYPES


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("labels", [NAMES, NAMES == "setosa"])
def test_linear_svms_are_loaded_as_they_were(tmp_path, labels, intercept):
    model = LinearSVC(fit_intercept=intercept, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m.holdfast")).predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize("case", list(CHANGES))
def test_a_changed_model_is_refused_in_a_sentence(tmp_path, saved, case):
    name, attribute, change, words = CHANGES[case]
    path = tmp_path / "m.holdfast"
    path.write_bytes(changed(saved[name], attribute, change))
    with pytest.raises(ModelFileError, match=words) as refused:
        load(path)
    assert str(refused.value).startswith("m.holdfast ")
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("attribute", ["n_jobs", "n_neighbors", "classes_", "reference_", "components_", "mean_"])
def test_a_lost_attribute_is_missed(tmp_path, saved, attribute):
    members = model_files.read(saved["neighbors"])
    schema = json.loads(members["schema.json"])
    for node in model_files._nodes(schema):
        if node["__loader__"] == "DictNode" and node["content"].pop(attribute, None):
            node["key_types"]["content"].pop()
    members["schema.json"] = json.dumps(schema).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match="a model that cannot be used"):
        load(tmp_path / "m")


@pytest.mark.parametrize("name", ["kd_tree", "ball_tree"])
def test_trees_are_built_again(tmp_path, saved, name):
    """Whatever the tree in the file says, the rows decide."""
    members = model_files.read(saved[name])
    schema = json.loads(members["schema.json"])
    rows = {node["file"] for node in attributes(schema, "_fit_X")}
    tree = [n["file"] for t in attributes(schema, "_tree") for n in model_files._nodes(t) if "file" in n]
    assert set(tree) - rows
    for file in set(tree) - rows:
        array = np.load(io.BytesIO(members[file]))
        out = io.BytesIO()
        np.save(out, np.frombuffer(b"\x77" * array.nbytes, dtype=array.dtype).reshape(array.shape))
        members[file] = out.getvalue()
    (tmp_path / "m").write_bytes(model_files.write(members))
    (tmp_path / "original").write_bytes(saved[name])
    model, original = load(tmp_path / "m"), load(tmp_path / "original")
    np.testing.assert_array_equal(model.predict(ROWS), original.predict(ROWS))
    np.testing.assert_array_equal(model[-1].kneighbors(X[:, :2])[0], original[-1].kneighbors(X[:, :2])[0])


def test_an_array_is_unpacked_once(tmp_path, saved):
    members = model_files.read(saved["neighbors"])
    schema = json.loads(members["schema.json"])
    (node,) = attributes(schema, "reference_")
    attributes(schema, "learner")[0]["content"]["content"] |= {f"x{k}_": {**node, "__id__": k + 1} for k in range(250)}
    members["schema.json"] = json.dumps(schema).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match="one twice"):
        load(tmp_path / "m")


def test_lists_of_lists_of_lists_are_written_out(tmp_path, saved):
    """Forty lists, each of twice the next: as long as they are shared, a gigabyte of text when they are shown."""
    members = model_files.read(saved["neighbors"])
    schema = json.loads(members["schema.json"])
    named = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    nested = {**named, "content": [], "__id__": 1}
    for k in range(2, 42):
        nested = {**named, "content": [nested, {**named, "__id__": k - 1}], "__id__": k}
    for node in attributes(schema, "n_neighbors"):
        node.clear()
        node.update(nested)
    members["schema.json"] = json.dumps(schema).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match="the same number"):
        load(tmp_path / "m")


@pytest.mark.parametrize("name", ["predict", "validate", "__sklearn_tags__"])
def test_an_attribute_does_not_stand_before_a_method(tmp_path, saved, name):
    members = model_files.read(saved["neighbors"])
    schema = json.loads(members["schema.json"])
    for node in model_files._nodes(schema):
        if node["__class__"] == "CertifiedKNeighborsClassifier":
            content = node["content"]["content"]
            content[name] = content["n_neighbors"]
            node["content"]["key_types"]["content"].append(node["content"]["key_types"]["content"][0])
    members["schema.json"] = json.dumps(schema).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match=f"{name}.* must not be an attribute"):
        load(tmp_path / "m")


def test_memory_that_a_file_asks_for_is_not_given(tmp_path, saved):
    """numpy.ndarray as the class of a list is called with the list: uninitialised memory of that shape."""
    members = model_files.read(saved["neighbors"])
    schema = json.loads(members["schema.json"])
    for node in attributes(schema, "n_neighbors"):
        number = {**node, "content": str(2**30), "__id__": 7}
        node.update(__class__="ndarray", __module__="numpy", __loader__="ListNode", content=[number, number], __id__=8)
    members["schema.json"] = json.dumps(schema).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match=r"names numpy\.ndarray"):
        load(tmp_path / "m")


def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(ModelFileError, match="not a regular file"):
            load(path)


@pytest.mark.parametrize("header", [{"format": 2, "versions": []}, {"format": 2}, {"format": [1]}, [], "x", None])
def test_a_strange_header(tmp_path, saved, header):
    members = model_files.read(saved["neighbors"])
    members["holdfast.json"] = json.dumps(header).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match=r"format 2|which format it has"):
        load(tmp_path / "m")


def test_an_archive_of_a_version_to_come(tmp_path, saved):
    """zipfile raises NotImplementedError for it."""
    content = bytearray(saved["neighbors"])
    content[content.rindex(b"PK\x01\x02") + 6] = 99
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m")


def test_escape_sequences_do_not_reach_the_terminal(tmp_path, saved):
    members = model_files.read(saved["neighbors"])
    schema = json.loads(members["schema.json"])
    schema["__class__"] = "\x1b]0;owned\x07" + "x" * 10_000
    members["schema.json"] = json.dumps(schema).encode()
    (tmp_path / "m").write_bytes(model_files.write(members))
    with pytest.raises(ModelFileError, match="owned") as refused:
        load(tmp_path / "m")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("command", ["predict", "certify", "attack"])
def test_the_command_line_says_one_sentence(tmp_path, saved, command):
    table = tmp_path / "rows.csv"
    np.savetxt(table, ROWS, delimiter=",", header="a,b,c,d", comments="")
    path = tmp_path / "m.holdfast"
    path.write_bytes(changed(saved["neighbors"], "reference_codes_", with_number(10**9)))
    how = start if command == "certify" else run  # of a process a crash would be seen, too
    done = how(command, path, table, cwd=tmp_path, code=1)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("holdfast: m.holdfast holds a model that cannot be used: ")
