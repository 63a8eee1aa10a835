"""Types that earlier versions kept in other modules."""

#: name in a file -> name today. Applied to the schema of a file before its types are checked.
MOVED = {
    # 0.1
    "holdfast.neighbors.CertifiedKNeighborsClassifier": "holdfast.models.neighbors.CertifiedKNeighborsClassifier",
    "holdfast.neighbors.CertifiedPrototypeClassifier": "holdfast.models.prototypes.CertifiedPrototypeClassifier",
    "holdfast.learners.aml.AML": "holdfast.paper.learners.AML",
    "holdfast.learners.drift.DRIFT": "holdfast.paper.learners.DRIFT",
    **{
        f"holdfast.{old}.{name}": f"holdfast.learn.{new}.{name}"
        for old, new, name in (
            ("learners.lmnn", "lmnn", "LMNN"),
            ("learners.log_det_lmnn", "lmnn", "LogDetLMNN"),
            ("learners.capped_trace_lmnn", "lmnn", "CappedTraceLMNN"),
            ("learners.spectral_norm_lmnn", "lmnn", "SpectralNormLMNN"),
            ("learners.scml", "scml", "SCML"),
            ("learners.proxy_nca", "proxy_nca", "ProxyNCA"),
            ("learners.margin_lvq", "margin_lvq", "MarginLVQ"),
            ("learners.fixed", "wrappers", "Euclidean"),
            ("learners.fixed", "wrappers", "FixedMetric"),
            ("learners.reduced", "wrappers", "Reduced"),
            ("learners.multi_pass", "wrappers", "MultiPass"),
            ("constraints.neighbor_search", "supervision", "NeighborSearch"),
            ("terms.perturbation", "terms", "Perturbation"),
            ("solvers.lbfgs", "solvers.lbfgs", "LBFGS"),
            ("solvers.stochastic", "solvers.lbfgs", "StochasticLBFGS"),
            ("solvers.accelerated", "solvers.gradient", "AcceleratedProximalGradient"),
            ("solvers.projected_gradient", "solvers.gradient", "ProjectedGradient"),
            ("solvers.primal_dual", "solvers.primal_dual", "PrimalDual"),
        )
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
