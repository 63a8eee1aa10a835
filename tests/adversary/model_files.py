"""Mutations of model files, and a process that tries them: ``python -m tests.adversary.model_files FOLDER COUNT SEED``.

The folder holds ``<name>.holdfast`` and ``<name>.npz`` (rows, and the predictions of the saved model). The process
limits its own memory and the time of each mutation, writes the number of a mutation to ``FOLDER/at`` before it tries
it, so that it is known which one a signal ended, and prints what it saw as JSON.
"""

import copy
import io
import json
import resource
import signal
import sys
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from holdfast import Threat, certify, load
from holdfast.auditing.prepare import predict_table
from holdfast.files.archive import ModelFileError, digest
from holdfast.models.classifiers import VotingClassifier

MEMORY = 2**30  # bytes beyond what the process has after the first predictions
SECONDS = 30  # of one mutation, on a loaded machine; then SIGALRM ends the process
STILL = Threat(frozen=["kind"])  # a column of numbers that an encoder reads
VALUES = [
    "null", "true", "0", "1", "2", "-1", "3", "4", "30", "31", "624", "625", "1000000000", "1" * 30, "1" * 5000, "0.5",
    "-0.0", "1e308", "1e400", "NaN", "-Infinity", '""', '"x"', '"brute"', '"kd_tree"', '"ball_tree"', '"auto"',
    '"distance"', '"minkowski"', '"mahalanobis"', '"haversine"', '"precomputed"', '"passthrough"', '"svd"', '"eigen"',
    "[]", "[1, 2]", '["a", "b"]', "{}", '{"a": 1}', '{"transform": "pandas"}', "[" * 5000 + "]" * 5000, "{",
    '"\\u001b[2J"',
]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, 0, -1, 1, 2, 3, 40, 10**9, -(2**40), 1e-320, 1e160, 1e300, -1e300]
DTYPES = ["<f8", ">f8", "<f4", "<f2", "<i8", ">i8", "<i4", "<u8", "<i1", "?", "<U3", "S4", "<c16", "<M8[s]", "<f8,<i8"]
NAMES = ["predict", "transform", "fit", "__class__", "__dict__", "_tree", "n_jobs", "n_neighbors", "memory", "steps"]
NAMES += ["_parameter_constraints", "feature_names_in_", "n_features_in_", "_sklearn_output_config", "classes_", "x_"]


def read(content: bytes) -> dict[str, bytes]:
    """The members of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(members: dict[str, bytes]) -> bytes:
    """The archive, with a digest that agrees."""
    header = json.loads(members["holdfast.json"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "a") as file:
        for name, content in members.items():
            if name != "holdfast.json":
                file.writestr(name, content)
        if isinstance(header, dict) and isinstance(header.get("digest"), str):
            header["digest"] = digest(file)
        file.writestr("holdfast.json", json.dumps(header))
    return out.getvalue()


def damaged(content: bytes, rng: np.random.RandomState) -> bytes:
    """Bytes changed, lost, doubled or moved."""
    broken = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randint(0, len(broken) + 1, 2))
        b = min(b, a + rng.choice([1, 4, 64, 1024]))
        kind = rng.randint(7)
        if kind <= 2 and a < len(broken):
            broken[a] ^= 1 << rng.randint(8) if kind else rng.randint(1, 256)
        elif kind == 3:
            broken[a:b] = bytes(b - a)
        elif kind == 4:
            del broken[a:b]
        elif kind == 5:
            broken[a:a] = broken[a:b]
        elif kind == 6 and rng.randint(4) == 0:
            del broken[a:]
    return bytes(broken)


def rebuilt(content: bytes, rng: np.random.RandomState) -> bytes:
    """Schema, arrays or header changed, and the digest made to agree, as an attacker would."""
    members = read(content)
    schema = json.loads(members["schema.json"])
    for _ in range(rng.randint(1, 4)):
        kind = rng.randint(10)
        if kind <= 4:
            _change_schema(schema, rng)
        elif kind <= 8:
            arrays = sorted(name for name in members if name.endswith(".npy"))
            if arrays:
                name = arrays[rng.randint(len(arrays))]
                members[name] = _changed_array(members[name], members[arrays[rng.randint(len(arrays))]], rng)
        else:
            header = json.loads(members["holdfast.json"])
            if isinstance(header, dict) and header:
                header[_pick(sorted(header), rng)] = _value(rng)
                members["holdfast.json"] = json.dumps(header).encode()
    members["schema.json"] = json.dumps(schema).encode()
    return write(members)


def _pick(values, rng):
    return values[rng.randint(len(values))]


def _value(rng):
    try:
        return json.loads(_pick(VALUES, rng))
    except (ValueError, RecursionError):
        return [1]


def _nodes(schema) -> list[dict]:
    found, waiting = [], [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and "__loader__" in node:
            found.append(node)
        waiting += list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    return found


def _change_schema(schema, rng) -> None:
    nodes = _nodes(schema)
    node, other = _pick(nodes, rng), _pick(nodes, rng)
    kind = rng.randint(12)
    attributes = [n for n in nodes if n.get("__loader__") == "DictNode" and n.get("content")]
    if kind <= 3:  # a parameter or a count
        node = _pick([n for n in nodes if n.get("__loader__") == "JsonNode"] or nodes, rng)
        node["content"] = _pick(VALUES, rng)
        if rng.randint(2):
            node.pop("__id__", None)  # equal words and numbers share an id
    elif kind == 4:
        node["__id__"] = _pick([other.get("__id__"), 0, None, "x", -1, 2**70, []], rng)
    elif kind == 5:
        key = _pick(["__class__", "__module__", "__loader__"], rng)
        node[key] = _pick([other.get(key), _value(rng)], rng)
    elif kind == 6:
        other = copy.deepcopy(other)
        node.clear()
        node.update(other)
    elif kind == 7:
        node[_pick(sorted(node), rng)] = _value(rng)
    elif kind == 8:
        node.pop(_pick(sorted(node), rng))
    elif attributes:
        content = _pick(attributes, rng)["content"]
        if not isinstance(content, dict) or not content:
            return
        name = _pick(sorted(content), rng)
        if kind == 9:
            content.pop(name)
        elif kind == 10:
            content[_pick(NAMES, rng)] = content.pop(name)
        else:
            content[name] = copy.deepcopy(other)


def _changed_array(content: bytes, other: bytes, rng) -> bytes:
    kind = rng.randint(8)
    if kind == 0:  # the text that says its type and shape
        broken = bytearray(content)
        broken[rng.randint(min(len(broken), 128))] = rng.randint(256)
        return bytes(broken)
    if kind == 1:
        return other
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError):
        return content[: len(content) // 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind <= 4 and array.size and array.dtype.kind in "biuf":
                array = array.copy()
                where = rng.randint(array.size, size=rng.randint(1, 4))
                array.reshape(-1)[where] = np.asarray(_pick(NUMBERS, rng)).astype(array.dtype)
            elif kind == 5:
                array = array.astype(_pick(DTYPES, rng))
            elif kind == 6:
                array = _pick([array.T, array.ravel(), array[None], array[:-1], array[:0], array[..., :1]], rng)
            else:
                array = _pick([np.concatenate([array, array]), array[::-1], np.zeros_like(array), array[0]], rng)
            out = io.BytesIO()
            np.save(out, array, allow_pickle=False)
        except (ValueError, TypeError, IndexError, OverflowError):
            return content
    return out.getvalue()


def main(folder: Path, count: int, seed: int) -> None:
    """Try mutations 0 to count of the models in the folder, in turn."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    names = sorted(path.stem for path in folder.glob("*.holdfast"))
    originals = {}
    for name in names:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as saved:
            rows, expected = saved["rows"], saved["expected"]
        if (folder / f"{name}.csv").exists():  # words and gaps
            rows = pd.read_csv(folder / f"{name}.csv")
        path = folder / f"{name}.holdfast"
        originals[name] = path.read_bytes(), rows, expected
        model = load(path)
        assert (model.predict(rows) == expected).all()
        if isinstance(rows, pd.DataFrame):
            certify(model, rows[:1], threat=STILL, budget=10)
        elif isinstance(model[-1], VotingClassifier):
            certify(model[-1], np.zeros((1, model[-1].n_features_in_)), budget=10)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    seen: Counter = Counter()
    wrong = []
    target, at = folder / "mutated", open(folder / "at", "w", buffering=1)  # noqa: SIM115
    for k in range(count):
        name, bytes_only = names[k % len(names)], (k // len(names)) % 3 == 0
        rng = np.random.RandomState([seed, k])
        content, rows, expected = originals[name]
        mutated = (damaged if bytes_only else rebuilt)(content, rng)
        target.write_bytes(mutated)
        at.write(f"{k} of {name}\n")
        signal.alarm(SECONDS)
        try:
            outcome = _try(target, rows.copy(), expected)  # a scaler with copy=False writes into it
        except BaseException as error:
            outcome = "raised"
            wrong.append(f"mutation {k} of {name}: {type(error).__name__}: {error}"[:500])
        signal.alarm(0)
        if bytes_only and outcome not in ("refused", "same"):
            wrong.append(f"damage {k} of {name} gave other predictions without a word")
        seen[f"{'bytes' if bytes_only else 'parts'}: {outcome}"] += 1
    print(json.dumps({"seen": dict(sorted(seen.items())), "wrong": wrong}))


def _try(path: Path, rows, expected: np.ndarray) -> str:
    """How a file fared; errors other than the promised ones are raised."""
    try:
        model = load(path)
    except ModelFileError as error:
        if not str(error).isprintable() or len(str(error)) > 700:
            raise AssertionError(f"not a sentence: {error}") from error
        return "refused"
    if not hasattr(model, "predict"):
        return "another valid model"
    try:
        found = predict_table(model, rows) if isinstance(rows, pd.DataFrame) else model.predict(rows)
        same = found.shape == expected.shape and bool((found == expected).all())
        if not same and hasattr(model, "predict_proba"):
            model.predict_proba(rows)
    except ValueError:
        return "refused at predict"
    if same:
        return "same"
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    try:
        if isinstance(rows, pd.DataFrame):
            certify(model, rows[:1], threat=STILL, budget=10)
        elif isinstance(last, VotingClassifier):
            certify(last, np.zeros((1, last.n_features_in_)), budget=10)
    except (ValueError, TypeError) as error:
        if isinstance(error, TypeError) and "certif" not in str(error):
            raise  # no refusal of a kind of model
        return "refused at certify"
    return "another valid model"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
