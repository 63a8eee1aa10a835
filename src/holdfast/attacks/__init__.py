"""Upper bounds: moves that are meant to change an answer."""

from holdfast.attacks.move import adversarial_move as adversarial_move
from holdfast.attacks.move import margins as margins
from holdfast.attacks.move import nearest_triplets as nearest_triplets
