"""Encoders of categories and imputers: their output for each value, as an affine map of indicators."""

import warnings
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from holdfast.affine import Affine, NotAffine
from holdfast.certificates.folding.kinds import Kinds
from holdfast.certificates.folding.table import UNKNOWN, Table, Word, side_by_side
from holdfast.certificates.folding.values import as_column, as_rows, key, unknown


class ReadAgain(Exception):
    """A column is of another kind than was assumed: the steps must be read again."""


def encode_words(step, table: Table, kinds: Kinds) -> Table:
    """``z = Σ_v z(v) · [the category is v]``, with z(v) from the step's own ``transform`` (Lemma C1).

    Every output of OneHotEncoder, OrdinalEncoder and TargetEncoder depends on one column, so it is enough to transform
    one row for each value of each column, with the others at a known value. A value that the encoder refuses (an
    unknown category, say) the model refuses as well.
    """
    words = _words(step, table, kinds)
    known = [{key(value) for value in values} for values in step.categories_]
    base = [next(v for v in word.values if key(v) in known[i]) for i, word in enumerate(words)]
    tried = [(i, code) for i, word in enumerate(words) for code in range(len(word.values))]
    try:
        start = _transformed(step, [base])[0]
    except TypeError as refusal:  # scikit-learn's, where floats meet categories of type object
        raise NotAffine(
            step, "it was fitted on numbers of type object; convert the column to numbers first"
        ) from refusal
    rows = [[value_of(w, code) if i == at else base[i] for i, w in enumerate(words)] for at, code in tried]
    accepted = np.array([key(words[i].values[code]) in known[i] for i, code in tried])
    out = _outputs(step, rows, accepted)
    _note_codes(table, kinds, words, tried, accepted, out)
    n_out = start.size
    W, w0 = np.zeros((n_out, table.encoding.size)), start.copy()
    owner = np.full(n_out, -1)
    for i, word in enumerate(words):
        images = {code: image for (at, code), image in zip(tried, out, strict=True) if at == i and image is not None}
        varies = np.any([_differ(image, start) for image in images.values()], axis=0)
        if (owner[varies] >= 0).any():
            raise NotAffine(step, "an output depends on several columns")
        owner[varies] = i
        w0[varies] = 0.0
        for code, image in images.items():
            W[varies, table.encoding.indicators[word.source][code]] = image[varies]
    if not (np.isfinite(W).all() and np.isfinite(w0).all()):
        raise NotAffine(
            step, "it makes numbers that are not finite: set unknown_value and encoded_missing_value to numbers"
        )
    result = Table(table.encoding, Affine.step(W, w0, np.zeros(n_out)), (None,) * n_out, (None,) * n_out)
    _check_mixtures(step, result, words, tried, out)
    return result


def _words(step, table: Table, kinds: Kinds) -> list[Word]:
    """The columns that an encoder takes, as words; a column that was read as numbers raises :class:`ReadAgain`."""
    again, words = False, []
    for i, word in enumerate(table.words):
        if word is None:
            source = table.source_of(i)
            if source is None:
                raise NotAffine(step, "it takes a column for categories that an earlier step computes")
            kinds.gaps.discard(source)
            again = kinds.add_values(source, step.categories_[i]) or again
        else:
            new = [value for value in step.categories_[i] if key(value) not in {key(v) for v in word.values}]
            again = kinds.add_values(word.source, new) or again
            words.append(word)
    if again:
        raise ReadAgain
    return words


def _note_codes(table: Table, kinds: Kinds, words: list[Word], tried: list, accepted: np.ndarray, out: list) -> None:
    """Record which values an encoder was not fitted on, which were filled in before it, and which it does not take."""
    for (i, code), known, image in zip(tried, accepted, out, strict=True):
        source = words[i].source
        raw = (*table.encoding.categories[source], UNKNOWN)[code]
        filled = key(raw) != key(words[i].values[code])
        for codes, applies in ((kinds.unseen, not known), (kinds.filled, filled), (kinds.refused, image is None)):
            if applies:
                codes.setdefault(source, set()).add(code)


def value_of(word: Word, code: int) -> Any:
    """The value of a category; an example value for the code of values that no step knows."""
    value = word.values[code]
    return unknown([v for v in word.values if v is not UNKNOWN]) if value is UNKNOWN else value


def _outputs(step, rows: list, accepted: np.ndarray) -> list[np.ndarray | None]:
    """The output of the step for each row; None where it refuses the row, which it may unless ``accepted``."""
    out: list[np.ndarray | None] = [None] * len(rows)
    known = np.flatnonzero(accepted)
    for t, image in zip(known, _transformed(step, [rows[t] for t in known]), strict=True):
        out[t] = image
    rest = np.flatnonzero(~accepted)
    try:
        images = list(_transformed(step, [rows[t] for t in rest])) if rest.size else []
    except (ValueError, TypeError):
        images = []
    for place, t in enumerate(rest):
        try:
            out[t] = images[place] if images else _transformed(step, [rows[t]])[0]
        except (ValueError, TypeError):
            out[t] = None
    return out


def _transformed(step, rows: list) -> np.ndarray:
    """The step's own output, dense; warnings are silenced, as unknown categories are tried on purpose."""
    names = getattr(step, "feature_names_in_", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = zip(zip(*rows, strict=True), step.categories_, strict=True)
        out = step.transform(as_rows([as_column(values, known) for values, known in columns], names))
    out = out.toarray() if hasattr(out, "toarray") else out
    return np.asarray(out, dtype=np.float64)


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a != b) & ~(np.isnan(a) & np.isnan(b))


def _check_mixtures(step, result: Table, words: list[Word], tried: list, out: list) -> None:
    """Refuse the step unless its output for rows of several categories at once is that of the map."""
    accepted = [
        [code for t, (at, code) in enumerate(tried) if at == i and out[t] is not None] for i in range(len(words))
    ]
    rng = np.random.default_rng(0)
    codes = [[int(rng.choice(each)) for each in accepted] for _ in range(20)]
    rows = [[value_of(word, c) for word, c in zip(words, row, strict=True)] for row in codes]
    encoded = np.zeros((len(rows), result.encoding.size))
    for t, row in enumerate(codes):
        for word, c in zip(words, row, strict=True):
            encoded[t, result.encoding.indicators[word.source][c]] = 1.0
    try:
        actual = _transformed(step, rows)
    except (ValueError, TypeError) as refusal:
        raise NotAffine(step, "it refuses categories together that it takes one by one") from refusal
    repeated = len({word.source for word in words}) < len(words)  # two columns of one source are never mixed
    if not repeated and not np.array_equal(actual, result.map(encoded)):
        raise NotAffine(step, "its transform does not agree with what it makes of single values")


def fill_gaps(step: SimpleImputer, table: Table, kinds: Kinds) -> Table:
    """A gap becomes the imputer's statistic, everything else stays; then the indicators of gaps (Lemma C2).

    A number that is filled in does not move in a certificate, as its distance from the true value is unknown.
    """
    nan = key(step.missing_values)[0] == "nan"
    n, size = table.width, table.encoding.size
    map_ = table.map
    W, absolute = map_.W.copy(), map_.absolute.copy()
    words, gap, missing = list(table.words), list(table.gap), np.zeros((n, size))
    again = False
    for i in range(n):
        statistic = step.statistics_[i]
        word = words[i]
        if word is None:
            source = table.source_of(i)
            if key(statistic)[0] == "value" and not isinstance(statistic, int | float | np.number | np.bool_):
                if source is None:
                    raise NotAffine(step, "it fills in words in a column of numbers")
                again = kinds.add_values(source, [statistic]) or again
                continue
            if not nan:
                raise NotAffine(
                    step, f"missing_values={step.missing_values!r} in a column of numbers, which a move could reach; "
                    "mark gaps by NaN"
                )  # fmt: skip
            gap_column = gap[i]
            if gap_column is None:
                at = table.sources(i)
                if len(at) == 1 and at[0] not in table.encoding.gaps and at[0] not in kinds.categories:
                    kinds.gaps.add(at[0])
                    again = True
                continue
            place = table.encoding.gap(gap_column)
            W[i, place] = (0.0 if key(statistic)[0] == "nan" else statistic) - map_.w0[i]
            absolute[i, place] = np.abs(W[i, place]) + np.abs(map_.w0[i])
            missing[i, place] = 1.0
            gap[i] = None
        else:
            again = kinds.add_values(word.source, [step.missing_values, statistic]) or again
            filled_in = [v is not UNKNOWN and key(v) == key(step.missing_values) for v in word.values]
            values = tuple(statistic if fill else v for fill, v in zip(filled_in, word.values, strict=True))
            words[i] = Word(word.source, values)
            missing[i, np.array(table.encoding.indicators[word.source])[filled_in]] = 1.0
    if again:
        raise ReadAgain
    kept = [i for i in range(n) if step.keep_empty_features or key(step.statistics_[i])[0] == "value"]
    filled = Table(
        table.encoding,
        Affine(W, map_.w0, absolute, map_.cancellation, map_.n_steps + 1, map_.n_terms),
        tuple(words),
        tuple(gap),
    ).take(kept)
    if step.indicator_ is None:
        return filled
    flags = Affine(missing, np.zeros(n), missing.copy(), np.zeros(n), 0)
    marks = Table(table.encoding, flags, (None,) * n, (None,) * n).take(list(step.indicator_.features_))
    return side_by_side([filled, marks], table.encoding)
