"""What would have to change for another answer: counterfactuals, each checked by the model's own ``predict``.

:func:`counterfactuals` is the front door. ``question`` says what counts as an answer; ``search`` finds the closest ones
and bounds them from below, by the certificates and by programs over a ``polyhedron``; ``digits`` shortens the numbers;
:class:`Counterfactuals` is the result.
"""

from holdfast.explanations.api import counterfactuals as counterfactuals
from holdfast.explanations.result import Counterfactuals as Counterfactuals
