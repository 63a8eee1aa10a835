"""Independent opponents: black-box attacks of other libraries never succeed inside a certified ball."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, certify
from tests.certificates.adapters import art_classifier, foolbox_model
from tests.sizes import FULL

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs


@pytest.fixture(scope="module", params=[1, 3, 4] if FULL else [1, 4])
def certified(request):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(LMNN(), n_neighbors=request.param))
    model.fit(X[::2], y[::2])
    rows = X[1::24]
    return model, rows, certify(model, rows, norm=2), certify(model, rows, norm=np.inf)


def _beaten(model, rows, certificate, adversarial, order):
    size = np.linalg.norm(adversarial - rows, ord=order, axis=1)
    changed = model.predict(adversarial) != certificate.prediction
    assert changed.any()  # the opponent is not asleep
    assert (size[changed] >= certificate.radius[changed]).all()


@pytest.mark.parametrize("name", ["HopSkipJump", "BoundaryAttack"])
def test_art(certified, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from art.attacks import evasion
    model, rows, l2, linf = certified
    classifier = art_classifier(model)
    if name == "HopSkipJump":
        for order, certificate in ((2, l2), (np.inf, linf)):
            attack = evasion.HopSkipJump(classifier, norm=order, max_iter=3, max_eval=60, init_eval=10, verbose=False)
            _beaten(model, rows, certificate, attack.generate(rows.astype(np.float32)).astype(float), order)
    else:
        attack = evasion.BoundaryAttack(classifier, targeted=False, max_iter=15, verbose=False)
        _beaten(model, rows, l2, attack.generate(rows.astype(np.float32)).astype(float), 2)


def test_foolbox(certified):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import eagerpy
        import foolbox
    model, rows, l2, _ = certified
    adapted = foolbox_model(model)
    labels = eagerpy.astensor(np.searchsorted(model.classes_, l2.prediction))
    attack = foolbox.attacks.BoundaryAttack(
        steps=60, init_attack=foolbox.attacks.LinearSearchBlendedUniformNoiseAttack()
    )
    _, adversarial, success = attack(adapted, eagerpy.astensor(rows), labels, epsilons=None)
    found = adversarial.numpy()
    success = success.numpy()
    size = np.linalg.norm(found - rows, axis=1)
    changed = model.predict(found) != l2.prediction
    assert (success == changed).mean() > 0.5
    assert (size[changed] >= l2.radius[changed]).all()


def test_a_hundred_thousand_tries(certified):
    """Ours: random and directed moves just inside the certified balls, 100,000 over two models."""
    model, rows, l2, linf = certified
    rng = np.random.default_rng(0)
    n = 3750
    for order, certificate in ((2, l2), (np.inf, linf)):
        towards = certificate.adversarial - rows
        spread = rng.uniform(0, 2, (n, 1, 1)) * np.abs(towards).mean()
        D = rng.normal(size=(n, *rows.shape)) * spread + towards
        D *= (0.999999 * certificate.radius / np.linalg.norm(D, ord=order, axis=2))[..., None]
        found = model.predict((rows + D).reshape(-1, rows.shape[1])).reshape(n, -1)
        assert (found == certificate.prediction).all()
    assert 2 * found.size >= 50_000
