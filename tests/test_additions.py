"""Every line of "To add something" in CONTRIBUTING.md, shown: a toy in a few lines, registered as the line says.

Each toy is taken back after its test, and goes through the contract tests that the line names. A solver, a kind of
model and an engine are longer: ``docs/extending.md`` works them out, and ``tests/docs`` runs it.
"""

import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import holdfast
from holdfast import LMNN, RobustClassifierCV, Threat, certify, learn
from holdfast.base import affine
from holdfast.certificates import L2, Moves, Norm, maps
from holdfast.certificates import norms as certified_norms
from holdfast.cli import app, options
from holdfast.datasets import Dataset, checks, load
from holdfast.files import model_file, parts
from holdfast.learn import MatrixTerm, Pull, Push, Space
from holdfast.selection import FAMILIES, Family, families
from tests.certificates import brute_force, test_norms, test_readers
from tests.certificates.engines import test_contract as test_engines
from tests.cli import program
from tests.datasets import test_checks, test_load
from tests.learn import test_learners, test_spaces, test_terms

ROOT = Path(__file__).parents[1]
X, y = load_iris(return_X_y=True)


class OffDiagonal(MatrixTerm):
    """``Σ_{p≠q} M_pq²``: nearly a weight for each feature."""

    def value_and_grad(self, M):
        off = M - np.diag(M.diagonal())
        return float((off**2).sum()), 2.0 * off


class PlainLMNN(LMNN):
    """LMNN with few products of features."""

    def make_terms(self):
        return [(1.0 - self.mu, Pull()), (self.mu, Push()), (0.1, OffDiagonal())]


def test_a_term():
    test_terms.test_matrix_terms_have_their_gradient(OffDiagonal)
    test_terms.test_terms_are_scikit_learn_objects(OffDiagonal)


def test_a_learner(monkeypatch):
    monkeypatch.setattr(learn, "PlainLMNN", PlainLMNN, raising=False)
    monkeypatch.setattr(holdfast, "PlainLMNN", PlainLMNN, raising=False)
    monkeypatch.setattr(holdfast, "__all__", [*holdfast.__all__, "PlainLMNN"])
    test_learners.test_is_exported_at_the_root(PlainLMNN)
    for contract in (
        test_learners.test_transform_is_the_metric, test_learners.test_pandas_in_and_out,
        test_learners.test_same_result_again_cloned_pickled_and_threaded, test_learners.test_tiny_and_odd_input_types,
        test_learners.test_what_is_precomputed_changes_nothing,
    ):  # fmt: skip
        contract(PlainLMNN, (StandardScaler().fit_transform(X), y))


class Diagonal(Space):
    """``M = diag(w)``, ``w ≥ 0``."""

    def start(self, M):
        return M.diagonal().copy()

    def metric(self, w):
        return np.diag(w)

    def gradient(self, G, w):
        return G.diagonal().copy()

    def project(self, w):
        return np.maximum(w, 0.0)

    def bounds(self, size):
        return [(0.0, None)] * size


def test_a_space():
    class Weighted(LMNN):
        def make_space(self, solver, objective):
            return Diagonal()

    test_spaces.test_gradients_go_through_the_space(lambda rng: Diagonal())
    M = Weighted().fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(M, np.diag(M.diagonal()), atol=1e-12)


class Double(TransformerMixin, BaseEstimator):
    """``2 x``."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        return 2.0 * np.asarray(X)


def test_an_affine_step(monkeypatch):
    monkeypatch.setitem(
        affine.READERS, Double, lambda step, n_in: affine.AffineMap.step(2.0 * np.eye(n_in), np.zeros(n_in))
    )
    model = make_pipeline(Double(), NearestCentroid()).fit(X, y)
    test_readers.test_the_certificate_holds(model, (X, y), 2)
    np.testing.assert_allclose(certify(model, X[:9]).radius, certify(NearestCentroid().fit(X, y), X[:9]).radius)


def test_an_affine_step_in_a_model_file(monkeypatch, tmp_path):
    monkeypatch.setattr(model_file, "SKLEARN_TYPES", {*model_file.SKLEARN_TYPES, f"{__name__}.Double"})
    monkeypatch.setitem(parts.ATTRIBUTES, Double, {})
    monkeypatch.setattr(parts, "CHECKS", [*parts.CHECKS, (Double, parts.check_attributes)])
    monkeypatch.setitem(
        affine.READERS, Double, lambda step, n_in: affine.AffineMap.step(2.0 * np.eye(n_in), np.zeros(n_in))
    )
    model = make_pipeline(Double(), LogisticRegression(max_iter=1000)).fit(X, y)
    again = holdfast.load(holdfast.save(model, tmp_path / "double.holdfast"))
    np.testing.assert_array_equal(certify(again, X[:5]).radius, certify(model, X[:5]).radius)


class Cube(Double):
    """``x³``: increasing, and not affine."""

    def transform(self, X):
        return np.asarray(X) ** 3


def test_a_monotone_step(monkeypatch):
    def read(step, i, width):
        slope = lambda low, high: 3.0 * max(low**2, high**2) * (1 + 1e-9)  # noqa: E731
        error = lambda low, high: 1e-15 * max(abs(low), abs(high)) ** 3  # noqa: E731
        return maps.ColumnMap(step, i, width, slope, error, np.linspace(-9.0, 9.0, 19))

    monkeypatch.setitem(maps.MONOTONE, Cube, read)
    model = make_pipeline(Cube(), LogisticRegression(max_iter=5000, C=0.1)).fit(X / 4, y)
    test_readers.test_the_certificate_holds(model, (X / 4, y), np.inf)


@dataclass(frozen=True)
class Doubled(Norm):
    """``2 ‖δ‖₂``; dual ``‖a‖₂ / 2``."""

    name = "doubled"
    code = L2.code
    quadratic = True
    uses_box = False

    def lengths(self, delta):
        return 2.0 * L2().lengths(delta)

    def dual_lengths(self, A):
        return 0.5 * L2().lengths(A)

    def steepest(self, A):
        return 0.5 * L2().steepest(A)

    def coordinates(self, T, absolute, reduce):
        found = L2().coordinates(0.5 * T, 0.5 * absolute, reduce)
        return replace(found, to_input=0.5 * found.to_input)


def test_a_norm(monkeypatch):
    monkeypatch.setitem(certified_norms.NAMED, "doubled", Doubled)
    monkeypatch.setitem(brute_force.NORMS, "doubled", lambda d: Doubled())
    test_norms.test_the_dual_length_is_a_tight_bound(Doubled())
    test_norms.test_coordinates_carry_moves_and_their_lengths(Doubled(), True)
    test_norms.test_a_restricted_norm_is_that_of_moves_which_are_zero_elsewhere(Doubled())
    test_engines.test_box("doubled", 3, 2)
    test_engines.test_frozen_inputs("doubled")
    for model in (KNeighborsClassifier(3).fit(X, y), LogisticRegression(max_iter=1000).fit(X, y)):
        found, plain = (certify(model, X[::15], threat=Threat(norm), reference=(X, y)) for norm in ("doubled", 2))
        np.testing.assert_allclose(found.radius, 2.0 * plain.radius, rtol=1e-9)
    assert Threat("doubled").describe() == ["The size of a move is measured by doubled."]


@dataclass(frozen=True, eq=False)
class StepsOf(Moves):
    """``|δ_i| ≤ most``: no feature moves by more."""

    most: float = np.inf

    @property
    def confined(self):
        return True

    def room(self, inputs):
        unit = 1.0 if self.unit is None else self.unit[self.free(inputs.shape[1])]
        return tuple(np.minimum(side, self.most / unit * (1 + 1e-15)) for side in super().room(inputs))

    def limits(self, rows):
        low, high = super().limits(rows)
        return np.maximum(low, rows - self.most), np.minimum(high, rows + self.most)


class ThreatOfSteps(Threat):
    """A threat with one more limit."""

    def __init__(self, norm=2, *, frozen=None, most=np.inf):
        super().__init__(norm, frozen=frozen)
        self.most = most

    def bind(self, columns, training=None, labels=None):
        found = super().bind(columns, training, labels)
        return StepsOf(**{each.name: getattr(found, each.name) for each in fields(found)}, most=self.most)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_a_limit_on_moves(norm):
    """Of one row it is a box around the row, which the library knows."""
    model = KNeighborsClassifier(3).fit(X, y)
    for row in X[::30, None]:
        found = certify(model, row, threat=ThreatOfSteps(norm, frozen=[3], most=0.7), reference=(X, y))
        boxed = Threat(norm, frozen=[3], lower=row[0] - 0.7, upper=row[0] + 0.7)
        expected = certify(model, row, threat=boxed, reference=(X, y))
        np.testing.assert_allclose([found.radius, found.upper], [expected.radius, expected.upper], rtol=1e-9)
        assert np.isnan(found.adversarial).all() or (np.abs(found.adversarial - row) <= 0.7).all()


class Centroids(Family):
    """The mean of each class votes."""

    name = "centroids"
    label = "nearest centroid"

    def draws(self, rng, facts, n_draws):
        return [families.Recipe(self.name, NearestCentroid())]


def test_a_family(monkeypatch):
    monkeypatch.setitem(FAMILIES, "centroids", Centroids())
    search = RobustClassifierCV(0.3, candidates=["centroids", "euclidean"], cv=2, random_state=0).fit(X, y)
    assert set(search.cv_results_["family"]) == {"centroids", "euclidean"}
    only = RobustClassifierCV(0.3, candidates=["centroids"], cv=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(only.predict(X), NearestCentroid().fit(X, y).predict(X))
    assert certify(only, X[:5]).exact.all()


def test_a_data_set(monkeypatch):
    entry = load.Entry("flowers again", (150, 4), (50, 50, 50), builtin="load_iris", paper=False)
    monkeypatch.setitem(load.CATALOGUE, "flowers", entry)
    monkeypatch.delenv("HOLDFAST_DATA", raising=False)
    test_load.test_built_in("flowers")
    test_load.test_counts_of_the_catalogue_agree()
    assert "flowers" in {row["name"] for row in json.loads(program.run("datasets", "--json", cwd=".").stdout)}
    monkeypatch.setitem(load.CATALOGUE, "flowers", replace(entry, counts=(75, 75)))
    with pytest.raises(ValueError, match="should have"):
        holdfast.load_dataset("flowers")


def test_a_check_of_tables(monkeypatch):
    def check_names(table):
        for name in table.frame.columns:
            if len(name) == 1:
                yield checks.Finding(name, "name", "has a name of one letter", checks.flag_for("--drop", name))

    monkeypatch.setattr(checks, "CHECKS", [*checks.CHECKS, check_names])
    test_checks.test_every_check_takes_a_table_of_words(pd.DataFrame({"town": ["a", "b"] * 50, "y": [0, 1] * 50}))
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "p"]).assign(kind=np.arange(150) % 2)
    found = checks.check_dataset(load.open_data(frame, "kind"))
    assert "Column 'p' has a name of one letter: --drop p." in checks.describe(found)


def test_a_command(monkeypatch, tmp_path):
    @options.reports_errors
    def rows_command(table: str) -> None:
        """Print how many rows a table has.

        Examples:

            holdfast rows table.csv
        """
        data: Dataset = load.open_data(table, "kind")
        options.print_line(f"{len(data.labels)} rows")

    monkeypatch.setattr(app.app, "registered_commands", list(app.app.registered_commands))
    app.app.command("rows", short_help="Rows of a table.")(rows_command)
    pd.DataFrame(X).assign(kind=y).to_csv(tmp_path / "table.csv", index=False)
    assert program.run("rows", "table.csv", cwd=tmp_path).stdout == "150 rows\n"
    assert "no.csv" in program.run("rows", "no.csv", cwd=tmp_path, code=1).stderr
    assert "Rows of a table." in program.run("--help", cwd=tmp_path).stdout
    assert isinstance(app.app, typer.Typer)


# The first words of each line of the table -> the test here, or the section of docs/extending.md that is run.
SHOWN = {
    "a loss or regulariser": test_a_term,
    "a solver": "## A solver",
    "a learner": test_a_learner,
    "a space": test_a_space,
    "a kind of model to certify": "## A kind of model",
    "an affine step before the vote": test_an_affine_step,
    "an affine step in a model file": test_an_affine_step_in_a_model_file,
    "a monotone step of single columns": test_a_monotone_step,
    "a norm": test_a_norm,
    "a limit on moves": test_a_limit_on_moves,
    "an engine": "## An engine",
    "a family of models to choose among": test_a_family,
    "a data set": test_a_data_set,
    "a check of tables": test_a_check_of_tables,
    "a command": test_a_command,
}


def test_every_line_of_the_table_is_shown():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page[page.index("## To add something") :]
    lines = re.findall(r"^\| (an? [^|]*?) \|", table[: table.index("\n## ", 5)], re.MULTILINE)
    assert lines == list(SHOWN)
    extending = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    assert all(f"\n{shown}\n" in extending for shown in SHOWN.values() if isinstance(shown, str))


def test_the_first_change_is_as_the_page_says(monkeypatch, capsys):
    """Its class passes the contract, and its learners print what stands there."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = page[page.index("## Your first change") : page.index("## The map")]
    blocks = [dedent(text) for text in re.findall(r"```\n(.*?)```", part, re.DOTALL)]
    term, use, printed = (next(b for b in blocks if b.startswith(word)) for word in ("class", "from sklearn", "LMNN"))
    space = {"np": np, "MatrixTerm": MatrixTerm}
    exec(term, space)
    test_terms.test_matrix_terms_have_their_gradient(space["OffDiagonal"])
    monkeypatch.setattr(learn, "OffDiagonal", space["OffDiagonal"], raising=False)
    exec(use, {})
    assert capsys.readouterr().out == printed
