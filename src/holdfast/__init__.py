"""Learn distances that hold.

The flow: ``learn`` turns labels into triplets (point i should be nearer to j than to l), a metric M into three numbers
per triplet, and partial derivatives in them back into a gradient; terms are functions of those numbers (pull, push,
perturbation) or of M; an objective is their weighted sum; a solver minimises it over a space; the result is a metric.
Learners are the named recipes, each a scikit-learn transformer; ``paper`` has what only the paper's experiments need.

``models`` vote under a metric; ``certificates`` bound the smallest move of an input that changes a prediction, from
below, and from above by moves that do change it; ``explanations`` are the closest rows with another answer;
``selection`` chooses a model by what it certifies; ``auditing`` does all of it for a table, and ``report`` writes it
down.

``import holdfast`` itself imports nothing: a public name is imported from its module when it is first used (PEP 562),
because scikit-learn and numba take a second or two.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; the same names as in _NAMES, which a test checks
    from holdfast.auditing.run import audit as audit
    from holdfast.certificates.api import attack as attack
    from holdfast.certificates.api import certify as certify
    from holdfast.certificates.poisoning import poisoning_tolerance as poisoning_tolerance
    from holdfast.certificates.threat import Threat as Threat
    from holdfast.datasets import load_dataset as load_dataset
    from holdfast.explanations.api import counterfactuals as counterfactuals
    from holdfast.files.model_file import load as load
    from holdfast.files.model_file import save as save
    from holdfast.learn import LMNN as LMNN
    from holdfast.learn import SCML as SCML
    from holdfast.learn import CappedTraceLMNN as CappedTraceLMNN
    from holdfast.learn import Euclidean as Euclidean
    from holdfast.learn import FixedMetric as FixedMetric
    from holdfast.learn import LogDetLMNN as LogDetLMNN
    from holdfast.learn import MarginLVQ as MarginLVQ
    from holdfast.learn import MultiPass as MultiPass
    from holdfast.learn import Perturbation as Perturbation
    from holdfast.learn import ProxyNCA as ProxyNCA
    from holdfast.learn import Reduced as Reduced
    from holdfast.learn import SpectralNormLMNN as SpectralNormLMNN
    from holdfast.models import CertifiedKNeighborsClassifier as CertifiedKNeighborsClassifier
    from holdfast.models import CertifiedPrototypeClassifier as CertifiedPrototypeClassifier
    from holdfast.paper import AML as AML
    from holdfast.paper import DRIFT as DRIFT
    from holdfast.selection import RobustClassifierCV as RobustClassifierCV

__version__ = "0.1.0"

_NAMES = {  # module: public names it defines
    "auditing.run": ["audit"],
    "certificates.api": ["attack", "certify"],
    "certificates.poisoning": ["poisoning_tolerance"],
    "certificates.threat": ["Threat"],
    "datasets": ["load_dataset"],
    "explanations.api": ["counterfactuals"],
    "learn": [
        "LMNN", "SCML", "CappedTraceLMNN", "Euclidean", "FixedMetric", "LogDetLMNN", "MarginLVQ", "MultiPass",
        "Perturbation", "ProxyNCA", "Reduced", "SpectralNormLMNN",
    ],
    "models": ["CertifiedKNeighborsClassifier", "CertifiedPrototypeClassifier"],
    "paper": ["AML", "DRIFT"],
    "files.model_file": ["load", "save"],
    "selection": ["RobustClassifierCV"],
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULE_OF)


if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> Any:
        """A public name, imported from its module, or a submodule."""
        if name in _MODULE_OF:
            value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
            globals()[name] = value  # the next use finds it without this function
            return value
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
