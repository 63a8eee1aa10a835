"""What would have to change for another answer: counterfactuals, each checked by the model's own ``predict``.

:func:`counterfactuals` is the front door. ``question`` says what counts as an answer; ``search`` finds the closest
ones, bounds them from below and shortens their numbers; ``variants`` change few features or categories, or are several;
:class:`Counterfactuals` is the result.
"""

from holdfast.explanations.api import counterfactuals as counterfactuals
from holdfast.explanations.result import Counterfactuals as Counterfactuals
