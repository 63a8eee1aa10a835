"""Read a model file without running anything in it."""

import json
from pathlib import Path

from holdfast.persistence.allowed import estimator_types, unknown_types
from holdfast.persistence.archive import (
    SCHEMA,
    ModelFileError,
    check_arrays,
    digest,
    import_skops,
    open_archive,
    read_file,
    read_header,
    with_schema,
)
from holdfast.persistence.moved import rename_moved
from holdfast.persistence.schema import check_schema, drop_trees
from holdfast.persistence.validate import validate_model


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
