"""What every public learner finds on the small tables of the tests, to the last bit.

``python tests/golden.py write FILE`` records it, ``python tests/golden.py compare FILE`` prints each
difference from a record and fails if there is one. Records of one machine hold to the bit there; on another processor
BLAS sums differ, so a record serves a change of the code: write before, compare after.
"""

import json
import sys
import warnings
from hashlib import blake2b
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # the folder of the tests

from helpers.learners import GAUSSIAN_LEARNERS, LEARNERS, MARKOV_LEARNERS
from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame

QUIET = {"show_progress": False}
FIGURES = [
    "score_",
    "objective_",
    "lam_",
    "lam_max_",
    "kkt_residual_",
    "dual_gap_",
    "n_iter_",
    "n_activated_",
    "n_tests_",
    "n_tables_",
    "converged_",
    "stopped_by_",
    "repaired_",
    "threshold_",
    "n_resamples_",
    "primal_residual_",
]
ARRAYS = ["edges_", "precision_", "precision_raw_", "covariance_", "coef_", "location_", "pairs_", "pair_counts_"]
HISTORY = ["score", "objective", "n_edges", "n_tests", "n_tables", "recall", "held_out"]


def as_text(value):
    """Return a figure as text that keeps every bit."""
    if isinstance(value, float | np.floating):
        return float(value).hex()
    return str(value)


def digest(array):
    """Return shape, and a digest of the bytes, of an array."""
    array = np.ascontiguousarray(array)
    return f"{array.dtype} {array.shape} {blake2b(array.tobytes(), digest_size=12).hexdigest()}"


def parameters_of(model):
    """Return the parameters of a network, an entry an array."""
    if hasattr(model, "potentials"):
        potentials = model.potentials
        return {"nodes": digest(potentials.node_values), "edges": digest(potentials.edge_values)}
    if hasattr(model, "precision"):
        return {"precision": digest(model.precision.to_numpy()), "mean": digest(model.mean.to_numpy())}
    entries = {}
    for cpd in model.cpds:
        if hasattr(cpd, "get_values"):
            entries[str(cpd.variable)] = f"{cpd.variables} {digest(cpd.get_values())}"
        elif hasattr(cpd, "coefficients"):
            parents = (*cpd.discrete_parents, *cpd.continuous_parents)
            entries[str(cpd.variable)] = f"{parents} {digest(cpd.coefficients)} {digest(cpd.std)}"
        else:
            entries[str(cpd.variable)] = f"{cpd.evidence} {digest(np.asarray(cpd.beta, dtype=float))} {cpd.std}"
    return entries


def record_of(learner):
    """Return edges, figures and parameters of a fitted learner as texts."""
    record = {"graph": sorted(map(repr, learner.graph_.edges()))}
    for name in FIGURES:
        if hasattr(learner, name):
            record[name] = as_text(getattr(learner, name))
    for name in ARRAYS:
        if hasattr(learner, name):
            record[name] = digest(getattr(learner, name))
    for name in HISTORY:
        if name in getattr(learner, "history_", {}):
            record[f"history {name}"] = digest(np.asarray(learner.history_[name], dtype=float))
    if hasattr(learner, "model_"):
        record["model"] = parameters_of(learner.model_)
    if hasattr(learner, "weights_"):
        record["weights"] = str(learner.weights_)
    return record


def cases():
    """Yield the name of each case and a function that returns its record."""
    for make in LEARNERS:
        for table in make.tables:
            for seed in (0, 1):
                options = QUIET if "show_progress" in make.cls().get_params() else {}
                name = f"{make.name} {table.__name__} {seed}"
                yield name, lambda m=make, table=table, seed=seed, o=options: m(**o).fit(table(seed))
    yield from bayesian_cases()
    yield from markov_cases()
    yield from gaussian_cases()
    yield from wrapper_cases()


def bayesian_cases():
    """Yield cases of options and scores of the Bayesian learners."""
    from pgmx.estimators import BestFirstSearch, ChowLiuForest, HillClimbSearch, SimulatedAnnealing
    from pgmx.scores import EdgePrior, ParameterPrior

    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2.0, 300)
    holes = dependent_frame(3).astype(float).mask(rng.random((300, 5)) < 0.05).astype("Int64")
    options = {
        "restarts": {"n_restarts": 5, "n_restart_moves": 3},
        "tabu": {"patience": 10, "tabu_length": 5},
        "tree": {"start_dag": "tree"},
        "random start": {"start_dag": "random", "random_state": 4},
        "candidates": {"max_candidates": 2},
        "knowledge": {"required_edges": [("e", "a")], "forbidden_edges": [("a", "b")], "tiers": [["e", "a"], ["b"]]},
        "roots": {"root_nodes": ["c"], "candidate_edges": [("c", "d"), ("c", "e"), ("a", "b")]},
        "edge prior": {"structure_prior": EdgePrior(0.1)},
        "parameter prior": {"structure_prior": ParameterPrior(0.5)},
        "thorough": {"strategy": "thorough", "scoring_method": "bdeu", "max_indegree": 2},
    }
    options |= {f"score {score}": {"scoring_method": score} for score in ("aic", "ll", "k2", "bdeu", "bds")}
    for name, given in options.items():
        yield f"climb {name}", lambda g=given: HillClimbSearch(**QUIET, **g).fit(dependent_frame(2, 400))
    for score in ("ll-g", "aic-g", "bic-g"):
        yield (
            f"climb {score}",
            lambda s=score: HillClimbSearch(scoring_method=s, **QUIET).fit(gaussian_frame(2)),
        )
    yield (
        "climb weights",
        lambda: HillClimbSearch(return_type="dag", **QUIET).fit(dependent_frame(2), sample_weight=weights),
    )
    for missing in ("drop", "category", "pairwise"):
        yield f"climb missing {missing}", lambda m=missing: HillClimbSearch(missing=m, **QUIET).fit(holes)
    yield "annealing weights", lambda: SimulatedAnnealing(n_draws=200, **QUIET).fit(dependent_frame(1), None, weights)
    yield "best first", lambda: BestFirstSearch(patience=5, scoring_method="k2", **QUIET).fit(dependent_frame(1))
    for weight in ("mutual_info", "bic", "bdeu", "aic"):
        yield f"forest {weight}", lambda w=weight: ChowLiuForest(weight=w).fit(dependent_frame(4))
    yield "forest root", lambda: ChowLiuForest(root="c", weight="bic").fit(dependent_frame(4))
    yield "forest knowledge", lambda: ChowLiuForest(required_edges=[("e", "a")]).fit(dependent_frame(4))
    yield "forest mixed", lambda: HillClimbSearch(scoring_method="bic-cg", **QUIET).fit(mixed_frame(3))


def markov_cases():
    """Yield cases of losses and options of the Markov learners."""
    from pgmx.estimators import BestChoiceEdgeGrafting, EdgeGrafting, GroupLassoMarkovNetwork, OnlineEdgeGrafting

    rng = np.random.default_rng(6)
    weights = rng.uniform(0.5, 2.0, 300)
    planted = np.array([[(row >> v) & 1 for v in range(7)] for row in rng.integers(0, 128, 500)])
    planted[:, 3] = planted[:, 0] ^ (rng.random(500) < 0.2)
    planted[:, 5] = planted[:, 3] ^ (rng.random(500) < 0.1)
    truth = [("a", "b"), ("b", "c")]
    for make in MARKOV_LEARNERS:
        for loss in ("bethe", "exact"):
            yield (
                f"{make.name} {loss}",
                lambda m=make, loss=loss: m(loss=loss, l2=0.1, **QUIET).fit(dependent_frame(5)),
            )
        yield f"{make.name} lam", lambda m=make: m(lam=0.02, tol=1e-6, refit=True, **QUIET).fit(planted)
        yield (
            f"{make.name} weights",
            lambda m=make: m(penalize_nodes=True, **QUIET).fit(dependent_frame(1), None, weights),
        )
        yield (
            f"{make.name} knowledge",
            lambda m=make: m(
                required_edges=[("a", "e")], forbidden_edges=[("a", "b")], edge_weights={("b", "c"): 2.0}, **QUIET
            ).fit(dependent_frame(1)),
        )
        yield (
            f"{make.name} measured",
            lambda m=make: m(max_edges=4, true_graph=truth, held_out=dependent_frame(9), **QUIET).fit(
                dependent_frame(8)
            ),
        )
    for alpha in (0.0, 0.5, 1.0):
        for cls in (BestChoiceEdgeGrafting, OnlineEdgeGrafting):
            yield (
                f"{cls.__name__} alpha {alpha}",
                lambda cls=cls, a=alpha: cls(alpha=a, lam_ratio=0.05, random_state=3, **QUIET).fit(dependent_frame(7)),
            )

    def in_parts(cls):
        learner = cls(lam=0.02, state_names={name: [0, 1, 2] for name in "abcde"}, **QUIET)
        for seed in (1, 2, 3):
            learner.partial_fit(dependent_frame(seed, 200))
        return learner

    for cls in (EdgeGrafting, OnlineEdgeGrafting, GroupLassoMarkovNetwork):
        yield f"{cls.__name__} in parts", lambda cls=cls: in_parts(cls)
    yield "group lasso started", lambda: started(GroupLassoMarkovNetwork)
    for selection in ("ebic", "stars", "held_out"):
        yield f"group lasso path {selection}", lambda s=selection: chosen(s)


def started(cls):
    """Return a learner that started from the network of another."""
    first = cls(lam_ratio=0.5, **QUIET).fit(dependent_frame(1))
    return cls(lam_ratio=0.2, start=first.model_, **QUIET).fit(dependent_frame(1))


def chosen(selection):
    """Return a group lasso whose penalty was chosen from a path."""
    from pgmx.estimators import GroupLassoMarkovNetwork

    learner = GroupLassoMarkovNetwork(selection=selection, n_lams=6, n_subsamples=4, lam_ratio=0.05, **QUIET)
    return learner.fit(dependent_frame(1, 400))


def gaussian_cases():
    """Yield cases of options of the Gaussian learners."""
    from pgmx.estimators import CLIME

    rng = np.random.default_rng(7)
    wide = rng.normal(size=(12, 20)) @ (np.eye(20) + 0.3 * np.eye(20, k=1))
    holes = gaussian_frame(1).mask(rng.random((200, 4)) < 0.05)
    weights = rng.uniform(0.5, 2.0, 200)
    for make in GAUSSIAN_LEARNERS:
        yield f"{make.name} wide", lambda m=make: m(lam_ratio=0.5, **QUIET).fit(wide)
        yield f"{make.name} refit", lambda m=make: m(lam=0.1, refit=True, **QUIET).fit(gaussian_frame(2))
        yield f"{make.name} weights", lambda m=make: m(**QUIET).fit(gaussian_frame(2), None, weights)
        for missing in ("drop", "pairwise"):
            yield f"{make.name} {missing}", lambda m=make, how=missing: m(missing=how, **QUIET).fit(holes)
    yield "clime admm", lambda: CLIME(solver="admm", lam=0.1, tol=1e-6, **QUIET).fit(gaussian_frame(3))


def wrapper_cases():
    """Yield cases of the learners that learn by another learner."""
    from pgmx.estimators import (
        CLIME,
        BootstrapStructure,
        ChowLiuForest,
        EdgeGrafting,
        GraphicalLasso,
        HillClimbSearch,
        NeighborhoodLasso,
        Nonparanormal,
        SelectedGraph,
    )

    for correlation in ("kendall", "spearman", "shrinkage"):
        yield (
            f"nonparanormal {correlation}",
            lambda c=correlation: Nonparanormal(GraphicalLasso(**QUIET), correlation=c).fit(np.exp(gaussian_frame(3))),
        )
    for selection in ("ebic", "cv", "stars"):
        for leaf in (GraphicalLasso, CLIME, NeighborhoodLasso):
            yield (
                f"selected {selection} {leaf.__name__}",
                lambda s=selection, leaf=leaf: SelectedGraph(
                    leaf(**QUIET), selection=s, n_lams=6, n_subsamples=4, n_folds=3, **QUIET
                ).fit(gaussian_frame(4)),
            )
    inner = {
        "climb": HillClimbSearch(scoring_method="bic", **QUIET),
        "forest": ChowLiuForest(),
        "grafting": EdgeGrafting(**QUIET),
    }
    for name, learner in inner.items():
        yield (
            f"bootstrap {name}",
            lambda learner=learner: BootstrapStructure(learner, n_resamples=8, **QUIET).fit(dependent_frame(5)),
        )


def query_cases():
    """Yield answers of networks: marginals, partition functions, divergences, scores by a prior network."""
    from pgmx import inference, metrics
    from pgmx.datasets import load_network, preferential_attachment_network, sample
    from pgmx.estimators import HillClimbSearch
    from pgmx.scores import BDe

    network = preferential_attachment_network(12, 3, random_state=2)
    first = next(iter(network.nodes()))
    evidence = {first: network.states[first][0]}
    for method in ("exact", "loopy"):
        answer = network.marginals(evidence, method=method)
        yield (
            f"marginals {method}",
            lambda a=answer: {str(k): digest(np.array(list(v.values()))) for k, v in sorted(dict(a).items())},
        )
    yield "log partition", lambda: {"": as_text(network.log_partition())}
    yield "map", lambda: {"": str(inference.map_assignment(network, evidence))}
    for name in ("asia", "alarm"):
        true = load_network(name)
        rows = sample(true, 300, random_state=1)
        learned = HillClimbSearch(return_type="dag", state_names=true.states, **QUIET).fit(rows)
        yield f"divergence {name}", lambda t=true, le=learned: {"": str(metrics.kl_divergence(le.model_, t))}
    true = load_network("asia")
    rows = sample(true, 300, random_state=1)
    prior = HillClimbSearch(return_type="dag", state_names=true.states, scoring_method="aic", **QUIET).fit(rows).model_
    for cpd in prior.cpds:
        cpd.values = 0.9 * cpd.values + 0.1 / cpd.values.shape[0]
    score = BDe(rows, prior_network=prior, equivalent_sample_size=5, state_names=true.states)
    yield "bde", lambda: record_of(HillClimbSearch(scoring_method=score, **QUIET).fit(rows))


def all_records():
    """Return the records of all cases by name."""
    records = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, learn in cases():
            try:
                records[name] = record_of(learn())
            except (TypeError, ValueError, AttributeError) as error:
                records[name] = {"error": f"{type(error).__name__}: {error}"}
        for name, answer in query_cases():
            records[name] = answer()
    return records


def main(action, path):
    """Write a record, or compare with one; return the number of differences."""
    records = all_records()
    if action == "write":
        Path(path).write_text(json.dumps(records, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(records)} records")
        return 0
    before = json.loads(Path(path).read_text(encoding="utf-8"))
    differences = 0
    for name in sorted(before.keys() | records.keys()):
        old, new = before.get(name, {}), records.get(name, {})
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                differences += 1
                print(f"{name}: {key}: {str(old.get(key))[:160]} -> {str(new.get(key))[:160]}")
    print(f"{len(records)} records, {differences} differences")
    return differences


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
