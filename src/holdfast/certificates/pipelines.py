"""The steps before a vote as one map of encoded rows."""

import warnings
from collections import UserList
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    TargetEncoder,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.base.affine import READERS as AFFINE
from holdfast.base.affine import AffineMap, NotAffine, affine_of
from holdfast.base.inputs import refuse_foreign_class, refuse_own_functions, with_names
from holdfast.certificates.chain import Affine, Chain
from holdfast.certificates.columns import (
    UNKNOWN,
    Encoding,
    Kinds,
    Table,
    Word,
    as_column,
    as_rows,
    key,
    side_by_side,
    unknown,
)
from holdfast.certificates.maps import MONOTONE, AgainWithWarps, Warp, bend, cut
from holdfast.certificates.monotone import Monotone
from holdfast.certificates.sphere import OnSphere


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
    W, w0 = np.zeros((n_out, table.size)), start.copy()
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
    result = Table(table.encoding, AffineMap.step(W, w0, np.zeros(n_out)), (None,) * n_out, (None,) * n_out)
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
    encoded = np.zeros((len(rows), result.size))
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
    n, size = table.width, table.size
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
                at = table.sources(i, kinds.warps)
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
        AffineMap(W, map_.w0, absolute, map_.cancellation, map_.n_steps + 1, map_.n_terms),
        tuple(words),
        tuple(gap),
    ).take(kept)
    if step.indicator_ is None:
        return filled
    flags = AffineMap(missing, np.zeros(n), missing.copy(), np.zeros(n), 0)
    marks = Table(table.encoding, flags, (None,) * n, (None,) * n).take(list(step.indicator_.features_))
    return side_by_side([filled, marks], table)


def through(step, table: Table, kinds: Kinds) -> Table:
    """The table after one fitted step; a step that is not in :data:`READERS` must be affine."""
    refuse_own_functions(step)
    if does_nothing(step):
        return table
    check_is_fitted(step)
    read = READERS.get(type(step))
    if read is not None:
        return read(step, table, kinds)
    if is_pipeline(step):
        return _pipeline(step, table, kinds)
    if type(step) in MONOTONE and not _affine(step):
        return bend(step, table, kinds)
    return table.numbers(step).then(affine_of(step, table.width))


def does_nothing(step) -> bool:
    """True for ``passthrough``, and for samplers, which act only while a model is fitted."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    if type(step) in (FunctionTransformer,) and step.func is None:
        return True
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def is_pipeline(step) -> bool:
    """True for pipelines, those with samplers included; one that may hand rows on in another way is refused."""
    if not isinstance(step, Pipeline):
        return False
    refuse_foreign_class(step, "Pipeline(model.steps)")
    return True


def _affine(step) -> bool:
    """True for scalers that do not clip."""
    return type(step) in AFFINE and not getattr(step, "clip", False) and not isinstance(step, FunctionTransformer)


def check_precision(steps: Sequence) -> None:
    """Refuse a step after which all numbers are in single precision: what follows would compute in it.

    Beside columns in double precision they do no harm: an encoder's numbers are exact, and the table is in double.
    """
    for step in steps:
        if _single(step):
            raise ValueError(
                f"After {type(step).__name__} all numbers are float32, so that the steps that follow round to seven "
                "digits, which a certificate does not allow for: fit the encoder with dtype=numpy.float64."
            )


def _single(step) -> bool:
    if does_nothing(step) or isinstance(step, str | KBinsDiscretizer):  # which is refused by `cut`
        return False
    if isinstance(step, Pipeline):
        return any(_single(inner) for inner in [inner for _, inner in step.steps if not does_nothing(inner)][-1:])
    if isinstance(step, ColumnTransformer | FeatureUnion):
        parts = step.transformers_ if isinstance(step, ColumnTransformer) else step.transformer_list
        kept = [part[1] for part in parts if not (isinstance(part[1], str) and part[1] == "drop")]
        return bool(kept) and all(_single(part) for part in kept)
    dtype = getattr(step, "dtype", None)
    return dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8


def _pipeline(step: Pipeline, table: Table, kinds: Kinds) -> Table:
    check_precision([inner for _, inner in step.steps if not does_nothing(inner)][:-1])
    for _, inner in step.steps:
        table = through(inner, table, kinds)
    return table


def _column_transformer(step: ColumnTransformer, table: Table, kinds: Kinds) -> Table:
    """Each transformer on its columns, side by side in the order of ``output_indices_``."""
    kinds.selected = True
    weights = step.transformer_weights or {}
    parts: dict[str, Table] = {}
    for name, inner, columns in step.transformers_:
        at = column_numbers(columns, getattr(step, "feature_names_in_", None), step.n_features_in_)
        if (isinstance(inner, str) and inner == "drop") or not at:
            continue
        parts[name] = _weighted(through(inner, table.take(at), kinds), weights.get(name), inner)
    order = sorted(parts, key=lambda name: step.output_indices_[name].start)
    for name in order:
        place = step.output_indices_[name]
        if place.stop - place.start != parts[name].width:
            raise ValueError(f"ColumnTransformer: {name!r} makes {place.stop - place.start} columns, not as read.")
    return side_by_side([parts[name] for name in order], table)


def _feature_union(step: FeatureUnion, table: Table, kinds: Kinds) -> Table:
    weights = step.transformer_weights or {}
    parts = [
        _weighted(through(inner, table, kinds), weights.get(name), inner)
        for name, inner in step.transformer_list
        if not (isinstance(inner, str) and inner == "drop")
    ]
    return side_by_side(parts, table)


def _weighted(table: Table, weight: float | None, step) -> Table:
    if weight is None:
        return table
    return table.numbers(step).then(AffineMap.step(weight * np.eye(table.width)))


def column_numbers(columns: Any, names: Sequence[str] | None, n: int) -> list[int]:
    """The columns that an entry of a ColumnTransformer takes, as numbers."""
    place = {} if names is None else {str(name): i for i, name in enumerate(names)}

    def number(column) -> int:
        return place[column] if isinstance(column, str) else int(column) % n

    if isinstance(columns, str) or np.isscalar(columns):
        return [number(columns)]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):  # names, both ends included
            start = 0 if columns.start is None else place[columns.start]
            return list(range(start, n if columns.stop is None else place[columns.stop] + 1))
        return list(range(n)[columns])
    # scikit-learn 1.6 warns when the list of the remainder is read; its data are the same.
    values = list(columns.data if isinstance(columns, UserList) else columns)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        return [int(i) for i in np.flatnonzero(values)]
    return [number(value) for value in values]


# Exact type -> its function (step, table, kinds) -> table. Every other step must be affine.
READERS: dict[type, Callable[..., Table]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _column_transformer,
    FeatureUnion: _feature_union,
    SimpleImputer: fill_gaps,
    OneHotEncoder: encode_words,
    OrdinalEncoder: encode_words,
    TargetEncoder: encode_words,
    KBinsDiscretizer: cut,
}


def chain_of(steps: Sequence, n_features: int, names: Sequence[str] | None = None) -> tuple[Encoding, Chain]:
    """How the user's rows become numbers, and the steps as one map of these; a step it cannot hold is refused by name.

    Only the steps show which columns hold categories and which may have gaps. At first all columns are taken for plain
    numbers; each time one turns out to be something else, the steps are read again from the start.

    Parameters
    ----------
    steps : sequence of fitted steps
    n_features : int
        The user's columns.
    names : sequence of str, optional
        What they are called.
    """
    kinds, steps = Kinds(), list(_flat(steps))
    check_precision(steps)
    while True:
        categories = {j: tuple(values) for j, values in sorted(kinds.categories.items())}
        encoding = Encoding(n_features, names, categories, tuple(sorted(kinds.gaps)))
        kinds.warps = [warp for warp in kinds.warps if warp.source not in categories]
        kinds.unseen, kinds.filled, kinds.refused = {}, {}, {}
        try:
            chain = _read(steps, encoding, kinds)
        except ReadAgain:
            kinds.warps = []  # they may have been read with other kinds of columns
            continue
        except AgainWithWarps:
            continue
        if kinds.selected:
            encoding = replace(encoding, read=frozenset(j for j in range(n_features) if chain.reads(j)) | kinds.gaps)
        return replace(encoding, unseen=kinds.unseen, filled=kinds.filled, refused=kinds.refused), chain


def _read(steps: Sequence, encoding: Encoding, kinds: Kinds) -> Chain:
    """The steps as one map; an exception asks to read again if ``encoding`` has a column of the wrong kind."""
    warps = tuple(_with_gap(warp, encoding) for warp in kinds.warps)
    table, after = Table.start(encoding, len(warps)), None
    for step in steps:
        if type(step) in (Normalizer,):  # no subclass: it may do something else
            if step.norm != "l2":
                raise NotAffine(step, f"norm={step.norm!r}")
            if after is not None:
                raise ValueError("Two Normalizer steps in one pipeline cannot be certified in input units.")
            if warps:
                raise NotAffine(step, f"after {type(warps[0].map.step).__name__}")
            after = AffineMap.identity(table.width)
            table = table.numbers(step)
        elif after is None:
            table = through(step, table, kinds)
        else:
            after = after.then(affine_of(step, after.W.shape[0]))
    before = table.numbers("The classifier").map
    if after is not None:
        return OnSphere(before, after)
    return Monotone(warps, before) if warps else Affine(before)


def _with_gap(warp: Warp, encoding: Encoding) -> Warp:
    return replace(warp, gap=encoding.gap(warp.source)) if warp.source in encoding.gaps else warp


def _flat(steps: Sequence) -> Iterator:
    """The steps of nested pipelines as one sequence, without those that do nothing."""
    for step in steps:
        refuse_own_functions(step)
        if is_pipeline(step):
            yield from _flat([inner for _, inner in step.steps])
        elif not does_nothing(step):
            yield step


_AGREE = 1e-9  # of the magnitudes behind a number: as for single steps in holdfast.base.affine


@dataclass(frozen=True)
class Front:
    """Encodes and decodes rows, and checks that the steps transform them as the chain does.

    Attributes
    ----------
    model : estimator
        Its columns are those that rows must have.
    steps : sequence
        The fitted steps before the classifier.
    encoding : Encoding
        The user's rows as numbers.
    chain : Chain
        The same steps as one map of encoded rows.
    """

    model: Any
    steps: Sequence
    encoding: Encoding
    chain: Chain

    def encode(self, X, input_name: str = "X") -> np.ndarray:
        """Rows as float64; other columns than the model's, by name or number, are refused as ``predict`` does."""
        if hasattr(self.model, "n_features_in_"):
            validate_data(self.model, X, reset=False, skip_check_array=True)
        if self.encoding.keeps_rows:
            try:
                rows = check_array(X, dtype=np.float64, input_name=input_name)
            except ValueError as error:
                if not str(error).startswith("could not convert"):
                    raise
                raise ValueError(f"{input_name} holds words, but the model takes numbers only ({error}).") from None
            if not self.chain.defined_everywhere:
                self._check(X, rows, input_name)
            return rows
        if np.ndim(X) != 2 or len(X) == 0:
            raise ValueError(f"{input_name} must be a table with at least one row; got shape {np.shape(X)}.")
        if np.shape(X)[1] != self.encoding.n_columns:
            raise ValueError(
                f"{input_name} has {np.shape(X)[1]} features, but the model takes {self.encoding.n_columns}."
            )
        rows = self.encoding.encode(X)
        self._check(X, rows, input_name)
        return rows

    def decode(self, rows: np.ndarray, X=None):
        """Encoded rows as the model takes them; ``X``, where given, has the words that no step knows.

        A copy: scalers with ``copy=False`` write into their input.
        """
        if self.encoding.keeps_rows:
            return with_names(rows.copy(), self.model)
        return self.encoding.decode(rows, X)

    def _check(self, X, rows: np.ndarray, input_name: str) -> None:
        """Refuse rows for which the steps' own ``transform`` differs from the chain's image of the encoded rows."""
        Z = X
        for step in self.steps:
            Z = Z if does_nothing(step) else step.transform(Z)
        Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
        expected = self.chain.image(rows)
        wrong = np.ones(len(rows), bool)
        if Z.shape == expected.shape:
            allowed = _AGREE * self.chain.magnitude(rows)[:, None] + self.chain.blur(rows)
            wrong = ~(np.abs(Z - expected) <= allowed).all(axis=1)
        if wrong.any():
            raise ValueError(
                f"The steps before the classifier make something else of row {int(np.argmax(wrong))} of {input_name} "
                "than their fitted attributes say, so the model cannot be certified: are all rows in the types, and in "
                "the precision, that the model was fitted on?"
            )
