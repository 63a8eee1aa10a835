"""Our classifiers, as other libraries' attacks want them: so that others can try to break certificates."""

import numpy as np


def art_classifier(model):
    """The model as a black box for the Adversarial Robustness Toolbox (``art.attacks.evasion``).

    Parameters
    ----------
    model : fitted classifier
        With ``predict``, ``classes_`` and ``n_features_in_``.

    Returns
    -------
    art.estimators.classification.BlackBoxClassifier
        Its predictions are one-hot.
    """
    try:
        from art.estimators.classification import BlackBoxClassifier
    except ImportError as missing:
        raise ImportError("art_classifier needs adversarial-robustness-toolbox: pip install it.") from missing

    return BlackBoxClassifier(
        lambda rows: _one_hot(model, rows), (model.n_features_in_,), len(model.classes_), clip_values=None
    )


def foolbox_model(model, bounds: tuple[float, float] = (-10.0, 10.0)):
    """The model as a Foolbox model over numpy arrays, for its decision-based attacks.

    Parameters
    ----------
    model : fitted classifier
    bounds : tuple of float
        Foolbox confines its search to this range.

    Returns
    -------
    foolbox.models.Model
    """
    try:
        import eagerpy
        import foolbox
    except ImportError as missing:
        raise ImportError("foolbox_model needs foolbox: pip install it.") from missing

    class Adapted(foolbox.models.Model):
        """Logits are one-hot predictions."""

        @property
        def bounds(self):
            return foolbox.types.Bounds(*bounds)

        def __call__(self, inputs):
            rows, restore = eagerpy.astensor_(inputs)
            return restore(eagerpy.astensor(_one_hot(model, rows.numpy())))

    return Adapted()


def _one_hot(model, rows) -> np.ndarray:
    codes = np.searchsorted(model.classes_, model.predict(np.asarray(rows, dtype=np.float64)))
    return np.eye(len(model.classes_))[codes]
