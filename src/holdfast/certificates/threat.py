"""``Threat``: which moves of an input are possible, and what they cost, as users say it."""

from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator

from holdfast.certificates.binding import Binding
from holdfast.certificates.columns import Encoding
from holdfast.certificates.moves import Moves
from holdfast.certificates.threat_text import from_basic_types, parse, read_file, sentences, to_basic_types
from holdfast.certificates.training import Training, has_words


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

    def bind(self, columns: Encoding, training: Training | None = None, labels: np.ndarray | None = None) -> Moves:
        """The threat as arrays over the columns of a model; one ``ValueError`` lists everything that is wrong with it.

        Parameters
        ----------
        columns : Encoding
            The columns of the model: ``Encoding(n, names)`` for plain numbers.
        training : Training, optional
            What is known of the rows of training, for ``"std"``, ``"range"`` and lists of categories.
        labels : ndarray, optional
            The classes of the model, sorted; None: ``classes`` is left out.

        Returns
        -------
        Moves
        """
        return Binding(self, columns, Training() if training is None else training).moves(labels)

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
        changed, training = self.get_params(), Training(X)
        if has_words(self.unit):
            changed["unit"] = training.unit(self.unit)
        for name in ("free", "categories"):
            if not isinstance(changed[name], Mapping | None):
                changed[name] = training.values(name, changed[name])
        return Threat(**changed)

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


def as_threat(threat: Threat | None, norm=2, lower=None, upper=None, frozen=None) -> Threat:
    """The threat itself, or one made of norm, lower, upper and frozen; both at once are refused."""
    loose = [name for name, value in (("lower", lower), ("upper", upper), ("frozen", frozen)) if value is not None]
    if np.ndim(norm) > 0 or norm != 2:
        loose.insert(0, "norm")
    if threat is None:
        return Threat(norm, lower=lower, upper=upper, frozen=frozen)
    if loose:
        raise ValueError(f"Give {', '.join(loose)} to the Threat, not beside it.")
    return checked_threat(threat)
