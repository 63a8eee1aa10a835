"""Linear classifiers: their certificate is a closed form."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from holdfast.search.families.base import Facts, Family, Recipe


class Linear(Family):
    """Logistic regression and linear support vectors, ``C`` from 0.001 to 1000.

    C goes down to 0.001 because a small C gives large margins where few features decide. If every class counts alike,
    each model is also tried with ``class_weight="balanced"``.
    """

    name = "linear"
    label = "linear model"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        strengths = [10.0**k for k in (-3, -2, -1, 0, 1, 2, 3)]
        recipes = []
        for weighting in [{}, {"class_weight": "balanced"}] if facts.balanced else [{}]:
            for C in strengths:
                model = LogisticRegression(C=C, max_iter=1000, **weighting)
                recipes.append(Recipe(self.name, model, {"model": "LogisticRegression", "C": C, **weighting}))
            for C in strengths[:6]:
                svm = LinearSVC(C=C, random_state=0, dual=False, **weighting)
                recipes.append(Recipe(self.name, svm, {"model": "LinearSVC", "C": C, **weighting}))
        return recipes
