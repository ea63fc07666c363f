"""Cases of the learners of Markov networks."""

from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.containers import draw_container, put_into
from tests.fuzz.frames import draw_table, punch_holes, spoil, spoil_weights
from tests.fuzz.knowledge import draw_contradictory_pairs, draw_pairs
from tests.fuzz.options import MARKOVS, draw_options, spoil_option
from tests.fuzz.oracles import check_pseudolikelihood, rows_in_use
from tests.fuzz.search_cases import draw_plant, draw_weights, make_learner


def draw_markov_case(name: str, rng: np.random.Generator) -> Case:
    """Return a case of a learner of Markov networks."""
    plant, table = draw_plant(rng), draw_table(rng)
    options = draw_options(rng, MARKOVS[name], fixed=("missing", "checkpoint", "required_edges", "forbidden_edges"))
    required: set = set()
    forbidden: set = set()
    weights, faults = None, []
    n = len(table.names)
    if plant == "table":
        table = spoil(rng, table)
        faults = table.faults
    elif plant == "option":
        wrong, faults = spoil_option(rng, MARKOVS[name])
        options |= wrong
        if "tol" in wrong:
            options.pop("loss", None)
    elif plant == "knowledge":
        wrong, faults = draw_contradictory_pairs(rng, table.names)
        options |= wrong
    elif plant == "weights":
        weights, faults = spoil_weights(rng, table.n_rows)
    else:
        pairs, required, forbidden = draw_pairs(rng, table.names)
        options |= pairs
        if chance(rng, 0.3):
            weights = draw_weights(rng, table.n_rows)
        elif chance(rng, 0.3) and table.n_rows >= 40:
            punch_holes(rng, table)
            options["missing"] = pick(rng, ["drop", "category"])
        if chance(rng, 0.15):
            options["checkpoint"] = "file"
        if "max_edges" in options and options["max_edges"] is not None and len(required) > options["max_edges"]:
            faults = [fault("max_edges")]
    container = "pandas" if plant == "table" else draw_container(rng, table.frame)
    if container in ("coded", "plane file") and options.get("state_names") is not None:
        container = "pandas"

    def call(folder: Path) -> Any:
        data = table.data if container == "pandas" else put_into(container, table.frame, folder)
        return make_learner(name, options, folder).fit(data, **({} if weights is None else {"sample_weight": weights}))

    def check(learner: Any) -> None:
        edges = {(int(i), int(j)) for i, j in learner.edges_}
        assert all(0 <= i < j < n for i, j in edges), edges
        assert required <= edges and not forbidden & edges, (required, forbidden, edges)
        most = options.get("max_edges")
        assert most is None or name in ("FeatureGrafting", "GraftingLight") or len(edges) <= max(most, len(required))
        assert list(learner.variables_) == table.names
        named = {frozenset((table.names[i], table.names[j])) for i, j in edges}
        assert {frozenset(edge) for edge in learner.graph_.edges()} == named
        assert np.isfinite(learner.objective_) and learner.lam_ >= 0
        plain = not options.get("refit") and not options.get("penalize_nodes") and not options.get("edge_weights")
        if (
            plain
            and options.get("loss", "pseudolikelihood") == "pseudolikelihood"
            and name not in ("FeatureGrafting", "GraftingLight")
        ):
            codes, cards, kept = rows_in_use(table, options.get("missing", "error"), weights)
            factors = dict.fromkeys(required, 0.0) | dict.fromkeys(forbidden, inf)
            check_pseudolikelihood(learner, codes, cards, options.get("l2", 0.001), kept, factors)

    plan = f"{name}, {container}, planted: {plant or 'nothing'}, {options}, {table.plan}, weights {weights is not None}"
    return Case("", call, check, faults, plan=plan)


for _name in MARKOVS:
    entry(f"estimators.{_name}", 1.5)(partial(draw_markov_case, _name))
