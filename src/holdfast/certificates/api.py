"""``certify`` and ``attack``, from the model to the certificate; certified accuracy as a scorer."""

import warnings
from dataclasses import dataclass, replace
from inspect import signature

import numpy as np
from sklearn.base import BaseEstimator

from holdfast.base.blocks import single_threaded_blas
from holdfast.base.collections import certified_by_blocks
from holdfast.base.inputs import check_count, check_number, class_codes, with_names
from holdfast.certificates.binding import listed, listed_classes
from holdfast.certificates.bracket import Bracket, Progress
from holdfast.certificates.certificate import Certificate, meet
from holdfast.certificates.discrete import bracket_threat
from holdfast.certificates.moves import Moves
from holdfast.certificates.questions import DEFAULT_BUDGET, Budget, Effort
from holdfast.certificates.readers import voter_for
from holdfast.certificates.threat import Threat, as_threat
from holdfast.certificates.training import Training
from holdfast.certificates.vote import Voter

_INSIDE = 1.0 - 1e-6  # of a radius


@certified_by_blocks(join=Certificate.concatenate)
def certify(
    model,
    X,
    y=None,
    *,
    threat: Threat | None = None,
    at: float | None = None,
    norm=2,
    reference=None,
    lower=None,
    upper=None,
    frozen=None,
    method: str = "auto",
    budget: int = DEFAULT_BUDGET,
    witness: bool = True,
    memory: float = 256.0,
    n_jobs: int | None = None,
    verbose: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """``radius ≤ min{‖δ‖ : predict(x + δ) ≠ predict(x)} ≤ upper``, in the units of X.

    Parameters
    ----------
    model : fitted classifier
        A :class:`~holdfast.CertifiedKNeighborsClassifier` or :class:`~holdfast.CertifiedPrototypeClassifier`,
        scikit-learn's ``KNeighborsClassifier``, ``RadiusNeighborsClassifier``, ``NearestCentroid``, a linear classifier
        (``LogisticRegression``, ``LinearSVC``, ``RidgeClassifier``, ``SGDClassifier``, ``Perceptron``,
        ``LinearDiscriminantAnalysis``, ``SVC(kernel="linear")`` of two classes), or a pipeline that ends in one of
        them. Its other steps may be scalers, PCA, TruncatedSVD, LDA, feature selection, NCA, anything with
        ``transform(X) = X @ components_.T``; ``ColumnTransformer``, ``FeatureUnion``, encoders of categories,
        ``SimpleImputer``; monotone maps of single features; one ``Normalizer()``. Another step is refused by name. Of
        a search (``GridSearchCV``) the best model is certified.
    X : array-like or Dask collection of shape (n_rows, n_features)
        Rows as the model takes them, words and gaps included; columns with other names, or in another order, are
        refused. A collection is certified block by block on its workers; the certificate, which is as large as X
        (``adversarial``), is returned to the caller.
    y : array-like of shape (n_rows,), optional
        True labels, kept for ``certified_accuracy``; labels that are none of the model's classes are refused.
    threat : Threat, optional
        Which moves are possible, and how they are measured; in place of norm, lower, upper and frozen.
    at : float, optional
        Ask for the verdict at this size alone, ``Certificate.stable``: can a move of up to this size change the answer?
        Cheaper than the radius where a search is needed; ``radius`` and ``upper`` are then only as tight as the verdict
        needs.
    norm : {2, numpy.inf, 1} or array-like of shape (n_features, n_features), default=2
        How moves are measured; a matrix ``A_0`` is the norm ``√(δᵀ A_0 δ)``.
    reference : tuple (X_train, y_train), optional
        The rows the pipeline was fitted on, before its first step: for scikit-learn's ``KNeighborsClassifier``, where
        they are compared with those of the model (without them the model's own are used), and for threats that take
        units or categories from them.
    lower, upper : float, array-like of shape (n_features,) or mapping, optional
        A box: features of a moved row can only lie within it.
    frozen : array-like of bool, int or str, optional
        Features that cannot be moved, as a mask, as indices or by name.
    method : {"auto", "lower"}, default="auto"
        "auto" seeks the exact radius (closed form and quadratic programs for one neighbour, branch and bound
        within ``budget`` for more); "lower" takes the fast lower bound alone.
    budget : int, default=200000
        Work that a row may take in searches, in units of some thousand multiply-adds: a unit is about a microsecond of
        one core, so that 200000 is about 0.2 s, whatever the model; few rows need as much. Whatever it is, the bounds
        are sound, and they depend on it alone, not on the machine. Besides, a row is compared with all reference points
        a few times, and predicted some hundred times if ``witness``.
    witness : bool, default=True
        Whether to look for adversarial points; without, ``upper`` is infinite.
    memory : float, default=256
        Megabytes that distances from rows to all reference points may take at once, over all threads; beside
        them there are a few copies of the reference points. It affects the time, and no result.
    n_jobs : int or None, default=None
        Threads; None or -1: all processors that this process may use.
    verbose : int, default=0
        1 prints progress.
    progress : callable, optional
        Called as ``progress(done, total)``, in rows, after every few hundred.

    Returns
    -------
    Certificate

    Notes
    -----
    Words, and values that an imputer filled in, do not move: a certificate is about moves of the other numbers. Numbers
    that an encoder reads are refused unless the threat says what they are (integer, frozen, free, categories). Behind
    monotone steps the radius is exact in L∞ and boxes if the engine is exact, and a sound bound in L2 and L1; behind
    bins (``KBinsDiscretizer``) it is a sound bound. A ``Normalizer`` directly before a Euclidean vote costs nothing;
    before another metric or scores the bound is sound, not exact. The same holds for votes that depend on the distances
    themselves: ``weights="distance"`` with several neighbours, Minkowski distances with p other than 2, all neighbours
    within a radius.

    Not promised: anything about rows far from the data, about other models, or about moves of the training
    data (see :func:`holdfast.poisoning_tolerance` for labels).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from holdfast import certify
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test = (X[::2], y[::2]), (X[1::2], y[1::2])
    >>> model = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(*train)
    >>> certificate = certify(model, *test, reference=train)
    >>> bool(certificate.exact.all())
    True
    >>> certificate.certified_accuracy(radii=[0.0, 0.1]).round(2).tolist()
    [0.96, 0.91]
    """
    effort = _effort(method, budget, witness, memory, n_jobs, at)
    with single_threaded_blas():  # the products of a certificate and of its checks are small
        voter = voter_for(model, reference)
        rows = voter.check_rows(X)
        training = Training.of(voter, reference)
        moves = as_threat(threat, norm, lower, upper, frozen).bind(voter.columns, training, voter.classes)
        y = true_labels(y, voter.classes, len(rows))
        moves.check(rows)
        effort = replace(effort, budget=effort.budget.metered(len(rows)))
        bounds = bracket_threat(voter, moves, rows, effort, _printer(verbose, progress))
        radius = confirmed_radii(voter, moves, X, rows, bounds)
        adversarial, upper = _witnesses(voter, X, bounds)
        ended = effort.budget.ended & ~meet(radius, upper)
        if at is not None:
            ended &= (radius <= at) & (upper > at)
    return Certificate(
        radius, upper, adversarial, voter.classes[bounds.codes], moves.norm.name,
        _units(moves), y, at, moves.at_no_cost, X.index if hasattr(X, "iloc") else None,
        dict(moves.why_frozen), moves.enumerated, *_cells(voter, rows), training.far(rows, voter.encoding), ended,
    )  # fmt: skip


def _cells(voter: Voter, rows: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """How many cells of each row are gaps that were filled in, and words that are not known, of which one warning says.

    None where a model has nothing of the kind.
    """
    gaps, words = voter.encoding.gaps_filled(rows), voter.encoding.unknown_words(rows)
    counts = _count(gaps), _count(words)
    strange = {name: mask for name, mask in words.items() if mask.any()}
    if strange:
        any_row = np.any(list(strange.values()), axis=0)
        warnings.warn(
            f"{int(any_row.sum())} of {len(rows)} rows, the first is row {int(np.argmax(any_row))}, have values "
            f"that the model was not fitted on, in {', '.join(map(repr, strange))}: their certificates are about what "
            "its encoders make of such values (unknown_words of the certificate counts them row by row).",
            UserWarning,
            stacklevel=4,  # the caller of certify, which is decorated
        )
    return counts


def _count(masks: dict) -> np.ndarray | None:
    """In how many of the masks each row is; None if there are none."""
    return np.array(list(masks.values())).sum(axis=0) if masks else None


def _witnesses(voter: Voter, X, bounds: Bracket) -> tuple:
    """The adversarial rows in the form of X, and ``upper``; rows that were encoded are decoded and predicted again."""
    if voter.encoding.keeps_rows:
        return bounds.adversarial, bounds.upper
    upper, known = bounds.upper.copy(), np.flatnonzero(np.isfinite(bounds.upper))
    decoded = voter.as_given(np.nan_to_num(bounds.adversarial), X)
    is_frame = hasattr(decoded, "iloc")
    if known.size:
        answers = voter.model.predict(decoded.iloc[known] if is_frame else decoded[known])
        upper[known[np.searchsorted(voter.classes, answers) == bounds.codes[known]]] = np.inf
    missing = np.isinf(upper)
    if missing.any():
        decoded = decoded.astype(object) if is_frame or decoded.dtype == object else decoded
        decoded[missing] = np.nan
        decoded = decoded.infer_objects() if is_frame else decoded
    return decoded, upper


def confirmed_radii(voter: Voter, moves: Moves, X, rows: np.ndarray, bounds: Bracket) -> np.ndarray:
    """The radii, if ``predict`` answers just inside each as at the row; else 0 for all rows, and a warning says so.

    One contradiction shows that the model is not the vote that was certified, and so much for the other rows. ``X`` are
    the rows as the user gave them, ``rows`` the same, encoded.
    """
    radius = np.where(voter.same_as_given(X, bounds.codes), bounds.radius, 0.0)
    asked = np.ones(len(rows), bool) if moves.attacked is None else np.isin(bounds.codes, moves.attacked)
    moved, possible = _just_inside(voter, moves, rows, bounds)
    inside = asked & possible & (radius > 0)
    if not inside.any():
        return radius
    assert voter.front is not None
    answers = voter.model.predict(voter.front.decode(np.where(inside[:, None], moved, rows), X))
    wrong = inside & (np.asarray(answers) != voter.classes[bounds.codes])
    if not wrong.any():
        return radius
    warnings.warn(
        f"The model's own predict contradicts the radii of {int(wrong.sum())} of {len(rows)} rows, the first is row "
        f"{int(np.argmax(wrong))}: it gives another answer at a shorter move. So the model does something else than "
        "its fitted attributes say, and all radii are 0: certify a model whose functions are those of its class.",
        UserWarning,
        stacklevel=4,  # the caller of certify, which is decorated
    )
    return np.where(asked, 0.0, radius)


def _just_inside(voter: Voter, moves: Moves, rows: np.ndarray, bounds: Bracket) -> tuple[np.ndarray, np.ndarray]:
    """A move of each row, a hair shorter than its radius, and whether it is one that the certificate speaks of.

    It goes towards the row's witness, with those of the witness' categories that change at no cost; where there is
    none, in a direction that is the same for all rows.
    """
    seen, start = np.isfinite(bounds.upper), rows.copy()
    for group in () if moves.categories is None else moves.categories.groups:
        if not group.whole:
            at = np.ix_(seen, group.columns)
            start[at] = bounds.adversarial[at]
    unit = np.ones(rows.shape[1]) if moves.unit is None else moves.unit
    step = np.where(
        seen[:, None], bounds.adversarial - start, unit * np.random.default_rng(0).choice((-1.0, 1.0), len(unit))
    )
    for column in voter.encoding.gaps:
        step[rows[:, voter.encoding.gap(column)] > 0, column] = 0.0
    size = moves.lengths(step)
    reach = np.where(np.isinf(bounds.radius), 1.0 + np.abs(rows / unit).max(axis=1), bounds.radius)
    share = np.divide(_INSIDE * reach, size, out=np.zeros_like(size), where=size > 0)
    moved = moves.enforce(start + share[:, None] * step, start, "inward")
    possible = moves.allows(moved, start) & (moves.lengths(moved - start) < bounds.radius)
    possible[possible] = voter.chain.defined(moved[possible])
    return moved, possible


def true_labels(y, known: np.ndarray, n_rows: int) -> np.ndarray | None:
    """True labels as classes of the model, however they are written; labels of other classes are refused."""
    if y is None:
        return None
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have shape ({n_rows},); got {y.shape}.")
    codes, unknown = class_codes(y, known)
    if unknown:
        raise ValueError(
            f"{int((codes < 0).sum())} of {n_rows} labels in y, the first in row {int(np.argmax(codes < 0))}, are none "
            f"of the model's classes ({listed_classes(known)}): {listed(unknown)}. Correct them, or leave such rows "
            "out."
        )
    return known[codes]


def _effort(method: str, budget, witness: bool, memory: float, n_jobs: int | None, at: float | None) -> Effort:
    """The checked arguments of :func:`certify` that say how much work to do."""
    check_number("certify", "memory", memory, above=0)
    if at is not None:
        check_number("certify", "at", at, at_least=0)
        at = float(np.nextafter(float(at), np.inf))  # moves of size ``at`` count too: the radius must be above it
    if method not in ("auto", "lower"):
        raise ValueError(f"method must be 'auto' or 'lower'; got {method!r}.")
    check_count("certify", "budget", budget, at_least=0)
    return Effort(method == "lower", witness, Budget(int(budget), at), memory, n_jobs)


def _units(moves) -> str:
    return "the units of X" if moves.unit is None else "units of the threat"


def _printer(verbose: int, progress: Progress | None) -> Progress | None:
    """The function to call after each block: the caller's, and one that prints if ``verbose``."""
    if not verbose:
        return progress

    def report(done: int, total: int) -> None:
        print(f"[certify] {done} of {total} rows", flush=True)
        if progress is not None:
            progress(done, total)

    return report


_OPTIONS = [name for name in signature(certify).parameters if name not in ("model", "X", "y", "witness")]


@dataclass(frozen=True)
class Attack:
    """Moves that change the model's own prediction, as checked by ``predict``.

    Attributes
    ----------
    adversarial : ndarray or data frame of shape (n_rows, n_features)
        The moved rows, a data frame for a model that takes words or gaps; NaN where no change was found.
    size : ndarray of shape (n_rows,)
        How far each moved; infinite where no change was found.
    prediction, changed_to : ndarrays of shape (n_rows,)
        Predictions for the row and for the moved row; both for the row where no change was found.
    norm : str
        How moves are measured.
    """

    adversarial: np.ndarray
    size: np.ndarray
    prediction: np.ndarray
    changed_to: np.ndarray
    norm: str

    @property
    def success(self) -> np.ndarray:
        """A mask of the rows for which a change was found."""
        return np.isfinite(self.size)

    def accuracy(self, y, sizes) -> np.ndarray:
        """Share of rows that are right, and for which no change within each size was found."""
        sizes = np.asarray(sizes, dtype=np.float64)
        right = self.prediction == np.asarray(y)
        return (right[:, None] & (self.size[:, None] > sizes.ravel())).mean(axis=0).reshape(sizes.shape)


def attack(model, X, y=None, **options) -> Attack:
    """The shortest move found that changes ``model.predict``, row by row.

    Takes the witnesses of the exact searches and walks along segments to points of other classes; every move
    reported was re-checked by the model's own ``predict``.

    Parameters
    ----------
    model, X, y : as for :func:`holdfast.certify`
        y is not used: the prediction is attacked, right or wrong.
    **options
        Those of :func:`holdfast.certify`: threat, at, norm, reference, lower, upper, frozen, method, budget, n_jobs,
        verbose. Moved rows keep every limit of the threat. ``method="lower"`` leaves the exact searches out; ``at``
        seeks only moves up to that size.

    Returns
    -------
    Attack

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CertifiedKNeighborsClassifier, attack
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CertifiedKNeighborsClassifier(n_neighbors=1).fit(X[::2], y[::2])
    >>> found = attack(clf, X[1::2])
    >>> bool((clf.predict(found.adversarial) != found.prediction).all())
    True
    """
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise TypeError(
            f"attack has no option {', '.join(map(repr, unknown))}; its options are those of certify: "
            f"{', '.join(_OPTIONS)}."
        )
    certificate = certify(model, X, y, **options)
    adversarial, prediction = certificate.adversarial, certificate.prediction
    success = np.isfinite(certificate.upper)
    changed_to = prediction.copy()
    if success.any():
        changed_to[success] = model.predict(with_names(adversarial[success], model))
    return Attack(adversarial, certificate.upper, prediction, changed_to, certificate.norm)


class CertifiedAccuracy(BaseEstimator):
    """Share of rows that are right and certified to stay so within ``radius``: ``scorer(model, X, y)``.

    Works wherever scikit-learn takes ``scoring=``, for models that :func:`holdfast.certify` takes; scikit-learn turns
    an error into NaN unless ``error_score="raise"`` is set.

    Parameters
    ----------
    radius : float
        In the units of the rows the model is given.
    norm : {2, numpy.inf, 1} or array-like, default=2
    method : {"lower", "auto"}, default="lower"
        The fast lower bound, or the exact search, which then decides at ``radius`` only.
    n_jobs : int or None, default=1
        Threads of one score; searches run many at once.
    lower, upper : float or array-like of shape (n_features,), optional
        A box that moved rows must lie in.
    frozen : array-like of bool or int, optional
        Features that cannot be moved.
    threat : Threat, optional
        In place of norm, lower, upper and frozen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from holdfast import CertifiedKNeighborsClassifier
    >>> from holdfast.certificates import CertifiedAccuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(CertifiedKNeighborsClassifier(), X, y, scoring=CertifiedAccuracy(0.1))
    >>> bool(0.7 < scores.mean() < 0.97)
    True
    """

    def __init__(
        self,
        radius: float = 0.1,
        norm=2,
        method: str = "lower",
        n_jobs: int | None = 1,
        lower=None,
        upper=None,
        frozen=None,
        threat=None,
    ):
        self.radius = radius
        self.norm = norm
        self.method = method
        self.n_jobs = n_jobs
        self.lower = lower
        self.upper = upper
        self.frozen = frozen
        self.threat = threat

    def __call__(self, estimator, X, y) -> float:
        """The certified accuracy at ``radius``."""
        return self.score_and_tie_break(estimator, X, y)[0]

    def score_and_tie_break(self, estimator, X, y) -> tuple[float, float]:
        """The certified accuracy at ``radius``, and the accuracy, which decides between equal ones."""
        certificate = certify(
            estimator, X, threat=self.threat, norm=self.norm, lower=self.lower, upper=self.upper, frozen=self.frozen,
            method=self.method, witness=False, n_jobs=self.n_jobs, at=self.radius if self.method == "auto" else None,
        )  # fmt: skip
        y = np.asarray(y)  # a fold may have labels that none of the rows of training has: those rows count as wrong
        accuracy = (certificate.prediction == y).mean()
        return float(certificate.certified_accuracy(y, radii=self.radius)), float(accuracy)
