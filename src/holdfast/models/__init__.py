"""Classifiers that vote by distance and certify their predictions."""

from holdfast.models.classifiers import CertifiedKNeighborsClassifier as CertifiedKNeighborsClassifier
from holdfast.models.classifiers import CertifiedPrototypeClassifier as CertifiedPrototypeClassifier
