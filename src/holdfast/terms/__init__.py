"""What an objective sums: triplet terms read a, b, h; matrix terms read M. One import line per term."""

from holdfast.terms.base import MatrixTerm as MatrixTerm
from holdfast.terms.base import TripletTerm as TripletTerm
from holdfast.terms.perturbation import Perturbation as Perturbation
from holdfast.terms.pull import Pull as Pull
from holdfast.terms.push import Push as Push
