"""Write a model file."""

import io
import json
import time
import zipfile
from pathlib import Path

from sklearn.pipeline import Pipeline

from holdfast.files import written_atomically
from holdfast.persistence.allowed import unknown_types
from holdfast.persistence.archive import FORMAT, HEADER, MAX_JSON_BYTES, SCHEMA, digest, import_skops
from holdfast.persistence.schema import drop_trees
from holdfast.persistence.validate import validate_model
from holdfast.persistence.versions import versions


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
