"""``save`` and ``load``: model files hold data, never code."""

import io
import json
import time
import zipfile
from inspect import isclass
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from holdfast.base.disk import written_atomically
from holdfast.files.archive import (
    FORMAT,
    HEADER,
    MAX_JSON_BYTES,
    SCHEMA,
    ModelFileError,
    check_arrays,
    digest,
    import_skops,
    open_archive,
    read_file,
    read_header,
    versions,
    with_schema,
)
from holdfast.files.parts import check_schema, drop_trees, validate_model

SKLEARN_TYPES = {
    "sklearn.pipeline.Pipeline",
    "sklearn.pipeline.FeatureUnion",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
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
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.svm._classes.LinearSVC",
    "sklearn.neighbors._nca.NeighborhoodComponentsAnalysis",
    "sklearn.neighbors._classification.KNeighborsClassifier",
}
_NUMPY_SCALARS = {f"numpy.{name}" for name in ("float64", "float32", "int64", "int32", "bool", "bool_", "str_")}
_SCALARS = {f"builtins.{name}" for name in ("str", "int", "float", "bool")}
# skops's way of rebuilding -> types it may rebuild, beside estimators (ObjectNode). Nodes that stand for functions,
# methods, partial calls and compiled trees are in no row. A list's class is called with its content, so it must be
# list: numpy.ndarray would be uninitialised memory of a length that the file names.
_REBUILDS = {
    "JsonNode": _SCALARS | {"builtins.NoneType"},
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "NdArrayNode": _NUMPY_SCALARS | {"numpy.ndarray"},
    "DTypeNode": {"numpy.dtype"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "TypeNode": _SCALARS | _NUMPY_SCALARS,  # the types of a dict's keys are nodes of their own
}


def own_types() -> set[str]:
    """holdfast's estimators and their parts; the import lines of their folders are the list."""
    from holdfast import learn, models, paper
    from holdfast.datasets.columns import Days, Reading
    from holdfast.datasets.encoder import TableEncoder

    folders = (learn, learn.solvers, models, paper)
    types = [t for folder in folders for t in vars(folder).values() if isclass(t)] + [TableEncoder]
    own = (t for t in types if issubclass(t, BaseEstimator) and t.__module__.startswith("holdfast."))
    return {f"{t.__module__}.{t.__name__}" for t in (*own, Reading, Days)}


def estimator_types() -> set[str]:
    """The estimators a model file may name."""
    return own_types() | SKLEARN_TYPES


def unknown_types(schema) -> list[str]:
    """Names of types, anywhere in a skops schema, that are not allowed, or not to be rebuilt in this way."""
    rebuilds, unknown = {**_REBUILDS, "ObjectNode": estimator_types()}, set()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if {"__loader__", "__class__", "__module__"} & node.keys():
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                if name not in rebuilds.get(str(node.get("__loader__")), ()):
                    unknown.add(name)
            waiting += node.values()
    return sorted(unknown)


#: name in a file -> name today. Applied to the schema of a file before its types are checked.
MOVED = {
    # 0.1
    "holdfast.neighbors.CertifiedKNeighborsClassifier": "holdfast.models.classifiers.CertifiedKNeighborsClassifier",
    "holdfast.neighbors.CertifiedPrototypeClassifier": "holdfast.models.classifiers.CertifiedPrototypeClassifier",
    "holdfast.learners.aml.AML": "holdfast.paper.learners.AML",
    "holdfast.learners.drift.DRIFT": "holdfast.paper.learners.DRIFT",
    **{
        f"holdfast.{old}.{name}": f"holdfast.learn.{new}.{name}"
        for old, new, name in (
            ("learners.lmnn", "lmnn", "LMNN"),
            ("learners.log_det_lmnn", "lmnn", "LogDetLMNN"),
            ("learners.capped_trace_lmnn", "lmnn", "CappedTraceLMNN"),
            ("learners.spectral_norm_lmnn", "lmnn", "SpectralNormLMNN"),
            ("learners.scml", "scml", "SCML"),
            ("learners.proxy_nca", "proxy_nca", "ProxyNCA"),
            ("learners.margin_lvq", "margin_lvq", "MarginLVQ"),
            ("learners.fixed", "wrappers", "Euclidean"),
            ("learners.fixed", "wrappers", "FixedMetric"),
            ("learners.reduced", "wrappers", "Reduced"),
            ("learners.multi_pass", "wrappers", "MultiPass"),
            ("constraints.neighbor_search", "supervision", "NeighborSearch"),
            ("terms.perturbation", "terms", "Perturbation"),
            ("solvers.lbfgs", "solvers.lbfgs", "LBFGS"),
            ("solvers.stochastic", "solvers.lbfgs", "StochasticLBFGS"),
            ("solvers.accelerated", "solvers.gradient", "AcceleratedProximalGradient"),
            ("solvers.projected_gradient", "solvers.gradient", "ProjectedGradient"),
            ("solvers.primal_dual", "solvers.primal_dual", "PrimalDual"),
        )
    },
}


def rename_moved(schema) -> int:
    """Replace the names of moved types in a skops schema, in place.

    Parameters
    ----------
    schema : dict
        As read from JSON.

    Returns
    -------
    int
        How many nodes were changed.
    """
    changed = 0
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            name = MOVED.get(f"{node.get('__module__')}.{node.get('__class__')}")
            if name is not None:
                node["__module__"], _, node["__class__"] = name.rpartition(".")
                changed += 1
            waiting += node.values()
    return changed


def save(model, path, **metadata) -> Path:
    """Write a fitted model to a file that :func:`load` reads back without running anything in it.

    A model that was changed after ``fit`` so that it can no longer predict is refused.

    Parameters
    ----------
    model : fitted estimator
        One of holdfast's learners or classifiers, or a pipeline of them and of scikit-learn's scalers,
        reductions and neighbours.
    path : str or path
        An existing file is replaced, in one step, once the new one is complete.
    **metadata
        Further entries of the header, as :func:`json.dumps` takes them: ``data_hash=...``,
        ``feature_names=...``.

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
    archive = io.BytesIO(import_skops().dumps(model))
    with zipfile.ZipFile(archive, "a") as file:
        schema = json.loads(file.read(SCHEMA))
        drop_trees(schema)
        unknown = unknown_types(schema)
        if unknown:
            raise ValueError(
                f"A model with {', '.join(unknown)} in it cannot be saved: only holdfast's own types and "
                "scikit-learn's scalers, reductions, encoders, imputers, pipelines and neighbours can be loaded "
                f"without running code.{_advice(unknown)}"
            )
        validate_model(model)
        header = {
            "format": FORMAT,
            "digest": digest(file),
            "saved": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(),
            "model": type(model[-1] if isinstance(model, Pipeline) else model).__name__,
            **_names_and_classes(model),
            **metadata,
        }
        described = json.dumps(header, indent=1)
        if max(len(described), file.getinfo(SCHEMA).file_size) > MAX_JSON_BYTES:
            raise ValueError("The model has more names of columns than a model file can hold: fit it on an array.")
        file.writestr(HEADER, described)
    with written_atomically(path) as target:
        target.write(archive.getbuffer())
    return Path(path)


def _advice(unknown: list[str]) -> str:
    """Advice for some types that cannot be saved."""
    if any("make_column_selector" in name for name in unknown):
        return " Give the ColumnTransformer lists of columns in place of a selector."
    if any("sparse" in name for name in unknown):
        return " Let the rows be dense: ColumnTransformer(sparse_threshold=0), OneHotEncoder(sparse_output=False)."
    return ""


def _names_and_classes(model) -> dict:
    """Feature names and classes, where the model has them."""
    entries: dict = {}
    first, last = (model[0], model[-1]) if isinstance(model, Pipeline) else (model, model)
    names = getattr(first, "columns_", getattr(first, "feature_names_in_", None))
    if names is not None:
        entries["feature_names"] = [str(name) for name in names]
    if hasattr(last, "classes_"):
        entries["classes"] = last.classes_.tolist()
    return entries


def load(path):
    """Read the model that :func:`save` wrote, with this version of holdfast or an earlier one.

    Every type the file names is looked up in a list of known ones before anything is built; a file with
    another type, a damaged or changed file, a pickle and a file of a later format are refused with a
    :class:`ModelFileError`. So is a model whose numbers do not fit together: what is returned can predict. Search
    trees of scikit-learn's neighbours are not read but built again.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    fitted estimator
    """
    skops = import_skops()
    path = Path(path)
    content = read_file(path)
    try:
        return _read(path.name, content, skops)
    except (ModelFileError, MemoryError):
        raise
    except (
        Exception,
        RecursionError,
    ) as broken:  # whatever a crafted archive makes zipfile, json or skops stumble over
        message = str(broken)[:200]
        raise ModelFileError(f"{path.name} is damaged: {type(broken).__name__}, {message}.") from broken


def _read(name: str, content: bytes, skops):
    """The model in these bytes."""
    with open_archive(name, content) as file:
        header = read_header(name, file)
        schema = json.loads(file.read(SCHEMA))
        if digest(file) != header.get("digest"):
            raise ModelFileError(f"{name} was changed after it was saved: its digest does not agree.")
        changed = rename_moved(schema) + drop_trees(schema)
        unknown = unknown_types(schema)
        if unknown:
            raise ModelFileError(
                f"{name} names {', '.join(unknown[:5])}, which is not among the types holdfast loads. "
                "Nothing of it was run. Do not use a model file whose origin you do not know."
            )
        check_arrays(name, file, check_schema(name, schema, set(file.namelist())))
        data = with_schema(file, schema) if changed else content
    model = skops.loads(data, trusted=sorted({*estimator_types(), "numpy.dtype"}))
    try:
        validate_model(model, rebuild=True)
    except ValueError as wrong:
        raise ModelFileError(f"{name} holds a model that cannot be used: {wrong}") from wrong
    return model
