"""Linear classifiers: their certificate is a closed form."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from holdfast.search.families.base import Facts, Family, Recipe


class Linear(Family):
    """Logistic regression and linear support vectors, ``C`` from 0.001 to 1000.

    A small C gives large margins where few features decide: it is searched as far down. Where classes count alike, each
    is also tried with weights of classes.
    """

    name = "linear"
    label = "linear model"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        strengths = [10.0**k for k in (-3, -2, -1, 0, 1, 2, 3)]
        found = []
        for own in [{}, {"class_weight": "balanced"}] if facts.balanced else [{}]:
            for C in strengths:
                model = LogisticRegression(C=C, max_iter=1000, **own)
                found.append(Recipe(self.name, model, {"model": "LogisticRegression", "C": C, **own}))
            for C in strengths[:6]:
                machine = LinearSVC(C=C, random_state=0, dual=False, **own)
                found.append(Recipe(self.name, machine, {"model": "LinearSVC", "C": C, **own}))
        return found
