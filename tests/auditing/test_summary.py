"""The dict: plain, bounded, and true to the certificates."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, certify
from holdfast.auditing import explain
from holdfast.auditing.result import summarise
from holdfast.auditing.sections import falls as falls_of
from holdfast.auditing.sections import from_to, largest_changes
from holdfast.certificates.readers import voter_for
from holdfast.displays import input_margins
from holdfast.report import render_html, render_markdown
from tests.auditing.conftest import make_audit


@pytest.fixture(scope="module")
def summary(audit_result):
    return summarise(audit_result)


def walk(value):
    yield value
    if isinstance(value, dict):
        for key, each in value.items():
            assert type(key) is str
            yield from walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from walk(each)


def test_only_plain_types_and_a_round_trip(summary):
    for value in walk(summary):
        assert type(value) in (dict, list, str, int, float, bool, type(None))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["settings"]["limit"] is None  # infinite


def test_the_report_says_whose_budget_ended(audit_result):
    """In JSON, Markdown and HTML: how many rows are undecided, of how many the budget ended, and what to do."""
    n, certificate = len(audit_result.y_test), audit_result.certificates["base"]
    right = np.flatnonzero(certificate.prediction == audit_result.y_test)
    radius, upper, ended = np.full(n, 1.0), np.full(n, 2.0), np.zeros(n, bool)
    radius[right[:3]] = 0.1  # undecided at 0.5; the budget of two of them ended, and of one that is decided
    ended[right[1:4]] = True
    cut = replace(certificate, radius=radius, upper=upper, budget_ended=ended)
    result = replace(
        audit_result, certificates=audit_result.certificates | {"base": cut}, settings={"radius": 0.5, "budget": 400}
    )
    told = json.loads(json.dumps(summarise(result)))
    assert told["budget"]["work"] == 400
    assert told["budget"]["models"]["base"] == {"undecided": 3, "undecided_by_budget": 2, "ended": 3}
    assert told["scores"]["base"]["undecided_by_budget"] == pytest.approx(2 / n, abs=1e-7)
    page, markdown = render_html(told), render_markdown(told)
    assert len(told["budget"]["sentences"]) >= 3
    for sentence in told["budget"]["sentences"]:
        assert sentence in page
        assert sentence in markdown
    assert f"LMNN: 3 of {n} rows right but undecided at 0.5, 2 of them because the budget ended." in markdown
    assert "LMNN: for 1 other row the budget ended" in markdown
    assert "--budget 4000 " in markdown
    assert told["at_radius"]["base"]["counts"]["undecided"] == 3


def test_nothing_is_said_of_a_budget_that_was_enough(audit_result):
    certificates = {
        key: replace(each, radius=each.upper, budget_ended=np.zeros(len(each), bool))
        for key, each in audit_result.certificates.items()
    }
    told = summarise(replace(audit_result, certificates=certificates))
    assert told["budget"]["sentences"] == []
    assert 'id="budget"' not in render_html(told)


def test_the_report_says_what_was_thinned(audit_result, monkeypatch):
    monkeypatch.setattr(explain, "_VOTERS", 50)
    result = replace(audit_result, explained=explain.explain_rows(audit_result, 2, budget=100))
    told = summarise(result)
    why = f"the model votes among {len(audit_result.X_train)} rows, more than 50."
    n = len(audit_result.y_test)
    assert told["thinned"] == [
        f"What would have to change: 2 of {n} test rows (--explain).",
        f"A change of one column alone was not looked for: {why}",
    ]
    for shown in (render_html(told), render_markdown(told)):
        assert shown.count(f"A change of one column alone was not looked for: {why}") == 2
    old = {key: value for key, value in told.items() if key not in ("budget", "thinned")}  # of an older report.json
    assert "Audit of" in render_markdown(old) + render_html(old)


def test_the_sandwich_holds_at_every_radius(summary, audit_result):
    radii = summary["curve"]["radii"]
    assert radii[summary["curve"]["at"]] == audit_result.radius
    assert radii == sorted(radii)
    assert radii[0] == 0
    for key, certificate in audit_result.certificates.items():
        curve = {kind: np.array(summary["curve"]["models"][key][kind]) for kind in ("certified", "attacked")}
        assert (curve["certified"] <= curve["attacked"]).all()
        assert (curve["attacked"] <= curve["attacked"][0]).all()
        for kind, told in curve.items():
            assert (np.diff(told) <= 0).all()
            by_hand = getattr(certificate, f"{kind}_accuracy")(audit_result.y_test, radii)
            np.testing.assert_allclose(told, by_hand, atol=1e-7)
        own = summary["at_radius"][key]
        assert own["clean_error"] <= own["attacked_error"] <= own["certified_error"]
        assert sum(own["counts"].values()) == own["rows"] == len(audit_result.y_test)
        assert own["counts"]["certified"] / own["rows"] == pytest.approx(1 - own["certified_error"])
        for which, (low, high) in own["intervals"].items():
            assert low - 1e-4 <= own[which] <= high + 1e-4


def test_the_drawn_curve_falls_where_the_accuracy_does(summary, audit_result):
    for key, certificate in audit_result.certificates.items():
        for kind in ("certified", "attacked"):
            falls = summary["curve"]["models"][key]["falls"][kind]
            at = np.array(falls["radius"]) * (1 + 1e-6)
            told = getattr(certificate, f"{kind}_accuracy")(audit_result.y_test, at)
            np.testing.assert_allclose(falls["share"], told, atol=1e-7)


def test_merged_falls_stay_on_the_safe_side(audit_result):
    bound = np.sort(np.random.default_rng(0).uniform(size=1001))
    right = np.ones(1001, bool)
    for early in (True, False):
        falls = falls_of(bound, right, early)
        assert len(falls["radius"]) == 300
        for r in np.linspace(0, 1, 77):
            passed = [share for at, share in zip(falls["radius"], falls["share"], strict=True) if at <= r]
            told, truth = (passed[-1] if passed else 1.0), (bound > r).mean()
            assert told <= truth + 1e-7 if early else told >= truth - 1e-7


def test_histograms_count_every_row(summary, audit_result):
    n = len(audit_result.y_test)
    for key in summary["radii"]["models"]:
        own = summary["radii"]["models"][key]
        assert sum(own["right"]) + sum(own["wrong"]) + own["beyond"] == n
        margins = summary["margins"]["models"][key]
        assert sum(margins["counts"]) == n
        assert 0 in summary["margins"]["edges"]


def test_margins_are_those_of_the_paper(audit_result):
    """Folded into standard deviations by hand: scaled rows, scaled metric."""
    from holdfast.paper import margins

    model = audit_result.models["robust"]
    found = input_margins(
        voter_for(model), audit_result.X_test, audit_result.y_test, audit_result.scale, audit_result.frozen
    )
    L = model[-1].components_
    train, test = (part / audit_result.scale for part in (audit_result.X_train, audit_result.X_test))
    codes = {label: code for code, label in enumerate(audit_result.classes)}
    a, b = ([codes[label] for label in y] for y in (audit_result.y_train, audit_result.y_test))
    np.testing.assert_allclose(found, margins(L, test, b, (train, a)), rtol=1e-8)


def test_metric_is_divided_by_its_trace(summary):
    for own in summary["metric"]["models"].values():
        assert sum(own["weights"]) == pytest.approx(1, abs=1e-2)
        assert sum(own["spectrum"]) == pytest.approx(1, abs=1e-2)
        assert 1 <= own["effective"] <= len(summary["metric"]["features"])


def test_predictions_are_ordered_and_told(summary, audit_result):
    for key, own in summary["predictions"].items():
        radius = np.sort(audit_result.certificates[key].radius)
        assert [each["radius"] for each in own["least"]] == radius[:8].tolist()
        assert [each["radius"] for each in own["most"]] == radius[::-1][:8].tolist()
        for each in own["least"]:
            assert each["sentence"].startswith("change ")
            assert each["becomes"] != each["prediction"]


def test_frozen_features_do_not_move():
    summary = summarise(make_audit(frozen=(0, 6)))
    assert summary["data"]["n_frozen"] == 2
    for own in summary["features"]["models"].values():
        assert len(own["sd"]) == len(summary["features"]["features"]) == 11
    assert not {"alcohol", "flavanoids"} & set(summary["features"]["features"])
    for own in summary["predictions"].values():
        assert {c["feature"] for p in own["least"] for c in p["changes"]}.isdisjoint({"alcohol", "flavanoids"})


def test_without_any_witness(audit_result):
    """Certificates of the lower bound alone: nothing attacked, nothing to tell, and no crash."""
    certificates = {
        key: replace(each, upper=np.full(len(each), np.inf), adversarial=np.full_like(each.adversarial, np.nan))
        for key, each in audit_result.certificates.items()
    }
    summary = summarise(replace(audit_result, certificates=certificates))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    for key, own in summary["at_radius"].items():
        assert own["attacked_error"] == own["clean_error"]
        assert summary["features"]["models"][key]["rows"] == 0
        assert summary["predictions"][key]["least"][0]["becomes"] is None


def test_nothing_can_change_the_answer(audit_result):
    """All features frozen: every radius is infinite, and told as None."""
    n = len(audit_result.y_test)
    certificates = {
        key: replace(
            each,
            radius=np.full(n, np.inf),
            upper=np.full(n, np.inf),
            adversarial=np.full_like(each.adversarial, np.nan),
        )
        for key, each in audit_result.certificates.items()
    }
    result = replace(audit_result, certificates=certificates, frozen=np.ones_like(audit_result.frozen))
    summary = summarise(result)
    assert summary["margins"] is None
    for key, own in summary["at_radius"].items():
        assert own["certified_error"] == own["clean_error"]
        assert summary["radii"]["models"][key]["median"] is None
        assert summary["radii"]["models"][key]["beyond"] == n
    assert "any" in render_html(summary)
    assert render_markdown(summary)


def test_one_model_behind_a_normalizer(audit_result):
    train = (audit_result.X_train, audit_result.y_train)
    model = make_pipeline(StandardScaler(), Normalizer(), CertifiedKNeighborsClassifier()).fit(*train)
    certificate = certify(model, audit_result.X_test, audit_result.y_test, norm=np.diag(1 / audit_result.scale**2))
    result = replace(audit_result, models={"base": model}, certificates={"base": certificate})
    summary = summarise(result)
    assert summary["margins"] is not None  # the Normalizer drops out before a Euclidean vote
    assert summary["metric"]["models"]["base"]["effective"] == pytest.approx(13, rel=0.01)
    assert not summary["verdict"]["sentence"].startswith("Use ")  # there is nothing else to use
    assert render_html(summary)


def test_bounded_for_many_features_and_rows(audit_result):
    rng = np.random.default_rng(0)
    p, n = 60, 3000
    rows = rng.integers(0, len(audit_result.X_test), n)
    wide = {"X_train": audit_result.X_train, "X_test": audit_result.X_test}
    wide = {key: np.hstack([X, rng.normal(size=(len(X), p - X.shape[1]))]) for key, X in wide.items()}
    scale = wide["X_train"].std(axis=0)
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1))
    model.fit(wide["X_train"], audit_result.y_train)
    small = certify(model, wide["X_test"], audit_result.y_test, norm=np.diag(1 / scale**2), method="lower")
    arrays = ("radius", "upper", "adversarial", "prediction", "true", "budget_ended")
    certificate = replace(small, **{name: getattr(small, name)[rows] for name in arrays})
    result = replace(
        audit_result,
        feature_names=[f"feature {f}" for f in range(p)],
        frozen=np.zeros(p, bool),
        X_train=wide["X_train"],
        X_test=wide["X_test"][rows],
        y_test=audit_result.y_test[rows],
        scale=scale,
        models={"base": model, "robust": model},
        certificates={"base": certificate, "robust": certificate},
    )
    summary = summarise(result)
    assert len(summary["metric"]["features"]) == 40
    assert summary["metric"]["left_out"] == p - 40
    assert len(summary["curve"]["radii"]) <= 302
    assert len(json.dumps(summary)) < 200_000
    assert summary["verdict"]["tone"] == "even"
    assert summary["training"] == {"base": None, "robust": None}
    assert len(render_html(summary)) < 320_000


def test_changes_are_the_largest_in_standard_deviations():
    told, others = largest_changes(
        np.zeros(3), np.array([100.0, 1.0, 0.0]), ["a", "b", "c"], np.array([1000.0, 1.0, 1.0])
    )
    assert [each["feature"] for each in told] == ["b", "a"]
    assert others == 0
    assert from_to(13.2, 12.91) == "from 13.2 to 12.9"


@pytest.mark.parametrize("step", [1e-14, -3e-7, 0.004, 0.5, -1.7, 12.0, 850.0, -4e5, 3e12])
@pytest.mark.parametrize("start", [0.0, -2.5, 13.2, 1050.0])
def test_a_change_never_looks_like_none(start, step):
    _, before, _, after = from_to(start, start + step).split()
    if start + step != start:
        assert before != after
