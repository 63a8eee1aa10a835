"""Triplets (which points should be nearer than which), and how they are made from labels."""

from holdfast.constraints.bases import local_bases as local_bases
from holdfast.constraints.bases import triplet_bases as triplet_bases
from holdfast.constraints.neighbor_search import NeighborSearch as NeighborSearch
from holdfast.constraints.neighbors import knn_triplets as knn_triplets
from holdfast.constraints.pairs import Pairs as Pairs
from holdfast.constraints.proxies import class_proxies as class_proxies
from holdfast.constraints.triplets import Triplets as Triplets
