"""``save`` and ``load``: model files that hold data, never code.

A file is a skops archive with one more member, ``holdfast.json``: the number of this format, versions,
feature names, classes and a digest of the other members. Members are stored, not compressed, and each array
is named once, so the arrays of a model are never larger than its file.
"""

from holdfast.persistence.archive import FORMAT as FORMAT
from holdfast.persistence.archive import ModelFileError as ModelFileError
from holdfast.persistence.load import load as load
from holdfast.persistence.save import save as save
from holdfast.persistence.versions import versions as versions
