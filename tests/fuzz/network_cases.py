"""Cases of pgmx.inference, pgmx.models and pgmx.datasets: networks made, asked, written and read."""

from pathlib import Path
from typing import Any

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx import inference, models
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from tests.fuzz.calls import Wrong, enter_calls, ignore
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_names, draw_numbers, draw_table
from tests.fuzz.oracles import check_network, is_close
from tests.oracles import enumeration
from tests.oracles.graphs import is_acyclic

Arguments = dict[str, Any]


def draw_network(rng: np.random.Generator, *, plain: bool = False) -> tuple[PairwiseMarkovNetwork, list[int], list]:
    """Return a small pairwise network, its numbers of states, and its factors for enumeration."""
    n = int(rng.integers(1, 6))
    cards = [int(r) for r in rng.integers(1, 4, n)]
    nodes = [rng.normal(size=r) for r in cards]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if chance(rng, 0.5)]
    tables = {(i, j): rng.normal(size=(cards[i], cards[j])) * pick(rng, [0.1, 1.0, 5.0]) for i, j in pairs}
    potentials = PairwisePotentials.build(cards, nodes, tables)
    names = draw_names(rng, n, plain=plain)
    states = [[f"s{k}" for k in range(r)] if chance(rng, 0.5) else list(range(r)) for r in cards]
    network = PairwiseMarkovNetwork.from_potentials(names, states, potentials)
    return network, cards, [*(((i,), node) for i, node in enumerate(nodes)), *tables.items()]


# ---- questions ----

QUESTIONS = ("marginals", "joint", "map_assignment", "log_partition", "sample", "estimate_cost")
SPOILED = ("state", "variable", "no dict", "method", "option", "memory")


@entry("inference.queries", 6.0)
def draw_question(rng: np.random.Generator) -> Case:
    """Return a question to a network, by the functions or by its methods."""
    network, cards, factors = draw_network(rng)
    names, n = list(network.names), len(cards)
    question = pick(rng, QUESTIONS)
    codes = {v: int(rng.integers(cards[v])) for v in range(n - 1) if chance(rng, 0.3)}
    evidence: Any = {names[v]: network.states[names[v]][code] for v, code in codes.items()}
    options: Arguments = {} if question == "estimate_cost" else {"method": pick(rng, ["auto", "exact"])}
    faults = []
    plant = pick(rng, SPOILED) if chance(rng, 0.35) else ""
    if plant == "state":
        evidence, faults = {names[-1]: "no such state"}, [fault("no such state")]
    elif plant == "variable":
        evidence, faults = {"no such variable": 0}, [fault("no such variable")]
    elif plant == "no dict":
        evidence, faults = pick(rng, [3, "x", [names[0]]]), [fault("evidence")]
    elif plant == "method" and options:
        options, faults = {"method": pick(rng, ["x", None, 3])}, [fault("method")]
    elif plant == "option" and options:
        options, faults = {**options, "no_such_option": 3}, [fault("no_such_option")]
    elif plant == "memory" and options:
        options, faults = {"method": "exact", "memory": pick(rng, ["x", -1, 2.5])}, [fault("memory")]
    free = [v for v in range(n) if v not in codes]
    wanted = [v for v in free if chance(rng, 0.5)] or free[:1]

    def call(folder: Path) -> Any:
        if question == "joint":
            return inference.joint(network, [names[v] for v in wanted], evidence, **options)
        if question == "sample":
            return inference.sample(network, 20, evidence=evidence, **options)
        return getattr(inference, question)(network, evidence, **options)

    def check(result: Any) -> None:
        check_answer(question, result, network, cards, factors, codes, wanted)

    return Case(
        "", call, check, faults, plan=f"{question}, planted: {plant or 'nothing'}, {cards}, {evidence}, {options}"
    )


def draw_tables(rng: np.random.Generator) -> tuple[DiscreteBayesianNetwork, list[int], list]:
    """Return a small Bayesian network, its numbers of states, and its tables in logarithms for enumeration."""
    n = int(rng.integers(1, 6))
    cards = [int(r) for r in rng.integers(1, 4, n)]
    names = draw_names(rng, n)
    states = {name: [f"s{k}" for k in range(r)] for name, r in zip(names, cards, strict=True)}
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(names)
    factors = []
    for v in range(n):
        parents = [int(u) for u in rng.permutation(v)[: rng.integers(0, 3)]]
        table = rng.dirichlet(np.ones(cards[v]), [cards[u] for u in parents])
        table = np.moveaxis(table, -1, 0)
        network.add_edges_from((names[u], names[v]) for u in parents)
        family = {names[u]: states[names[u]] for u in (v, *parents)}
        network.add_cpds(
            TabularCPD(
                names[v],
                cards[v],
                table.reshape(cards[v], -1),
                [names[u] for u in parents] or None,
                [cards[u] for u in parents] or None,
                state_names=family,
            )
        )
        factors.append(((v, *parents), np.log(table)))
    return network, cards, factors


@entry("inference.VariableElimination", 3.0)
def draw_elimination(rng: np.random.Generator) -> Case:
    """Return a question to a Bayesian network, by pgmpy's interface or by a compiled network."""
    network, cards, factors = draw_tables(rng)
    names, n = list(network.nodes), len(cards)
    kind = pick(rng, [inference.VariableElimination, inference.BeliefPropagation, inference.CompiledNetwork])
    codes = {v: int(rng.integers(cards[v])) for v in range(n - 1) if chance(rng, 0.3)}
    evidence: Any = {names[v]: f"s{code}" for v, code in codes.items()}
    faults = []
    plant = pick(rng, ["state", "variable"]) if chance(rng, 0.3) else ""
    free = [v for v in range(n) if v not in codes]
    wanted = [v for v in free if chance(rng, 0.5)] or free[:1]
    if plant == "state" and wanted != [n - 1]:
        wanted = [v for v in wanted if v != n - 1]
        evidence, faults = {**evidence, names[-1]: "no such state"}, [fault("no such state")]
    elif plant == "variable":
        evidence, faults = {"no such variable": 0}, [fault("no such variable")]
    asked = [names[v] for v in wanted]

    def call(folder: Path) -> Any:
        if kind is inference.CompiledNetwork:
            return inference.joint(kind(network), asked, evidence)
        return kind(network).query(asked, evidence).values

    def check(result: Any) -> None:
        expected = enumeration.joint(cards, factors, tuple(wanted), codes)
        assert all(is_close(result[states], p) for states, p in expected.items())

    return Case("", call, check, faults, plan=f"{kind.__name__}, planted: {plant or 'nothing'}, {cards}, {evidence}")


def check_answer(
    question: str, result: Any, network: Any, cards: list, factors: list, codes: dict, wanted: list
) -> None:
    """Compare an answer with enumeration."""
    names = list(network.names)
    if question == "log_partition":
        assert is_close(result, enumeration.log_partition(cards, factors, codes))
    elif question == "marginals":
        expected = enumeration.marginals(cards, factors, codes)
        assert list(result) == [name for v, name in enumerate(names) if v not in codes]
        for v, name in enumerate(names):
            assert v in codes or is_close(result.array(name), expected[v])
            assert v in codes or is_close(sum(result[name].values()), 1)
    elif question == "joint":
        assert is_close(result.sum(), 1)
        expected = enumeration.joint(cards, factors, tuple(wanted), codes)
        assert all(is_close(result[states], p) for states, p in expected.items())
    elif question == "map_assignment":
        states = {
            **codes,
            **{v: network.states[names[v]].index(result[names[v]]) for v in range(len(cards)) if v not in codes},
        }
        best = max(enumeration.log_score(factors, s) for s in enumeration.configurations(cards, codes))
        assert is_close(enumeration.log_score(factors, [states[v] for v in range(len(cards))]), best)
    elif question == "sample":
        assert result.n_rows == 20 and all((result.codes[v] == code).all() for v, code in codes.items())


def draw_potentials(rng: np.random.Generator) -> Arguments:
    """Return potentials alone."""
    return {"potentials": draw_network(rng)[0].potentials}


def check_beliefs(result: Any, arguments: Arguments) -> None:
    """Beliefs sum to 1."""
    cards = arguments["potentials"].cardinalities
    beliefs = (
        np.split(result.node_beliefs, np.cumsum(cards)[:-1])
        if isinstance(result.node_beliefs, np.ndarray)
        else result.node_beliefs
    )
    assert all(is_close(belief.sum(), 1) for belief in beliefs)


enter_calls(
    "inference.loopy_belief_propagation",
    inference.loopy_belief_propagation,
    lambda rng: {**draw_potentials(rng), "damping": pick(rng, [0.0, 0.3]), "max_iter": 200},
    check_beliefs,
    {
        "damping": Wrong((-0.1, 1.0, np.nan, "x")),
        "max_iter": Wrong((0, -1, "x", 1.5)),
        "tol": Wrong((-1.0, np.nan, "x")),
        "evidence": Wrong(({99: 0}, {0: 99}, 3)),
    },
)


def check_rows(result: Any, arguments: Arguments) -> None:
    """Codes are in range."""
    rows = np.asarray(result)
    cards = arguments["model"].cardinalities
    assert rows.shape == (len(cards), arguments["n_samples"])
    assert (rows < cards[:, None]).all() and (rows >= 0).all()


enter_calls(
    "inference.gibbs_sample",
    inference.gibbs_sample,
    lambda rng: {"model": draw_network(rng)[0].potentials, "n_samples": 10, "burn_in": 5, "seed": 1},
    check_rows,
    {
        "n_samples": Wrong((-1, 1.5, "x")),
        "burn_in": Wrong((-1, "x")),
        "thinning": Wrong((0, "x")),
        "n_chains": Wrong((0, 1.5)),
        "seed": Wrong((-1, "x", 1.5)),
        "evidence": Wrong(({99: 0}, {0: 99}, 3)),
    },
)


def check_independent(result: Any, arguments: Arguments) -> None:
    """All cells are there."""
    assert result.n_edges == 0 and result.node_values.shape == (sum(arguments["cardinalities"]),)


enter_calls(
    "inference.PairwisePotentials",
    PairwisePotentials,
    lambda rng: {
        "cardinalities": [2, 3],
        "node_values": rng.normal(size=5),
        "edges": [[0, 1]],
        "edge_values": rng.normal(size=6),
    },
    ignore,
    {
        "cardinalities": Wrong(([], [0, 2], [2.5, 3], [[2, 3]], "x")),
        "node_values": Wrong(([1.0], [np.nan] * 5, [np.inf] * 5, "x", None)),
        "edges": Wrong(([[0, 9]], [[1, 0]], [[0, 0]], [[0, 1], [0, 1]], [0, 1], [[0.5, 1]]), ("edge",)),
        "edge_values": Wrong(([1.0], [np.nan] * 6, [np.inf] * 6)),
    },
)
enter_calls(
    "inference.min_fill_order",
    inference.min_fill_order,
    lambda rng: {"cardinalities": [2, 3, 2, 2], "scopes": [(0, 1), (1, 2), (2, 3)]},
    ignore,
    weight=0.3,
)

# ---- networks from data ----


@entry("models.fit_discrete", 2.0)
def draw_fit_case(rng: np.random.Generator) -> Case:
    """Return a case of a network of given edges, fitted to rows, or of its graph alone."""
    from pgmx.data import encode

    table = draw_table(rng)
    n = len(table.names)
    order = rng.permutation(n)
    edges: Any = [(int(order[i]), int(order[j])) for i in range(n) for j in range(i + 1, n) if chance(rng, 0.4)]
    kind = pick(rng, ["fit", "fit", "dag", "cpdag", "outside", "cycle", "loop", "negative"])
    faults = []
    if kind in ("outside", "loop", "negative") or (kind == "cycle" and n > 1):
        wrong = {"outside": (0, n), "loop": (0, 0), "negative": (-1, 0)}.get(kind)
        edges = [wrong] if wrong else [(0, 1), (1, 0)]
        words = {"outside": str(n), "negative": "-1"}.get(kind)
        faults = [fault(words) if words else fault("cycle", "itself", "loop")]
    function = (
        models.cpdag
        if kind == "cpdag" or chance(rng, 0.2)
        else models.to_dag
        if kind == "dag" or chance(rng, 0.4)
        else models.fit_discrete
    )
    targets = [set(np.flatnonzero(rng.random(n) < 0.3).tolist()) for _ in range(rng.integers(0, 3))]

    def call(folder: Path) -> Any:
        if function is models.cpdag:
            return function(n, edges, targets=targets)
        return function(table.names, edges) if function is models.to_dag else function(encode(table.frame), edges)

    def check(result: Any) -> None:
        if function is models.cpdag:
            directed, undirected = result
            assert {frozenset(edge) for edge in [*directed, *undirected]} == {frozenset(edge) for edge in edges}
            assert is_acyclic(directed) and set(directed) <= set(edges)
            assert all((u in target) == (v in target) for u, v in undirected for target in targets)
            return
        assert set(result.edges()) == {(table.names[i], table.names[j]) for i, j in edges}
        if function is models.fit_discrete:
            check_network(result)

    return Case("", call, check, faults, plan=f"{kind}, {function.__name__}, {edges}, {table.plan}")


@entry("models.to_linear_gaussian", 1.0)
def draw_linear_case(rng: np.random.Generator) -> Case:
    """Return a case of a linear Gaussian network fitted to a frame."""
    frame = draw_numbers(rng)
    names = list(frame.columns)
    kind = pick(rng, ["", "", "names", "edges", "text"])
    edges = [(0, 1)] if kind != "edges" else [pick(rng, [(0, 99), (0, 0)])]
    faults = {
        "names": [fault("no such column")],
        "edges": [fault("99", "cycle", "itself")],
        "text": [fault(repr(names[0]))],
    }.get(kind, [])
    data = frame.astype(str) if kind == "text" else frame

    def call(folder: Path) -> Any:
        return models.to_linear_gaussian(data, [*names, "no such column"] if kind == "names" else names, edges)

    return Case("", call, check_network, faults, plan=f"{kind} {frame.shape}")
