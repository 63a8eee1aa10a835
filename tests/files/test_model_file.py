import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from holdfast import (
    LMNN,
    SCML,
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    MarginLVQ,
    Perturbation,
    ProxyNCA,
    certify,
    load,
    save,
)
from holdfast.datasets import TableEncoder
from holdfast.files.archive import FORMAT, ModelFileError
from holdfast.files.archive import digest as digest_of

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]

MODELS = {
    "robust": make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(LMNN(perturbation=Perturbation()))),
    "table": make_pipeline(TableEncoder(), StandardScaler(), CertifiedKNeighborsClassifier(LMNN())),
    "prototypes": make_pipeline(StandardScaler(), CertifiedPrototypeClassifier(ProxyNCA())),
    "margin prototypes": make_pipeline(StandardScaler(), CertifiedPrototypeClassifier(MarginLVQ(2, random_state=0))),
    "sklearn": make_pipeline(StandardScaler(), PCA(2), KNeighborsClassifier(3)),
    "shared": make_pipeline(  # the learner is learner and learner_, and written twice
        StandardScaler(), CertifiedKNeighborsClassifier(SCML(random_state=np.random.RandomState(0)).fit(X, y))
    ),
    "parameters": make_pipeline(
        MinMaxScaler(),
        LinearDiscriminantAnalysis(solver="eigen"),
        KNeighborsClassifier(
            algorithm="brute", metric="mahalanobis", metric_params={"VI": np.eye(2)}, weights="distance"
        ),
    ),
    "nested": make_pipeline(
        make_pipeline(RobustScaler(), "passthrough", VarianceThreshold()),
        Normalizer(),
        LinearDiscriminantAnalysis("lsqr"),
    ),
}


@pytest.fixture(scope="module")
def model():
    return MODELS["robust"].fit(X, NAMES)


@pytest.fixture
def path(tmp_path, model):
    return save(model, tmp_path / "m.holdfast", data_hash="abc")


@pytest.mark.parametrize("kind", list(MODELS))
def test_round_trip(tmp_path, kind):
    model = MODELS[kind].fit(X, NAMES)
    again = load(save(model, tmp_path / "m.holdfast"))
    assert (again.predict(X) == model.predict(X)).all()
    if kind in ("robust", "prototypes"):
        np.testing.assert_array_equal(certify(again, X[:20]).radius, certify(model, X[:20]).radius)
    assert os.listdir(tmp_path) == ["m.holdfast"]


def test_metadata(path):
    with zipfile.ZipFile(path) as file:
        found = json.loads(file.read("holdfast.json"))
    assert found["format"] == FORMAT
    assert found["classes"] == ["setosa", "versicolor", "virginica"]
    assert found["data_hash"] == "abc"
    assert {"holdfast", "scikit-learn", "numpy", "python"} <= set(found["versions"])


def test_skops_reads_it_too(path):
    types = skops.io.get_untrusted_types(file=path)
    assert all(name.startswith("holdfast.") for name in types)


@pytest.mark.parametrize(
    "steps", [(FunctionTransformer(np.log1p), LMNN()), (StandardScaler(), Perceptron())], ids=["f", "other"]
)
def test_save_refuses_what_load_would(tmp_path, steps):
    model = make_pipeline(*steps).fit(X, y)
    with pytest.raises(ValueError, match=r"numpy.log1p|Perceptron"):
        save(model, tmp_path / "m.holdfast")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LMNN(), "not fitted"),
        (KNeighborsClassifier(p=1).fit(X, y).set_params(p=2), "changed after fit"),
        (KNeighborsClassifier(3).fit(X, y).set_params(n_neighbors=200), "more than the 150 points"),
        (KNeighborsClassifier(3).fit(X, np.c_[y, y]), "several outputs"),
        (CertifiedKNeighborsClassifier().fit(X[:20], y[:20]), "classes_ must have at least 2"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier(), memory="cache"), "memory must be None"),
    ],
    ids=["not fitted", "changed", "k", "outputs", "one class", "cache"],
)
def test_save_refuses_what_cannot_be_used(tmp_path, model, words):
    with pytest.raises(ValueError, match=words):
        save(model, tmp_path / "m.holdfast")
    assert os.listdir(tmp_path) == []


def test_failed_save_keeps_the_old_file(tmp_path, path, model):
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save(model, path, data_hash=object())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.holdfast"]
    with pytest.raises(FileNotFoundError, match="no folder"):
        save(model, tmp_path / "no" / "m.holdfast")


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated(path, part):
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ModelFileError, match=r"not a model file|damaged"):
        load(path)


def test_changed_bytes_are_noticed(path):
    content = path.read_bytes()
    rng = np.random.RandomState(0)
    whole = load(path).predict(X)
    for place in rng.randint(0, len(content), 40):
        broken = bytearray(content)
        broken[place] ^= 0x55
        path.write_bytes(bytes(broken))
        try:
            found = load(path)  # a changed byte may lie where nothing reads it: in a date, or a member's time
        except (ModelFileError, FileNotFoundError):
            continue
        assert (found.predict(X) == whole).all()


def rewritten(path, change, digest=True):
    """The file with its schema and header changed, digest made to agree as an attacker would."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    schema, header = json.loads(members.pop("schema.json")), json.loads(members.pop("holdfast.json"))
    change(schema, header, members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
        file.writestr("schema.json", json.dumps(schema))
    with zipfile.ZipFile(out) as file:
        header["digest"] = digest_of(file) if digest else header["digest"]
    with zipfile.ZipFile(out, "a") as file:
        file.writestr("holdfast.json", json.dumps(header))
    path.write_bytes(out.getvalue())


def test_newer_format(path):
    rewritten(path, lambda schema, header, members: header.update(format=FORMAT + 1))
    with pytest.raises(ModelFileError, match=f"format {FORMAT + 1}.*reads up to {FORMAT}"):
        load(path)


def test_tampered_array(path):
    def change(schema, header, members):
        name = next(n for n in members if n.endswith(".npy"))
        members[name] = members[name][:-8] + b"12345678"

    rewritten(path, change, digest=False)
    with pytest.raises(ModelFileError, match="changed after it was saved"):
        load(path)


def test_an_array_that_claims_a_terabyte(path):
    def change(schema, header, members):
        name = next(n for n in members if n.endswith(".npy"))
        out = io.BytesIO()
        np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (2**37,)})
        members[name] = out.getvalue()

    rewritten(path, change)
    with pytest.raises(ModelFileError, match="claims"):
        load(path)


@pytest.mark.parametrize(
    ("module", "kind", "loader"),
    [
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "TypeNode"),
        ("subprocess", "Popen", "ObjectNode"),
        ("sklearn.linear_model._perceptron", "Perceptron", "ObjectNode"),
        ("holdfast.learn.lmnn", "os", "ObjectNode"),
        ("builtins", "str", "MethodNode"),
        ("numpy", "ndarray", "ConstructorFromReduceNode"),
        ("numpy", "ndarray", "OperatorFuncNode"),
    ],
)
def test_unknown_types_are_refused_by_name(path, module, kind, loader):
    def change(schema, header, members):
        schema["extra"] = {"__module__": module, "__class__": kind, "__loader__": loader, "content": "x"}

    rewritten(path, change)
    with pytest.raises(ModelFileError, match=rf"names {module}\.{kind}"):
        load(path)


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def test_malicious_files_run_nothing(tmp_path):
    marker = tmp_path / "run"
    path = tmp_path / "m.holdfast"
    path.write_bytes(pickle.dumps(Evil(str(marker))))
    with pytest.raises(ModelFileError, match="Pickles are never loaded"):
        load(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("model.pkl", pickle.dumps(Evil(str(marker))))
    with pytest.raises(ModelFileError, match=r"not a model file that holdfast\.save wrote"):
        load(path)
    skops.io.dump(FunctionTransformer(os.getcwd), path)
    with pytest.raises(ModelFileError, match="not a model file"):
        load(path)
    assert not marker.exists()


def test_zip_bomb_is_not_opened(tmp_path):
    path = tmp_path / "m.holdfast"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", bytes(2**26))
        file.writestr("holdfast.json", "{}")
    assert path.stat().st_size < 2**20
    with pytest.raises(ModelFileError, match="compressed"):
        load(path)


def test_deep_json_does_not_end_the_program(path):
    def change(schema, header, members):
        pass

    rewritten(path, change)
    with zipfile.ZipFile(path) as file:
        header = json.loads(file.read("holdfast.json"))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("schema.json", "[" * 200_000 + "]" * 200_000)
        file.writestr("holdfast.json", json.dumps(header))
    with pytest.raises(ModelFileError):
        load(path)


def test_missing_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model file"):
        load(tmp_path / "no")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
