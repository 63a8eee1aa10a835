"""The methods of the frontier: one file each, cheap ones first."""

from benchmarks.frontier.methods import (
    adversarial_pruning,
    euclidean,
    gradient_boosting,
    linear_svm,
    logistic_regression,
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
    "RobustClassifierCV": robust.make,
}
CERTIFIED = [name for name in METHODS if name != "gradient boosting"]
