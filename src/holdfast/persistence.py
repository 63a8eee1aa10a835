"""``save`` and ``load``: model files that hold data, never code.

A file is a skops archive with one member more, ``holdfast.json``: the number of this format, versions,
feature names, classes and a digest of the other members. Members are stored, not compressed, so a file
can never unpack to more than its own size.
"""

import hashlib
import io
import json
import platform
import time
import zipfile
from importlib.metadata import PackageNotFoundError, version
from inspect import isclass
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from holdfast.files import array_size, written_atomically

FORMAT = 1
MAX_BYTES = 2**32
_HEADER, _SCHEMA = "holdfast.json", "schema.json"
_MAX_JSON = 2**26  # bytes of either

# Everything a file may name. A type that is not here is refused, whatever skops thinks of it.
_PLAIN = {
    *(f"builtins.{name}" for name in ("str", "dict", "list", "tuple", "set", "int", "float", "bool", "slice")),
    *(f"numpy.{name}" for name in ("ndarray", "dtype", "float64", "float32", "int64", "int32", "bool", "bool_")),
    "numpy.str_",
    "builtins.NoneType",
    "numpy.random.mtrand.RandomState",
}
_SKLEARN = {
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._data.MinMaxScaler",
    "sklearn.preprocessing._data.MaxAbsScaler",
    "sklearn.preprocessing._data.RobustScaler",
    "sklearn.preprocessing._data.Normalizer",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.decomposition._pca.PCA",
    "sklearn.decomposition._truncated_svd.TruncatedSVD",
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "sklearn.feature_selection._variance_threshold.VarianceThreshold",
    "sklearn.neighbors._nca.NeighborhoodComponentsAnalysis",
    "sklearn.neighbors._classification.KNeighborsClassifier",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
}
# How skops may rebuild them. Nodes that stand for functions, methods and partial calls are refused.
_LOADERS = {"JsonNode", "DictNode", "ListNode", "TupleNode", "SetNode", "SliceNode", "ObjectNode", "NdArrayNode"}
_LOADERS |= {"DTypeNode", "TreeNode", "RandomStateNode"}


class ModelFileError(ValueError):
    """A model file that cannot be trusted, or not be read."""


def save(model, path, **metadata) -> Path:
    """Write a fitted model to a file that :func:`load` reads back without running anything in it.

    Parameters
    ----------
    model : fitted estimator
        One of holdfast's learners or classifiers, or a pipeline of them and of scikit-learn's scalers,
        reductions and neighbours.
    path : str or path
        What is there is replaced, at the end and at once.
    **metadata
        What else to remember, as :func:`json.dumps` takes it: ``data_hash=...``, ``feature_names=...``.

    Returns
    -------
    path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import holdfast
    >>> X, y = load_iris(return_X_y=True)
    >>> model = holdfast.CertifiedKNeighborsClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = holdfast.save(model, pathlib.Path(folder) / "iris.holdfast")
    ...     bool((holdfast.load(path).predict(X) == model.predict(X)).all())
    True
    """
    archive = io.BytesIO(_skops().dumps(model))
    with zipfile.ZipFile(archive, "a") as file:
        schema = json.loads(file.read(_SCHEMA))
        unknown = _unknown(schema)
        if unknown:
            raise ValueError(
                f"A model with {', '.join(unknown)} in it cannot be saved: only holdfast's own types and "
                "scikit-learn's scalers, reductions, pipelines and neighbours can be loaded without running code."
            )
        header = {
            "format": FORMAT,
            "digest": _digest(file),
            "saved": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(),
            "model": type(model[-1] if isinstance(model, Pipeline) else model).__name__,
            **_described(model),
            **metadata,
        }
        file.writestr(_HEADER, json.dumps(header, indent=1))
    with written_atomically(path) as target:
        target.write(archive.getbuffer())
    return Path(path)


def load(path):
    """The model that :func:`save` wrote.

    Every type the file names is looked up in a list of known ones before anything is built; a file with
    another type, a damaged or changed file, a pickle and a file of a later format are refused.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    fitted estimator
    """
    skops = _skops()
    path, content = _content(path)
    header = _header(path, content)
    try:
        with zipfile.ZipFile(content) as file:
            schema = json.loads(file.read(_SCHEMA))
            if _digest(file) != header.get("digest"):
                raise ModelFileError(f"{path.name} was changed after it was saved: its digest does not agree.")
            unknown = _unknown(schema)
            if unknown:
                raise ModelFileError(
                    f"{path.name} names {', '.join(unknown)}, which is not among the types holdfast loads. "
                    "Nothing of it was run. Do not use a model file whose origin you do not know."
                )
            _check_arrays(path, file)
        data = content.getvalue()
        foreign = set(skops.get_untrusted_types(data=data)) - _own() - _SKLEARN
        if foreign:
            raise ModelFileError(f"{path.name} names {', '.join(sorted(foreign))}, which holdfast does not load.")
        return skops.loads(data, trusted=sorted(_own() | _SKLEARN))
    except ModelFileError:
        raise
    except (Exception, RecursionError) as broken:  # whatever a crafted archive makes skops stumble over
        told = " ".join(str(broken).split())[:200]
        raise ModelFileError(f"{path.name} is damaged: {type(broken).__name__}, {told}.") from broken


def read_metadata(path) -> dict:
    """What a model file says of itself, without loading the model."""
    return _header(*_content(path))


def versions() -> dict[str, str]:
    """Python, this package and those that results depend on."""
    found = {"python": platform.python_version()}
    for name in ("holdfast", "numpy", "scipy", "scikit-learn", "numba", "skops"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _described(model) -> dict:
    """Feature names and classes, where the model knows them."""
    found: dict = {}
    last = model[-1] if isinstance(model, Pipeline) else model
    first = model[0] if isinstance(model, Pipeline) else model
    names = getattr(first, "columns_", getattr(first, "feature_names_in_", None))
    if names is not None:
        found["feature_names"] = [str(name) for name in names]
    if hasattr(last, "classes_"):
        found["classes"] = last.classes_.tolist()
    return found


def _content(path) -> tuple[Path, io.BytesIO]:
    """The bytes of a file that looks like one of ours: an archive, stored, no larger than it says."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; the model is a file in it.")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ModelFileError(f"{path.name} has {size / 1e9:.1f} GB, which no model file of holdfast has.")
    if not zipfile.is_zipfile(path):
        raise ModelFileError(
            f"{path.name} is not a model file of holdfast, or it was cut short. (Pickles are never loaded.)"
        )
    try:
        with zipfile.ZipFile(path) as file:
            members = file.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as broken:
        raise ModelFileError(f"{path.name} is damaged: {broken}.") from broken
    if any(m.compress_type != zipfile.ZIP_STORED or m.file_size != m.compress_size for m in members):
        raise ModelFileError(f"{path.name} is compressed, as no model file of holdfast is: it was not opened.")
    if sum(m.file_size for m in members) > size or len({m.filename for m in members}) < len(members):
        raise ModelFileError(f"{path.name} has parts that overlap: it was not opened.")
    if any(m.filename in (_HEADER, _SCHEMA) and m.file_size > _MAX_JSON for m in members):
        raise ModelFileError(f"{path.name} has a description larger than any model's: it was not opened.")
    return path, io.BytesIO(path.read_bytes())


def _header(path: Path, content: io.BytesIO) -> dict:
    try:
        with zipfile.ZipFile(content) as file:
            header = json.loads(file.read(_HEADER))
    except KeyError as missing:
        raise ModelFileError(
            f"{path.name} is an archive, but not a model file that holdfast.save wrote: it has no {_HEADER}."
        ) from missing
    except (zipfile.BadZipFile, ValueError, RecursionError) as broken:
        raise ModelFileError(f"{path.name} is damaged: {broken}.") from broken
    number = header.get("format") if isinstance(header, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ModelFileError(f"{path.name} is damaged: it does not say which format it has.")
    if number > FORMAT:
        maker = header.get("versions", {}).get("holdfast", "a later version")
        raise ModelFileError(
            f"{path.name} has format {number}, this version of holdfast reads up to {FORMAT}: install holdfast "
            f"{maker} or later."
        )
    return header


def _digest(file: zipfile.ZipFile) -> str:
    """SHA-256 over names and bytes of all members but the header."""
    sha = hashlib.sha256()
    for name in sorted(set(file.namelist()) - {_HEADER}):
        content = file.read(name)
        sha.update(f"{name}\0{len(content)}\0".encode())
        sha.update(content)
    return sha.hexdigest()


def _check_arrays(path: Path, file: zipfile.ZipFile) -> None:
    """Refuse an array that claims to be larger than what is stored."""
    for info in file.infolist():
        if info.filename.endswith(".npy"):
            with file.open(info) as member:
                _, _, size = array_size(member)
            if size > info.file_size:
                raise ModelFileError(f"{path.name} is damaged: an array in it claims {size / 1e6:.0f} MB.")


def _unknown(schema) -> list[str]:
    """Types and kinds of nodes, anywhere in a skops schema, that are not on the lists above."""
    known, found = _PLAIN | _SKLEARN | _own(), set()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if {"__loader__", "__class__", "__module__"} & node.keys():
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                loader = node.get("__loader__")
                # The types of a dict's keys are nodes of their own.
                if name not in known or not (loader in _LOADERS or (loader == "TypeNode" and name in _PLAIN)):
                    found.add(name)
            waiting += node.values()
    return sorted(found)


def _own() -> set[str]:
    """holdfast's estimators and their parts; the import lines of their folders are the list."""
    from holdfast import constraints, learners, neighbors, solvers, terms
    from holdfast.datasets.encoder import TableEncoder

    rooms = (constraints, learners, solvers, terms, neighbors)
    types = [t for room in rooms for t in vars(room).values() if isclass(t)] + [TableEncoder]
    own = (t for t in types if issubclass(t, BaseEstimator) and t.__module__.startswith("holdfast."))
    return {f"{t.__module__}.{t.__name__}" for t in own}


def _skops():
    try:
        import skops.io
    except ImportError as missing:
        raise ImportError("Model files need skops: pip install 'holdfast[cli]'.") from missing
    return skops.io
