"""Does the answer depend on a sensitive column? Individual fairness, row by row."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from holdfast.base.text import percent
from holdfast.certificates.api import certify
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.readers import voter_for
from holdfast.certificates.threat import Threat, checked_threat
from holdfast.certificates.threat_text import TRAINING
from holdfast.certificates.training import Training


@dataclass(frozen=True)
class Dependence:
    """The verdict, row by row, on whether the answer depends on certain columns.

    Attributes
    ----------
    columns : list of str
    at : float
        How far the other features may move at the same time; 0: not at all.
    certificate : Certificate
        ``stable`` is the verdict of each row; where it is False, ``adversarial`` is the row with another answer.
    tried : list of str
        For each column, in words, the values that were tried; the verdict is about no others.
    """

    columns: list[str]
    at: float
    certificate: Certificate
    tried: list[str]

    @property
    def independent(self) -> float:
        """Share of rows whose answer provably does not depend on the columns."""
        return self._share(True)

    @property
    def dependent(self) -> float:
        """Share of rows for which a change is known that gives another answer."""
        return self._share(False)

    @property
    def undecided(self) -> float:
        """Share of the other rows."""
        return self._share(None)

    @property
    def by_columns_alone(self) -> float:
        """Share of rows for which a change of the columns alone gives another answer."""
        return float((self.certificate.upper == 0).mean())

    def _share(self, verdict: bool | None) -> float:
        return self.certificate.stable.tolist().count(verdict) / max(len(self.certificate), 1)

    def to_dict(self) -> dict:
        """Columns, size and shares, for reports."""
        return {
            "columns": self.columns,
            "values": self.tried,
            "at": self.at,
            "rows": len(self.certificate),
            "independent": self.independent,
            "dependent": self.dependent,
            "undecided": self.undecided,
            "by_columns_alone": self.by_columns_alone,
        }

    def sentences(self) -> list[str]:
        """The answer to "Does the answer depend on …?" in plain sentences."""
        names = " or ".join(self.columns)
        change = " or ".join(f"of {name} to {tried}" for name, tried in zip(self.columns, self.tried, strict=True))
        besides = f", with other features changed by up to {self.at:g}," if self.at else ""
        out = [
            f"For {percent(self.independent)} of {len(self.certificate):,} rows no change {change}{besides} changes "
            "the answer: proven.",
            f"For {percent(self.dependent)} such a change gives another answer; a changed row is known for each.",
        ]
        if self.at and self.dependent:
            out.append(f"For {percent(self.by_columns_alone)} the change of {names} alone is enough.")
        if self.undecided:
            out.append(f"For {percent(self.undecided)} it was not decided.")
        return out


def dependence(model, X, on, *, at: float = 0.0, threat: Threat | None = None, **options) -> Dependence:
    """Find rows whose answer some change of the columns ``on`` changes, while other features move within ``at``.

    Parameters
    ----------
    model, X
        As for :func:`holdfast.certify`.
    on : mapping or sequence
        The sensitive columns, as ``free`` of a :class:`~holdfast.Threat`: ``{"race": [0, 1, 2]}``,
        ``{"race": ["race_a", "race_b"]}`` for columns of 0 and 1, or names whose values the rows of training have.
    at : float, default=0
        How far other features may move at the same time, in the norm and units of the threat. People who are alike but
        for the sensitive column differ a little elsewhere too.
    threat : Threat, optional
        Which changes of the other features are possible; by default each up to ``at`` (L∞).
    **options
        Those of :func:`holdfast.certify`.

    Returns
    -------
    Dependence

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from holdfast.certificates import dependence
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200)])
    >>> model = LogisticRegression().fit(X, X[:, 0] + 0.1 * X[:, 1] > 0)
    >>> found = dependence(model, X, {1: [0, 1]}, at=0.1)
    >>> bool(0.8 < found.independent < 1.0), found.undecided
    (True, 0.0)
    """
    threat = Threat(norm=np.inf) if threat is None else checked_threat(threat)
    if threat.free is not None:
        raise ValueError("Name the sensitive columns in on=, not also in free= of the threat.")
    free = Threat(**threat.get_params() | {"free": on})
    certificate = certify(model, X, threat=free, at=at, **options)
    columns, tried = _values_tried(model, free, options.get("reference"))
    return Dependence(columns, float(at), certificate, tried)


def _values_tried(model, threat: Threat, reference) -> tuple[list[str], list[str]]:
    """The columns that a threat frees, and in words the values that are enumerated for each."""
    voter = voter_for(model, reference)
    categories = threat.bind(voter.columns, Training.of(voter, reference), voter.classes).categories
    groups = [] if categories is None else [group for group in categories.groups if not group.limited]
    is_listed = isinstance(threat.free, Mapping)
    given = threat.free if is_listed else dict.fromkeys(np.atleast_1d(np.asarray(threat.free, dtype=object)).tolist())
    listed = {str(name): values for name, values in given.items()}
    groups.sort(key=lambda group: [*listed, group.name].index(group.name))
    tried = []
    for group in groups:
        source = f"in {TRAINING}" if listed.get(group.name) is None else "given"
        count = len(group.patterns)
        tried.append(f"another of the {count} value{'s' if count != 1 else ''} {source}")
    return [group.name for group in groups], tried
