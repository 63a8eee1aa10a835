"""A threat: which moves of an input are possible, and what they cost."""

from collections.abc import Mapping, Sequence

from sklearn.base import BaseEstimator

from holdfast.certificates.moves import Moves as Moves
from holdfast.certificates.threat_columns import encoded_threat
from holdfast.certificates.threat_files import from_basic_types, parse, read_file, to_basic_types
from holdfast.certificates.threat_reading import Reading, read_threat
from holdfast.certificates.threat_words import sentences
from holdfast.certificates.training_rows import values_of, widths


class Threat(BaseEstimator):
    """``{δ : ‖δ / unit‖ ≤ r, lower ≤ x + δ ≤ upper, δ_i ≥ 0 (only up), δ_i = 0 (frozen), A(x + δ) ≤ b, …}``.

    Features are given by the names of the model's columns, or by number. Values for all features are a number or a
    sequence; values for some features are a mapping.

    Parameters
    ----------
    norm : {2, numpy.inf, 1} or array-like of shape (n_features, n_features), default=2
        How moves are measured; a matrix ``A_0`` is the norm ``√(δᵀ A_0 δ)``.
    unit : float, array-like, mapping, "std" or "range", optional
        The move that counts as size 1 in each feature; 1 for features that a mapping leaves out. ``"std"`` and
        ``"range"`` are the standard deviation and the largest less the smallest value in the rows of training: those
        that :func:`holdfast.certify` knows (``reference=``, or the rows of a classifier that stores them), or those
        given to :meth:`fitted_to`. A feature that is constant there has the unit 1.
    lower, upper : float, array-like or mapping, optional
        A box: features of a moved row can only lie within it. A row that lies outside may stay there.
    frozen : array-like of bool, int or str, optional
        Features that cannot move, as a mask, as numbers or as names.
    only_up, only_down : array-like of bool, int or str, optional
        Features that can only grow, or only shrink.
    integer : array-like of bool, int or str, optional
        Features that are whole numbers after a move (or keep the value they have). Those that an encoder reads are
        tried value by value, each at its price.
    free : mapping or sequence, optional
        Categories that may take any of these values, at no cost; values that are not listed are not looked at.
        ``{"race": [0, 1, 2]}`` is a column of numbers and its values,
        ``{"race": ["race_a", "race_b"]}`` a group of columns of which one is 1 and the others are 0 (with ``None``
        among them also none). A plain list of columns takes the values of the rows of training.
    categories : mapping or sequence, optional
        Other categories that may change at no cost, no more than ``max_changes`` of them at once; given as ``free`` is.
    max_changes : int, optional
        How many of ``categories`` may change at once; by default all.
    relations : sequence of tuples (mapping, {"<=", ">=", "=="}, float), optional
        Linear relations that hold before and after a move: ``({"paid": 1, "owed": -1}, "<=", 0)`` is ``paid ≤ owed``.
    classes : array-like, optional
        Only rows that are predicted to be of these classes are attacked; others have an infinite radius.

    Examples
    --------
    >>> from holdfast import Threat
    >>> threat = Threat(norm=2, unit={"income": 1000.0}, frozen=["sex"], only_up=["age"])
    >>> threat
    Threat(frozen=['sex'], only_up=['age'], unit={'income': 1000.0})
    >>> moves = threat.moves(3, names=["age", "income", "sex"])
    >>> moves.unit.tolist(), moves.frozen.tolist(), moves.only_up.tolist()
    ([1.0, 1000.0, 1.0], [False, False, True], [True, False, False])
    >>> print(*threat.describe(), sep="\\n")
    The size of a move is its Euclidean length.
    income counts in units of 1000.
    sex cannot change.
    age can only grow.
    """

    def __init__(
        self, norm=2, *, unit=None, lower=None, upper=None, frozen=None, only_up=None, only_down=None, integer=None,
        free=None, categories=None, max_changes=None, relations=None, classes=None,
    ):  # fmt: skip
        self.norm = norm
        self.unit = unit
        self.lower = lower
        self.upper = upper
        self.frozen = frozen
        self.only_up = only_up
        self.only_down = only_down
        self.integer = integer
        self.free = free
        self.categories = categories
        self.max_changes = max_changes
        self.relations = relations
        self.classes = classes

    def moves(self, n_features: int, names: Sequence[str] | None = None) -> Moves:
        """The numeric moves for a model with these columns; one ``ValueError`` lists everything that is wrong."""
        return self.read(n_features, names).moves

    def read(self, n_features: int, names: Sequence[str] | None = None) -> Reading:
        """The threat for a model with these columns: moves of numbers, and categories.

        Parameters
        ----------
        n_features : int
        names : sequence of str, optional
            Of the columns of the model.

        Returns
        -------
        Reading
        """
        return read_threat(self, n_features, names)

    @property
    def needs_rows(self) -> list[str]:
        """Parameters that are words, or columns without values, until training rows are given."""
        words = isinstance(self.unit, str) or (
            isinstance(self.unit, Mapping) and any(isinstance(value, str) for value in self.unit.values())
        )
        lists = [name for name in ("free", "categories") if not isinstance(getattr(self, name), Mapping | None)]
        return ["unit"] * words + lists

    def fitted_to(self, X) -> "Threat":
        """A threat with numbers in place of ``"std"``, ``"range"`` and lists of categories, from rows of training.

        The result is a plain threat: it can be cloned, written to a file and used with any model of these columns.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)

        Returns
        -------
        Threat
        """
        changed = self.get_params()
        needed = self.needs_rows
        if "unit" in needed:
            changed["unit"] = widths(X, self.unit)
        for name in ("free", "categories"):
            if name in needed:
                changed[name] = values_of(X, name, changed[name])
        return Threat(**changed)

    def encoded(self, names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> "Threat":
        """The same threat for rows behind an encoder: categories that are not named as changing are frozen.

        Parameters
        ----------
        names : sequence of str
            The encoded columns. A column of numbers keeps its name.
        groups : mapping
            Raw column of categories -> numbers of its columns of 0 and 1.

        Returns
        -------
        Threat
            With columns by number; ``free=["race"]`` is the group of the columns of race.
        """
        return encoded_threat(self, names, groups)

    def describe(self) -> list[str]:
        """Describe in plain sentences which features may move, and at what cost."""
        return sentences(self)

    def to_dict(self) -> dict:
        """The parameters that are not the default, as numbers, strings, lists and mappings."""
        return to_basic_types(self)

    @classmethod
    def from_dict(cls, given: Mapping, source: str = "The threat") -> "Threat":
        """The threat of :meth:`to_dict`; unknown keys are refused by name."""
        return cls(**from_basic_types(given, cls._get_param_names(), source))

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        import json

        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> "Threat":
        """The threat of :meth:`to_json`."""
        return cls.from_dict(parse("json", text, "The threat"))

    @classmethod
    def from_file(cls, path) -> "Threat":
        """The threat in a TOML or JSON file, whose keys are the parameters.

        Parameters
        ----------
        path : str or Path
            A name that ends in ``.toml`` or ``.json``.

        Returns
        -------
        Threat
        """
        return cls.from_dict(read_file(path), str(path))

    def __eq__(self, other) -> bool:
        return isinstance(other, Threat) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))


def checked_threat(threat) -> Threat:
    """The threat; anything else, such as a dict of its parameters, is refused."""
    if not isinstance(threat, Threat):
        made = "; Threat.from_dict makes one of a dict" if isinstance(threat, Mapping) else ""
        raise TypeError(f"threat must be a Threat; got {type(threat).__name__}{made}.")
    return threat
