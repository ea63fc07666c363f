"""Cases of further steps: paths of penalties, rows that come later, prior networks, networks of other packages."""

from pathlib import Path
from typing import Any

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx import estimators, inference, models, plotting, scores, statistics
from pgmx.data import encode
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.count_cases import count, draw_coded
from tests.fuzz.frames import draw_numbers, draw_table
from tests.fuzz.network_cases import draw_network
from tests.fuzz.oracles import check_network, is_close, make_local_score
from tests.oracles import enumeration


def learn_path(learner: str, X: Any, **options: Any) -> Any:
    """Return a path of estimates."""
    return getattr(estimators, learner)(show_progress=False).path(X, **options)


LEARNERS = ("GraphicalLasso", "CLIME", "NeighborhoodLasso")


def check_path(result: Any, arguments: Arguments) -> None:
    """Penalties fall."""
    assert (np.diff(result.lams) < 0).all() and np.isfinite(result.lams).all()


enter_calls(
    "estimators.path",
    learn_path,
    lambda rng: {"learner": pick(rng, LEARNERS), "X": draw_numbers(rng), "n_lams": 4, "lam_min_ratio": 0.2},
    check_path,
    {"n_lams": Wrong((0, -1, "x", 2.5)), "lam_min_ratio": Wrong((-0.1, 0.0, 1.5, "x", np.nan))},
)
enter_calls(
    "estimators.path_of_lams",
    learn_path,
    lambda rng: {"learner": pick(rng, LEARNERS), "X": draw_numbers(rng), "lams": [0.5, 0.1, 0.3]},
    check_path,
    {"lams": Wrong(([], [-1.0], [np.nan], ["x"], "x"))},
)


@entry("estimators.partial_fit", 1.0)
def draw_partial_fit(rng: np.random.Generator) -> Case:
    """Return a case of a Markov network that is learned from rows in two batches."""
    table = draw_table(rng, rows=80)
    name = pick(rng, ["EdgeGrafting", "GroupLassoMarkovNetwork", "OnlineEdgeGrafting"])
    states = {name: sorted_states(table.frame.iloc[:, v]) for v, name in enumerate(table.names)}
    kind = pick(rng, ["", "", "columns", "order", "after fit"])
    faults = {"columns": [fault("features")], "order": [fault("columns")], "after fit": [fault("partial_fit")]}.get(
        kind, []
    )
    if kind == "order" and len(table.names) == 1:
        faults, kind = [], ""

    def call(folder: Path) -> Any:
        options = {"lam": 0.05, "show_progress": False, "state_names": states}
        learner = getattr(estimators, name)(**options)
        first, rest = table.frame[:40], table.frame[40:]
        if kind == "after fit":
            return learner.fit(table.frame).partial_fit(rest)
        learner.partial_fit(first)
        if kind == "columns":
            rest = rest.assign(another=1)
        learner.partial_fit(rest[table.names[::-1]] if kind == "order" else rest)
        return learner, getattr(estimators, name)(**options).fit(table.frame)

    def check(result: Any) -> None:
        parts, whole = result
        assert is_close(parts.objective_, whole.objective_, rtol=0, atol=2e-3), (parts.objective_, whole.objective_)

    return Case("", call, check, faults, plan=f"{name} {kind} {table.plan}")


def sorted_states(column: Any) -> list:
    """Return the states of a column as pgmx orders them."""
    return list(column.cat.categories) if column.dtype == "category" else sorted(set(column.tolist()))


def make_uniform(table: Any) -> DiscreteBayesianNetwork:
    """Return the network in which all states of all variables are equally likely."""
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(table.columns)
    for name, states in zip(table.columns, table.states, strict=True):
        values = np.full((len(states), 1), 1 / len(states))
        network.add_cpds(TabularCPD(name, len(states), values, state_names={name: list(states)}))
    return network


@entry("scores.BDe", 1.0)
def draw_bde(rng: np.random.Generator) -> Case:
    """Return a score with a uniform prior network, which is BDeu."""
    table = draw_table(rng, plain=True)
    n = len(table.names)
    kind = pick(rng, ["", "", "ess", "no network", "states"])
    child, parents = 0, [v for v in range(1, n) if chance(rng, 0.5)]
    words = {"ess": "equivalent_sample_size", "no network": "network", "states": repr(table.names[0])}
    faults = [fault(words[kind])] if kind else []

    def call(folder: Path) -> Any:
        coded = encode(table.frame)
        network: Any = 3 if kind == "no network" else make_uniform(coded)
        if kind == "states":
            values = np.full((9, 1), 1 / 9)
            network.remove_cpds(network.get_cpds(table.names[0]))
            network.add_cpds(TabularCPD(table.names[0], 9, values, state_names={table.names[0]: list("abcdefghi")}))
        score = scores.BDe(table.frame, network, equivalent_sample_size=-1.0 if kind == "ess" else 10)
        return score.local_score(table.names[child], tuple(table.names[p] for p in parents))

    def check(result: float) -> None:
        assert is_close(result, make_local_score(table, "bdeu", "error", None)(child, parents), atol=1e-6)

    return Case("", call, check, faults, plan=f"{kind} {table.plan} {parents}")


@entry("statistics.pair_counts", 1.0)
def draw_pair_counts(rng: np.random.Generator) -> Case:
    """Return counts of all pairs, which leave out the last state of each variable."""
    table = draw_coded(rng)

    def call(folder: Path) -> Any:
        return statistics.pair_counts(table)

    def check(result: Any) -> None:
        starts = np.concatenate([[0], np.cumsum(table.cardinalities - 1)])
        for i in range(table.n_variables):
            for j in range(i + 1, table.n_variables):
                block = result[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
                expected = count(table, i, j)
                assert np.array_equal(block, expected[1:, 1:]) or np.array_equal(block, expected[:-1, :-1]), block

    return Case("", call, check, plan=repr(table))


@entry("inference.exact", 2.0)
def draw_exact(rng: np.random.Generator) -> Case:
    """Return a question to a junction tree by numbers, in place of names."""
    network, cards, factors = draw_network(rng)
    n = len(cards)
    kind = pick(rng, ["", "", "", "variable", "twice", "code", "network", "seed"])
    words = {"variable": "99", "twice": "twice", "code": "99", "network": "network", "seed": "seed"}
    faults = [fault(words[kind], "variable", "more than once")] if kind else []
    source: Any = network.potentials if chance(rng, 0.5) else inference.LogFactors.from_potentials(network.potentials)

    def call(folder: Path) -> Any:
        if kind == "network":
            return inference.ExactInference(3)
        if kind == "code":
            return inference.ExactInference(source, evidence={0: 99})
        tree = inference.ExactInference(source)
        if kind == "seed":
            return tree.sample(3, pick(np.random.default_rng(0), ["x", -1]))
        if kind in ("variable", "twice"):
            return tree.joint([99] if kind == "variable" else [0, 0])
        return tree, inference.elimination_plan(source)

    def check(result: Any) -> None:
        tree, plan = result
        assert is_close(tree.log_partition, enumeration.log_partition(cards, factors))
        expected = enumeration.marginals(cards, factors)
        assert all(is_close(tree.marginal(v), expected[v]) for v in range(n))
        assert sorted(plan.order) == list(range(n))

    return Case("", call, check, faults, plan=f"{kind} {cards}")


@entry("models.pgmpy", 2.0)
def draw_foreign(rng: np.random.Generator) -> Case:
    """Return a case of networks that pgmpy's classes hold, read or made."""
    network, cards, factors = draw_network(rng, plain=True)
    table = draw_numbers(rng)
    kind = pick(rng, ["read", "tree", "linear", "picture", "no network"])
    faults = [fault("network", "int")] if kind == "no network" else []

    def call(folder: Path) -> Any:
        if kind == "no network":
            return inference.read_network(3)
        if kind == "linear":
            names = list(table.columns)
            return models.fit_linear_gaussian(statistics.moments(table.to_numpy()), names, [(0, 1)])
        if kind == "picture":
            return plotting.plot_graph(network)
        return models.junction_tree(network) if kind == "tree" else inference.read_network(network)

    def check(result: Any) -> None:
        if kind == "linear":
            check_network(result)
        elif kind == "read":
            assert result.names == network.names
            expected = enumeration.marginals(cards, factors)  # factors are scaled
            answers = inference.marginals(result.factors)
            assert all(is_close(answers.array(v), expected[v]) for v in range(len(cards)))
        elif kind == "tree":
            assert result.check_model()

    return Case("", call, check, faults, plan=f"{kind} {cards}")
