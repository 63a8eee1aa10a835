"""Classifiers that vote by distance and certify their predictions."""

from holdfast.models.neighbors import CertifiedKNeighborsClassifier as CertifiedKNeighborsClassifier
from holdfast.models.prototypes import CertifiedPrototypeClassifier as CertifiedPrototypeClassifier
