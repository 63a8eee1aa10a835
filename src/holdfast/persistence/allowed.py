"""The types a model file may name, and how each may be rebuilt. Any other is refused, whatever skops thinks of it."""

from inspect import isclass

from sklearn.base import BaseEstimator

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
    from holdfast.datasets.encoder import TableEncoder
    from holdfast.datasets.reading import Days, Reading

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
