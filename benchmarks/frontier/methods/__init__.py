"""The methods of the frontier: one file each, cheap ones first."""

from benchmarks.frontier.methods import (
    adversarial_pruning,
    euclidean,
    gradient_boosting,
    linear_svm,
    logistic_regression,
    paper,
    robust,
)

#: Each is a function of the radius and a seed that returns a classifier to fit.
METHODS = {
    "logistic regression": logistic_regression.make,
    "logistic regression, w = 1": logistic_regression.make_certified,
    "linear SVM": linear_svm.make,
    "linear SVM, w = 1": linear_svm.make_certified,
    "gradient boosting": gradient_boosting.make,
    "Euclidean k-NN": euclidean.make,
    "adversarial pruning": adversarial_pruning.make,
    "margin LVQ": robust.make_margin_lvq,
    "LMNN-PL, k and pruning": robust.make_lmnn,
    "RobustClassifierCV": robust.make,
    "RobustClassifierCV, w = 1": robust.make_certified,
}
#: For the larger sets alone; on UCI sets they are the rows of benchmarks/yang.
PAPER = {"LMNN": paper.make_lmnn, "LMNN-PL": paper.make_lmnn_pl, "PNCA-PL": paper.make_pnca_pl}
CERTIFIED = [name for name in (*METHODS, *PAPER) if name != "gradient boosting"]
