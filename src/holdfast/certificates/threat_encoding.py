"""Read a threat for a model that takes words: its categories are indicators in the encoded rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.certificates.categories import LIMIT, Categories, Category
from holdfast.certificates.columns import Columns
from holdfast.certificates.folding.encoding import Encoding
from holdfast.certificates.folding.values import key
from holdfast.certificates.threat import Threat
from holdfast.certificates.threat_reading import Reading
from holdfast.certificates.voting import Voter


class EncodedCategory(Category):
    """A column of words: its numeric coordinate, and the indicators that the encoding makes for its values."""

    @property
    def one_hot(self) -> bool:
        """False: the indicators are made by the encoding, so they need no check."""
        return False


def read_for(threat: Threat, voter: Voter) -> Reading:
    """The threat in coordinates of the encoded rows of a voter; one ``ValueError`` lists everything that is wrong."""
    encoding = voter.encoding
    if encoding.keeps_rows:
        return threat.read(voter.n_features, voter.feature_names)
    rest: dict[str, Any] = {}  # parameters of the threat without the columns of words
    groups: list[Category] = []
    problems: list[str] = []
    for what, limited in (("free", False), ("categories", True)):
        words, rest[what] = _split(getattr(threat, what), encoding)
        for column, values in words.items():
            group = _category(encoding, what, column, values, limited, problems)
            groups += [] if group is None else [group]
    if rest["categories"] is None:
        rest["max_changes"] = None
    try:
        reading = type(threat)(**threat.get_params() | rest).read(encoding.n_columns, voter.feature_names)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise ValueError(" ".join(problems))
    moves = encoding.moves(reading.moves)
    if not groups:
        return Reading(moves, reading.categories, reading.names)
    others = () if reading.categories is None else reading.categories.groups
    combined = Categories([*others, *groups], threat.max_changes)
    if combined.count() > LIMIT:
        raise ValueError(
            f"The categories have {combined.count():,} combinations a row, more than {LIMIT:,}: free fewer of them, or "
            "limit how many change at once (categories= with max_changes=)."
        )
    return Reading(moves, combined, reading.names)


def _split(given, encoding: Encoding) -> tuple[dict[int, Any], Any]:
    """Columns of words with the values named for them (None: all that are known), and the rest of ``given``."""
    if given is None:
        return {}, None
    named = given if isinstance(given, Mapping) else dict.fromkeys(_flat(given))
    words = {}
    rest = dict(named)
    for name in named:
        column = _column(encoding, name)
        if column in encoding.categories:
            words[column] = rest.pop(name)
    others: Any = rest if isinstance(given, Mapping) else list(rest)
    return words, others or None


def _flat(given) -> list:
    return np.atleast_1d(np.asarray(given, dtype=object)).tolist()


def _column(encoding: Encoding, name) -> int:
    """The number of a column; −1 if there is none."""
    at = Columns(encoding.n_columns, encoding.names).number(name)
    return -1 if at is None else at


def _category(
    encoding: Encoding, what: str, column: int, values, limited: bool, problems: list[str]
) -> EncodedCategory | None:
    """The category of a column of words: a row of indicators for each value that it may take."""
    known = {key(value): i for i, value in enumerate(encoding.categories[column])}
    present = [value for value in encoding.categories[column] if key(value)[0] == "value"]
    wanted = present if values is None else _flat(values)
    strange = [value for value in wanted if key(value) not in known]
    if strange:
        problems.append(
            f"{what} of {encoding.name(column)} names {', '.join(map(repr, strange[:5]))}, which the model does not "
            f"know: its values are {', '.join(map(repr, present[:10]))}{', …' if len(present) > 10 else ''}."
        )
        return None
    rows = np.zeros((len(wanted), 1 + len(encoding.indicators[column])))
    for i, value in enumerate(wanted):
        number = value.item() if isinstance(value, np.generic) else value
        rows[i, 0] = float(number) if isinstance(number, int | float) else 0.0
        rows[i, 1 + known[key(value)]] = 1.0
    columns = np.array([column, *encoding.indicators[column]])
    name = str(column) if encoding.names is None else str(encoding.names[column])
    return EncodedCategory(name, columns, rows, limited)
