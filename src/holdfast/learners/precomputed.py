"""Results shared by many fits to the same rows."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Results that depend on the rows and on no parameter that is searched: made once for many fits.

    Attributes
    ----------
    parameters : dict
        Parameters to set before ``fit``.
    arguments : dict
        Arguments to pass to ``fit``.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)

    def fit(self, learner, X, y):
        """Fit the learner to the rows, without making again what is here."""
        return learner.set_params(**self.parameters).fit(X, y, **self.arguments)
