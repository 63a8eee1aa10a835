"""The front door: how far may this input move before the answer can change?"""

import warnings
from dataclasses import replace

import numpy as np

from holdfast.base.collections import certified_by_blocks
from holdfast.certificates.bracket import Bracket, Progress
from holdfast.certificates.certificate import Certificate, meet
from holdfast.certificates.effort import Effort
from holdfast.certificates.enumeration import bracket_threat
from holdfast.certificates.problems import DEFAULT_BUDGET, Budget
from holdfast.certificates.threat import Threat, checked_threat
from holdfast.certificates.threat_encoding import enumerated_values, frozen_columns, read_for
from holdfast.certificates.training_range import far_rows
from holdfast.certificates.training_rows import fitted_threat
from holdfast.certificates.voting import Voter, voter_for
from holdfast.certificates.witnesses.boundary import confirmed_radii
from holdfast.numerics.labels import class_codes
from holdfast.numerics.threads import single_threaded_blas
from holdfast.parameters import check_count, check_number


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
        Threads.
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
        fitted = fitted_threat(as_threat(threat, norm, lower, upper, frozen), model, reference, voter.feature_names)
        reading = read_for(fitted, voter)
        attacked = attacked_codes(fitted.classes, voter.classes)
        y = true_labels(y, voter.classes, len(rows))
        reading.check_rows(rows)
        effort = replace(effort, budget=effort.budget.metered(len(rows)))
        bounds = bracket_threat(voter, reading, rows, effort, attacked, _printer(verbose, progress))
        radius = confirmed_radii(voter, reading, X, rows, bounds, attacked)
        adversarial, upper = _witnesses(voter, X, bounds)
        ended = effort.budget.ended & ~meet(radius, upper)
        if at is not None:
            ended &= (radius <= at) & (upper > at)
    at_no_cost = reading.categories is not None and reading.categories.at_no_cost
    return Certificate(
        radius, upper, adversarial, voter.classes[bounds.codes], reading.moves.norm.name,
        _units(reading.moves), y, at, at_no_cost, X.index if hasattr(X, "iloc") else None,
        frozen_columns(reading, voter), enumerated_values(reading, voter), *_cells(voter, rows),
        far_rows(voter, rows, reference), ended,
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


def as_threat(threat: Threat | None, norm, lower, upper, frozen) -> Threat:
    """The threat itself, or one made of norm, lower, upper and frozen; both at once are refused."""
    loose = [name for name, value in (("lower", lower), ("upper", upper), ("frozen", frozen)) if value is not None]
    if np.ndim(norm) > 0 or norm != 2:
        loose.insert(0, "norm")
    if threat is None:
        return Threat(norm, lower=lower, upper=upper, frozen=frozen)
    if loose:
        raise ValueError(f"Give {', '.join(loose)} to the Threat, not beside it.")
    return checked_threat(threat)


def attacked_codes(classes, known: np.ndarray) -> np.ndarray | None:
    """Codes of the classes that a threat names, however they are written; see :func:`class_codes`."""
    if classes is None:
        return None
    codes, unknown = class_codes(np.atleast_1d(np.asarray(classes, dtype=object)), known)
    if unknown:
        raise ValueError(f"classes names {_listed(unknown)}, but the classes of the model are {_classes(known)}.")
    return codes


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
            f"of the model's classes ({_classes(known)}): {_listed(unknown)}. Correct them, or leave such rows out."
        )
    return known[codes]


def _classes(known: np.ndarray) -> str:
    return f"{', '.join(map(str, known.tolist()[:10]))}{', …' if len(known) > 10 else ''}"


def _listed(labels: list) -> str:
    return f"{', '.join(map(repr, labels[:10]))}{', …' if len(labels) > 10 else ''}"


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
