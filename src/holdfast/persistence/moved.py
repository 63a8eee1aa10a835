"""Types that earlier versions kept in other modules."""

#: name in a file -> name today. Applied to the schema of a file before its types are checked.
MOVED = {
    # 0.1
    "holdfast.neighbors.CertifiedKNeighborsClassifier": "holdfast.models.neighbors.CertifiedKNeighborsClassifier",
    "holdfast.neighbors.CertifiedPrototypeClassifier": "holdfast.models.prototypes.CertifiedPrototypeClassifier",
    # 0.2
    **{
        f"holdfast.{old}.{name}": f"holdfast.learn.{new}.{name}"
        for old, new, names in (
            ("constraints.neighbor_search", "supervision", "NeighborSearch"),
            ("terms.perturbation", "terms", "Perturbation"),
            ("solvers.lbfgs", "solvers.lbfgs", "LBFGS"),
            ("solvers.stochastic", "solvers.lbfgs", "StochasticLBFGS"),
            ("solvers.accelerated", "solvers.gradient", "AcceleratedProximalGradient"),
            ("solvers.projected_gradient", "solvers.gradient", "ProjectedGradient"),
            ("solvers.primal_dual", "solvers.primal_dual", "PrimalDual"),
        )
        for name in names.split()
    },
}


def rename_moved(schema) -> int:
    """Replace the names of moved types in a skops schema, in place.

    Parameters
    ----------
    schema : dict
        As read from JSON.

    Returns
    -------
    int
        How many nodes were changed.
    """
    changed = 0
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            name = MOVED.get(f"{node.get('__module__')}.{node.get('__class__')}")
            if name is not None:
                node["__module__"], _, node["__class__"] = name.rpartition(".")
                changed += 1
            waiting += node.values()
    return changed
