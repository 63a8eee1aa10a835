"""The three numbers a, b, h of a triplet, gradients through them, and the adversarial margin."""

from holdfast.geometry.margin import adversarial_margin as adversarial_margin
from holdfast.geometry.margin import closest_adversarial as closest_adversarial
from holdfast.geometry.proxy_geometry import ProxyGeometry as ProxyGeometry
from holdfast.geometry.shape import slope_matrix as slope_matrix
from holdfast.geometry.triplet_geometry import TripletGeometry as TripletGeometry
