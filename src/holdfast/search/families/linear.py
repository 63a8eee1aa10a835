"""Linear classifiers: their certificate is a closed form."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from holdfast.search.families.base import Facts, Family, Recipe


class Linear(Family):
    """Logistic regression and linear support vectors, ``C`` from 0.001 to 1000.

    A small C gives large margins where few features decide: it is searched as far down.
    """

    name = "linear"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        strengths = [10.0**k for k in (-3, -2, -1, 0, 1, 2, 3)]
        logistic = [
            Recipe(self.name, LogisticRegression(C=C, max_iter=1000), {"model": "LogisticRegression", "C": C})
            for C in strengths
        ]
        margin = [
            Recipe(self.name, LinearSVC(C=C, random_state=0, dual=False), {"model": "LinearSVC", "C": C})
            for C in strengths[:6]
        ]
        return logistic + margin
