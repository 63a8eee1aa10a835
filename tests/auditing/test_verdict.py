"""Verdicts on scores as they were seen on real tables: equal proofs, rows that nobody decides, a constant answer."""

from holdfast.auditing.verdict import Compared, recommend, verdict

MAJORITY = {"accuracy": 0.6, "certified": 0.6, "label": "no"}


def scores(accuracy, certified, attacked=None, undecided=0.0, found=5):
    worst = {"label": "yes", "rows": 10, "found": found, "proven": min(found, 3)}
    return {
        "accuracy": accuracy, "certified": certified, "attacked": certified if attacked is None else attacked,
        "balanced_accuracy": accuracy, "balanced_certified": certified, "undecided": undecided,
        "undecided_by_budget": undecided / 2, "worst": worst,
        "balanced_attacked": certified if attacked is None else attacked,
    }  # fmt: skip


def said(models: dict, p_value=0.001, majority=MAJORITY, chance=0.0):
    best = recommend(models)
    compared = [Compared(key, key.upper(), own, 1.0 if key == best else p_value) for key, own in models.items()]
    return verdict(compared, best, majority, 0.5, 57, chance, 2)


def test_of_equal_proofs_the_model_that_is_right_more_often_is_used():
    """birthwt: 96.5 % right against 82.5 %, proven alike."""
    found = said({"robust": scores(0.825, 0.7), "base": scores(0.965, 0.7)})
    assert found.recommended == "base"
    assert found.tone == "even"
    assert "ROBUST proves as much." in found.reasons


def test_what_is_undecided_leaves_open_which_model_is_better():
    """chile: 20.1 % proven against 1.1 %, but of the second a third of the rows are undecided, and more may hold."""
    found = said({"robust": scores(0.61, 0.61, undecided=0.0), "base": scores(0.65, 0.55, 0.69, undecided=0.36)})
    assert found.recommended == "robust"
    assert found.tone == "unclear"
    assert any(each.startswith("BASE may hold more: 36.0 % of its rows are undecided") for each in found.reasons)


def test_undecided_rows_of_the_model_itself_are_told():
    found = said({"robust": scores(0.8, 0.7, 0.9, undecided=0.3)})
    assert any("30.0 % of its rows are undecided" in each and "--budget" in each for each in found.reasons)
    searched = scores(0.8, 0.7, 0.9, undecided=0.3) | {"undecided_by_budget": 0.0}  # to the end
    assert not any("--budget" in each for each in said({"robust": searched}).reasons)


def test_a_constant_answer_that_proves_as_much_is_not_worth_it():
    """heating: 53 % right, one answer for all 63.7 %."""
    found = said({"robust": scores(0.53, 0.4, found=0)}, chance=0.9)
    assert found.sentence.startswith("Not worth it: ROBUST is no better than a guess")
    assert "finds none of 10 test rows" in found.detail
    assert found.tone == "worse"


def test_the_numbers_in_the_verdict_are_those_it_was_chosen_by():
    """german: 66.2 % proven, the other model 69.6 %, always 1 70.0 %; but every class counted alike it proves most."""
    own, other = scores(0.758, 0.662), scores(0.754, 0.696)
    own["balanced_certified"], other["balanced_certified"] = 0.572, 0.557
    found = said({"logistic": own, "robust": other}, majority={"accuracy": 0.7, "certified": 0.7, "label": "1"})
    assert found.recommended == "logistic"
    assert "every class counted alike, 57.2 % of the test rows" in found.sentence
    assert "against 55.7 % of ROBUST and 50.0 % of always answering '1'" in found.sentence
