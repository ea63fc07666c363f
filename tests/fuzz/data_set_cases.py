"""Cases of pgmx.datasets, and of models written to files and read."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from pgmx import datasets, models
from tests.fuzz.calls import Arguments, InFolder, Wrong, enter_calls
from tests.fuzz.cases import Case, entry, fault, pick
from tests.fuzz.frames import draw_table
from tests.fuzz.network_cases import draw_network
from tests.fuzz.oracles import check_network, is_close

NATURAL = Wrong((-1, 1.5, "x", None))
SEED = Wrong((-1, 1.5, "x"))
SCALE = Wrong((-1.0, np.nan, "x", None, np.inf))
MARKOV = {"random_state": SEED, "n_states": NATURAL, "node_scale": SCALE, "edge_scale": SCALE}


def check_connected(result: Any, arguments: Arguments) -> None:
    """The network has the variables asked for, and no NaN."""
    n = arguments.get("n_variables") or arguments["n_rows"] * arguments["n_columns"]
    assert len(result.nodes()) == n
    values = result.potentials.node_values if hasattr(result, "potentials") else result.precision.to_numpy()
    assert np.isfinite(values).all()


for _name in ("chain_network", "tree_network", "preferential_attachment_network"):
    enter_calls(
        f"datasets.{_name}",
        getattr(datasets, _name),
        lambda rng: {"n_variables": int(rng.integers(3, 12)), "n_states": int(rng.integers(2, 5)), "random_state": 3},
        check_connected,
        {**MARKOV, "n_variables": NATURAL},
        0.5,
    )
enter_calls(
    "datasets.grid_network",
    datasets.grid_network,
    lambda rng: {"n_rows": int(rng.integers(1, 5)), "n_columns": int(rng.integers(1, 5))},
    check_connected,
    {**MARKOV, "n_rows": NATURAL, "n_columns": NATURAL},
    0.5,
)
WEIGHTS = Wrong(((0.5, 0.3), (0, 0.5), (-1, 1), "x", (0.1,), 3, (np.nan, 1)))
for _name, _more in (
    ("gaussian_chain_network", {"correlation": Wrong((1.0, -1.0, np.nan, "x", None))}),
    ("gaussian_hub_network", {"hub_size": NATURAL, "weights": WEIGHTS, "random_state": SEED}),
    ("gaussian_random_network", {"mean_degree": SCALE, "weights": WEIGHTS, "random_state": SEED}),
    ("gaussian_preferential_attachment_network", {"edges_per_node": NATURAL, "weights": WEIGHTS, "random_state": SEED}),
):
    enter_calls(
        f"datasets.{_name}",
        getattr(datasets, _name),
        lambda rng: {"n_variables": int(rng.integers(3, 12))},
        check_connected,
        {**_more, "n_variables": NATURAL},
        0.5,
    )
enter_calls(
    "datasets.sample_markov_network",
    datasets.sample_markov_network,
    lambda rng: {"network": draw_network(rng)[0], "n_rows": 5, "burn_in": 3},
    lambda result, arguments: np.testing.assert_equal(result.n_rows, 5),
    {
        "n_rows": NATURAL,
        "burn_in": NATURAL,
        "thinning": Wrong((0, *NATURAL.values)),
        "n_chains": Wrong((0, -1, "x")),
        "random_state": SEED,
        "network": Wrong((3, "x", nx.path_graph(3))),
    },
)
enter_calls(
    "datasets.reservoir_ranks",
    datasets.reservoir_ranks,
    lambda rng: {"n_items": 50, "sizes": [1, 5, 50], "n_trials": 5},
    lambda result, arguments: np.testing.assert_array_less(0, result.mean),
    {
        "n_items": NATURAL,
        "sizes": Wrong(([], [0], [99], ["x"], 3)),
        "n_trials": Wrong((0, -1, "x")),
        "random_state": SEED,
    },
    0.5,
)
enter_calls(
    "datasets.load_network",
    datasets.load_network,
    lambda rng: {"name": pick(rng, ["asia", "cancer", "earthquake", "survey"])},
    lambda result, arguments: check_network(result),
    {"name": Wrong(("nope", "", 3, None), ("nope", "network"))},
    0.1,
)
enter_calls(
    "datasets.sample_network",
    datasets.sample_network,
    lambda rng: {"name": pick(rng, ["asia", "cancer", "earthquake", "survey"]), "n_rows": 5},
    lambda result, arguments: np.testing.assert_equal(len(result), arguments["n_rows"]),
    {"name": Wrong(("nope", "", 3, None), ("nope", "network")), "n_rows": Wrong((-1, "x")), "random_state": SEED},
    0.1,
)
enter_calls(
    "datasets.load_example",
    datasets.load_example,
    lambda rng: {"name": pick(rng, ["iris", "crime", "sea_temperature"])},
    lambda result, arguments: np.testing.assert_equal(result.shape, datasets.list_examples()[arguments["name"]][1:3]),
    {"name": Wrong(("nope", "", 3, None), ("nope", "example"))},
    0.1,
)

# ---- files ----

FORMATS = {
    "markov": (".npz", ".json", ".uai", ".graphml"),
    "gaussian": (".npz", ".json", ".graphml"),
    "discrete": (".bif", ".xmlbif", ".json"),
}


def round_trip(model: Any, path: Path, kind: str) -> Any:
    """Return a model written and read."""
    save = {"markov": models.save_markov_network, "gaussian": models.save_gaussian_network}.get(kind, models.save_model)
    save(model, path)
    load = {"markov": models.load_markov_network, "gaussian": models.load_gaussian_network}.get(kind, models.read_model)
    return load(path)


def draw_file(rng: np.random.Generator) -> Arguments:
    """Return a model and a path."""
    kind = pick(rng, FORMATS)
    path = InFolder(f"model{pick(rng, FORMATS[kind])}")
    if kind == "markov":
        model: Any = draw_network(rng, plain=True)[0]
    elif kind == "gaussian":
        model = datasets.gaussian_random_network(int(rng.integers(2, 6)), random_state=int(rng.integers(100)))
    else:
        from pgmx.data import encode

        table = draw_table(rng, plain=True)
        model = models.fit_discrete(encode(table.frame), [(0, len(table.names) - 1)] if len(table.names) > 1 else [])
    return {"model": model, "path": path, "kind": kind}


@entry("models.read_evidence", 0.5)
def draw_evidence_case(rng: np.random.Generator) -> Case:
    """Return a file of evidence, sound or with one word too many, too few, or out of its range."""
    n = int(rng.integers(2, 6))
    network = datasets.chain_network(n, 3)
    observed = {int(v): int(rng.integers(3)) for v in rng.permutation(n)[: rng.integers(1, n + 1)]}
    words = [len(observed), *(number for pair in observed.items() for number in pair)]
    kind = pick(rng, ["", "", "older", "variable", "state", "text", "too few", "too many", "negative"])
    if kind == "older":
        words = [1, *words]
    elif kind in ("variable", "state"):
        words[1 if kind == "variable" else 2] = pick(rng, [n + 3, 10**30])
    elif kind in ("text", "negative"):
        words[int(rng.integers(1, len(words)))] = "x" if kind == "text" else -1
    elif kind == "too few":
        words = words[:-2]
    elif kind == "too many":
        words = [*words, 0, 0]

    def call(folder: Path) -> Any:
        path = folder / "file.evid"
        path.write_text(" ".join(map(str, words)))
        return models.read_evidence(path, network)

    def check(result: Any) -> None:
        assert result == {f"x{v}": code for v, code in observed.items()}, (result, observed)

    faults = [] if kind in ("", "older") else [fault("file.evid")]
    return Case("", call, check, faults, plan=f"{kind} {words}")


def check_same_model(result: Any, arguments: Arguments) -> None:
    """What was read is what was written."""
    model, kind = arguments["model"], arguments["kind"]
    if kind == "markov":
        answers = zip(result.marginals().values(), model.marginals().values(), strict=True)
        assert all(is_close(list(a.values()), list(b.values()), atol=1e-7) for a, b in answers)
    elif kind == "gaussian":
        assert is_close(result.precision.to_numpy(), model.precision.to_numpy())
    else:
        assert {frozenset(map(str, e)) for e in result.edges()} == {frozenset(map(str, e)) for e in model.edges()}
        check_network(result)


enter_calls(
    "models.files",
    round_trip,
    draw_file,
    check_same_model,
    {
        "path": Wrong(
            (InFolder("model.txt"), InFolder("none/model.json"), InFolder("model")),
            ("model.txt", "model.json", "model", "none"),
        ),
        "model": Wrong((3, "x", None), ("model", "graph", "network")),
    },
    3.0,
)
