"""``save`` and ``load``: model files that hold data, never code."""

from holdfast.files.archive import FORMAT as FORMAT
from holdfast.files.archive import ModelFileError as ModelFileError
from holdfast.files.archive import versions as versions
from holdfast.files.model_file import load as load
from holdfast.files.model_file import save as save
