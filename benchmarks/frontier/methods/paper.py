"""LMNN, LMNN-PL and PNCA-PL tuned as in the paper, for the larger sets; UCI sets have the rows of benchmarks/yang."""

from holdfast import LMNN, Perturbation, ProxyNCA, certify
from holdfast.paper import PerturbationSearchCV

_DRAWS = 10  # the paper has 50: five times as long


class Tuned(PerturbationSearchCV):
    """The paper's search, by accuracy of 3 neighbours or of prototypes; the best is certified."""

    def certify(self, X, **options):
        """As :func:`holdfast.certify`."""
        return certify(self.classifier_, X, **options)


def make_lmnn(radius: float, seed: int) -> Tuned:
    """LMNN without the loss."""
    return Tuned(LMNN(perturbation=None), n_draws=_DRAWS, random_state=seed)


def make_lmnn_pl(radius: float, seed: int) -> Tuned:
    """LMNN with the perturbation loss."""
    return Tuned(LMNN(perturbation=Perturbation()), n_draws=_DRAWS, random_state=seed)


def make_pnca_pl(radius: float, seed: int) -> Tuned:
    """Prototypes with the perturbation loss."""
    return Tuned(ProxyNCA(3, 0.1, Perturbation(), normalize=True), n_draws=_DRAWS, random_state=seed)
