"""``counterfactuals``: the closest rows with another answer, in the user's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from holdfast.base.inputs import as_pandas, check_count, check_number
from holdfast.certificates.api import DEFAULT_BUDGET
from holdfast.certificates.bracket import Effort
from holdfast.certificates.certificate import meet
from holdfast.certificates.moves import Moves
from holdfast.certificates.questions import Budget
from holdfast.certificates.readers import voter_for
from holdfast.certificates.threat import Threat, as_threat
from holdfast.certificates.training import Training
from holdfast.certificates.vote import Voter
from holdfast.explanations.question import ANY, Question, reference_rows, within_data
from holdfast.explanations.question import near_data as near_data_of
from holdfast.explanations.result import Counterfactuals
from holdfast.explanations.search import Answers, shorten
from holdfast.explanations.variants import find_recoded, in_other_features, towards_other_points


def as_rows(X):
    """X as a table: one row may be a series, and a table of polars becomes one of pandas."""
    if hasattr(X, "iloc") and X.ndim == 1:
        return X.to_frame().T.infer_objects()
    return as_pandas(X)


def keep_kinds(threat: Threat, X) -> Threat:
    """The threat, with columns of whole numbers whole, and those of True and False as they are.

    Only for data frames, whose columns have a type; a threat that names its own whole numbers stays as it is.
    """
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return threat
    named = {str(name) for what in (threat.free, threat.categories) for name in _flat(what)}
    kinds = {name: getattr(kind, "kind", "O") for name, kind in X.dtypes.items() if str(name) not in named}
    changed: dict = {}
    if threat.integer is None and any(kind in "iu" for kind in kinds.values()):
        changed["integer"] = [name for name, kind in kinds.items() if kind in "iu"]
    booleans = [name for name, kind in kinds.items() if kind == "b"]
    if booleans and (threat.frozen is None or np.asarray(threat.frozen).dtype != bool):
        changed["frozen"] = [*_flat(threat.frozen), *booleans]
    return Threat(**threat.get_params() | changed) if changed else threat


def _flat(named) -> list:
    """What a threat names, as a list."""
    if named is None:
        return []
    return list(named) if isinstance(named, Mapping) else np.atleast_1d(np.asarray(named, dtype=object)).tolist()


def as_table(points: np.ndarray, rows: np.ndarray, X, row: np.ndarray, voter: Voter):
    """Points as an array, or as a data frame with the columns of X and, for each point, the index of its row.

    Columns of whole numbers or of True and False stay so if every value allows it. Words are those of the row; where
    there is no point all is NaN. ``rows`` are those of X, encoded.
    """
    if not voter.encoding.keeps_rows:
        given = X.iloc[row] if hasattr(X, "iloc") else np.asarray(X, dtype=object)[row]
        return _decoded(points, rows[row], given, voter)
    if not hasattr(X, "columns"):
        return points
    from pandas import DataFrame  # installed: X is one of its frames

    return _with_kinds(DataFrame(points, columns=X.columns, index=X.index[row]), X)


def _with_kinds(frame, X):
    """A frame with whole numbers, and True and False, where X has them and every value allows it."""
    for name, kind in X.dtypes.items():
        values = frame[name].to_numpy()
        if getattr(kind, "kind", "f") in "biu" and values.dtype.kind == "f" and np.isfinite(values).all():
            cast = values.astype(kind)
            if (cast == values).all():
                frame[name] = cast
    return frame


def _decoded(points: np.ndarray, encoded: np.ndarray, rows, voter: Voter):
    """Encoded points in the form of the rows; missing ones are NaN in every column."""
    missing = ~np.isfinite(points).all(axis=1)
    given = voter.as_given(np.where(missing[:, None], encoded, points), rows)
    if missing.any():
        is_frame = hasattr(given, "iloc")
        given = given.astype(object) if is_frame else given  # an array of numbers stays one
        given[missing] = np.nan
        given = given.infer_objects() if is_frame else given
    return _with_kinds(given, rows) if hasattr(given, "iloc") and hasattr(rows, "dtypes") else given


def column_names(X, known: Sequence[str] | None) -> list[str]:
    """The names of the columns of X, those the model was fitted on, or ``x0, x1, …``."""
    names = getattr(X, "columns", known)
    return [f"x{i}" for i in range(np.shape(X)[1])] if names is None else [str(name) for name in names]


MEMORY = 256.0  # megabytes, as the default of certify


def counterfactuals(
    model,
    X,
    target=None,
    *,
    threat: Threat | None = None,
    n: int = 1,
    slack: float = 0.0,
    max_features: int | None = None,
    diverse: str = "features",
    near_data: bool | None = None,
    reference=None,
    rounding: float = 0.01,
    budget: int = DEFAULT_BUDGET,
    n_jobs: int | None = None,
) -> Counterfactuals:
    """``argmin{‖δ‖ : predict(x + δ) = target}`` over possible moves δ: the closest row with another answer.

    Every point that is returned was given to the model's own ``predict``, digit for digit as it is returned, and keeps
    every limit of the threat. ``lower_bound`` is proven: no possible row that is closer has the answer.

    Parameters
    ----------
    model : fitted classifier
        As for :func:`holdfast.certify`.
    X : array-like of shape (n_rows, n_features)
        Rows as the model takes them: an array, a data frame (of polars, too: answers are frames of pandas), or a series
        that is one row of a frame. Columns of whole numbers stay whole, those of True and False, and of words, stay as
        they are unless the threat says otherwise.
    target : label or array-like of shape (n_rows,), optional
        The class to reach, for all rows or for each; by default any class but the predicted one.
    threat : Threat, optional
        Which changes are possible, and how they are measured; by default all of the numbers, by their Euclidean
        length. Categories that it lets change (``free``, ``categories``) change at no cost.
    n : int, default=1
        Answers for each row.
    slack : float, default=0
        The answer holds within this distance of the point, for noise in every feature that is not frozen, in the
        measure of the threat: the certificate of the point is at least as large.
    max_features : int, optional
        At most so many features change. The closest such change is proven where there are at most 2000 sets of that
        many features; with more, features are dropped step by step, and the bound is that without the limit.
    diverse : {"features", "points"}, default="features"
        How further answers differ: each leaves the main feature of those before as it was, or each is nearest to
        another row of the data.
    near_data : bool or None, default=None
        None: values stay within the range of the reference rows, if these are known and the threat has no box of its
        own. True: besides, an answer is no farther from the reference rows than 95 % of them are from each other, in
        the distance of the model (in units of the threat for a linear model). False: neither.
    reference : tuple (X_train, y_train), optional
        The rows the model was fitted on, and their labels: needed for ``near_data=True`` where the model does not keep
        them.
    rounding : float, default=0.01
        Numbers are rounded to as few digits as keep the answer, as long as its size grows by no more than this share; 0
        leaves them as they are.
    budget : int, default=200000
        Work that each search for a row may take, as for :func:`holdfast.certify`.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    Counterfactuals

    Notes
    -----
    For two classes, or without a target, the bound is the certified radius. A given class among several is exact for
    one neighbour, prototypes, centroids and linear models, and for several neighbours as far as the search goes (Lemma
    K2); behind a Normalizer or a monotone step the bound is that of any change (Lemma K3), but for one neighbour. With
    ``slack`` the bound is the radius plus the slack (Lemma K1), or better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from holdfast import Threat, counterfactuals
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> found = counterfactuals(model, X[70:71], target=1, threat=Threat(only_down=[2]), max_features=1)
    >>> bool((model.predict(found.points) == 1).all())
    True
    >>> print(found.sentences()[0])  # doctest: +ELLIPSIS
    to be 1 instead of 2: petal width (cm) 1.8 → 1.72...; no change smaller by more than 1 % can do it
    """
    check_number("counterfactuals", "slack", slack, at_least=0)
    check_number("counterfactuals", "rounding", rounding, at_least=0, below=1)
    for name, value in (("n", n), *((("max_features", max_features),) if max_features is not None else ())):
        check_count("counterfactuals", name, value)
    check_count("counterfactuals", "budget", budget, at_least=0)
    if diverse not in ("features", "points"):
        raise ValueError(f"diverse must be 'features' or 'points'; got {diverse!r}.")
    voter, X = voter_for(model, reference), as_rows(X)
    rows = voter.check_rows(X)
    data = reference_rows(voter, reference)
    moves = _moves(keep_kinds(as_threat(threat), X), voter, reference)
    moves.check(rows)
    codes = voter.predict(rows)
    targets = target_codes(voter, target, len(rows))
    effort = Effort(False, True, Budget(int(budget)), MEMORY, n_jobs)
    limit = rows.shape[1] if max_features is None else max_features

    def ask(moves: Moves) -> Question:
        return _question(voter, moves, effort, slack, near_data, data)

    def answer(at: np.ndarray, moves: Moves) -> list[Answers]:
        return _answers(ask(moves), rows[at], codes[at], targets[at], data, n, diverse, limit, rounding)

    # Rows with the same gaps can move in the same ways.
    parts = [(at, answer(at, part)) for at, part in voter.encoding.patterns(rows, moves)]
    question = ask(moves)
    return _result(
        voter, X, rows, codes, targets, _joined(question, rows, codes, targets, parts, n), question, rounding
    )


def _moves(threat: Threat, voter: Voter, reference) -> Moves:
    """The moves of a threat; what has no meaning here is refused."""
    if threat.classes is not None:
        raise ValueError("counterfactuals answers for rows of every class: give it a Threat without classes.")
    moves = threat.bind(voter.columns, Training.of(voter, reference), voter.classes)
    whole = [] if moves.categories is None else [group.name for group in moves.categories.groups if group.whole]
    if whole:
        names = "[" + ", ".join(map(repr, whole)) + "]"
        raise ValueError(
            f"counterfactuals does not search whole numbers that an encoder reads: give it Threat(frozen={names}) if "
            f"they stay as they are, or Threat(free={names}) if they may take any value at no cost."
        )
    return moves


def _answers(
    question: Question, rows, codes, targets, data, n: int, diverse: str, limit: int, rounding: float
) -> list[Answers]:
    """n answers for each of some rows that can move in the same ways."""

    def solve(asked: Question, at: np.ndarray) -> Answers:
        answers = find_recoded(asked, rows[at], codes[at], targets[at], data, limit)
        base = asked.base(answers.points, rows[at])
        points = shorten(asked, base, codes[at], targets[at], answers.points, rounding)
        return replace(answers, points=points, size=asked.sizes(points, rows[at]))

    first = solve(question, np.arange(len(rows)))
    answers = [first]
    while len(answers) < n:
        earlier = [each.points for each in answers]
        if diverse == "features":
            answers.append(in_other_features(question, first, earlier, solve))
        else:
            points = towards_other_points(question, first, earlier, data, n, limit)
            points = shorten(question, rows, codes, targets, points, rounding)
            answers.append(replace(first, points=points, size=question.sizes(points, rows)))
    return answers


def _joined(question: Question, rows, codes, targets, parts: list, n: int) -> list[Answers]:
    """The answers of several parts of the rows, in the order of the rows."""
    if len(parts) == 1:
        return parts[0][1]
    out = [Answers.none(question, rows, codes, targets) for _ in range(n)]
    for at, answers in parts:
        for whole, part in zip(out, answers, strict=True):
            whole.lower[at], whole.points[at], whole.size[at] = part.lower, part.points, part.size
    return out


def target_codes(voter: Voter, target, m: int) -> np.ndarray:
    """The class that is asked for of each row, as a code; ``ANY`` if none is named."""
    if target is None:
        return np.full(m, ANY)
    labels = np.asarray(target)
    if labels.shape not in ((), (m,)):
        raise ValueError(f"target must be a class, or one for each of the {m} rows; got shape {labels.shape}.")
    known = voter.classes.tolist()
    unknown = [label for label in np.unique(labels).tolist() if label not in known]
    if unknown:
        raise ValueError(f"target {unknown[0]!r} is none of the model's classes: {', '.join(map(str, known[:10]))}.")
    return np.broadcast_to(np.searchsorted(voter.classes, labels), (m,)).astype(np.int64)


def _question(
    voter: Voter, moves: Moves, effort: Effort, slack: float, near: bool | None, data: np.ndarray | None
) -> Question:
    if near is True and data is None:
        raise ValueError("near_data=True needs the data: give reference=(X_train, y_train).")
    noise = Moves(moves.norm, moves.unit, frozen=moves.frozen)
    boxed = moves.lower is not None or moves.upper is not None
    distance = near_data_of(voter, moves, data) if near is True and data is not None else None
    if data is not None and near is not False and (near or not boxed):
        moves = within_data(moves, data, voter.encoding)
    return Question(voter, moves, effort, float(slack), noise, distance)


def _result(
    voter: Voter, X, rows, codes, targets, answers: list[Answers], question: Question, rounding: float
) -> Counterfactuals:
    """All answers row by row; each has been accepted, and is asked for once more in the table that is returned."""
    n = len(answers)
    points = np.stack([each.points for each in answers], axis=1).reshape(-1, rows.shape[1])
    row = np.repeat(np.arange(len(rows)), n)
    table = as_table(points, rows, X, row, voter)
    has_point = np.isfinite(points).all(axis=1)
    answer = np.full(len(points), ANY)
    if has_point.any():
        answer[has_point] = np.searchsorted(voter.classes, voter.model.predict(table[has_point]))
    wanted, predicted = targets[row], codes[row]
    right = has_point & np.where(wanted == ANY, answer != predicted, answer == wanted)
    if (has_point & ~right).any():
        points[has_point & ~right] = np.nan
        table = as_table(points, rows, X, row, voter)
    size = question.sizes(points, rows[row])
    lower = np.minimum(np.stack([each.lower for each in answers], axis=1).ravel(), size)
    labels = voter.classes.astype(object)
    d = voter.encoding.n_columns  # what follows are indicators of categories and gaps
    known = np.where(right, answer, wanted)
    if len(labels) == 2:  # any other class is the other one
        known = np.where(known == ANY, 1 - predicted, known)
    recoded = np.zeros((len(points), d), bool)  # columns of words: their numbers do not show a change
    for group in () if question.moves.categories is None else question.moves.categories.groups:
        if group.columns[0] < d:
            changed = (points[:, group.columns] != rows[row][:, group.columns]).any(axis=1)
            recoded[right, group.columns[0]] = changed[right]
    return Counterfactuals(
        points=table,
        row=row,
        number=np.tile(np.arange(1, n + 1), len(rows)),
        size=size,
        lower_bound=lower,
        closest=right & meet(lower, size / (1.0 + rounding)),
        valid=right,
        prediction=voter.classes[predicted],
        target=np.array([None if code == ANY else labels[code] for code in known], dtype=object),
        original=X,
        values=points[:, :d],
        rows=rows[:, :d],
        columns=column_names(X, voter.feature_names),
        unit=None if question.moves.unit is None else question.moves.unit[:d],
        norm=question.moves.norm.name,
        rounding=rounding,
        recoded=recoded if not voter.encoding.keeps_rows else np.zeros_like(recoded),
    )
