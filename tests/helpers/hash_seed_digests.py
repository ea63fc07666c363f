"""Script: print what must not depend on PYTHONHASHSEED as one line of JSON, learned with N_JOBS threads.

Run as ``python hash_seed_digests.py N_JOBS``, in a process per hash seed, by the fixture ``hash_seed_digests``.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from pgmpy.causal_discovery import ExpertKnowledge

from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from pgmx.data import encode
from pgmx.datasets import sample
from pgmx.estimators import HillClimbSearch
from pgmx.models import to_pdag
from pgmx.plotting import save_picture

WORDS = dependent_frame(0).replace({0: "nought", 1: "one", 2: "two"}).rename(columns=lambda name: "column " + name)


KNOWLEDGE = ExpertKnowledge(
    required_edges=[("column e", "column a"), ("column d", "column b")],
    forbidden_edges=[("column a", "column c"), ("column c", "column b"), ("column b", "column c")],
    temporal_order=[["column d", "column e"], ["column a"]],
)


def describe_climbs(n_jobs):
    """Return edges, scores and graphs of climbs with every kind of option."""
    answers = []
    for data, options in [
        (WORDS, {}),
        (WORDS, {"scoring_method": "bdeu", "patience": 20}),
        (WORDS, {"scoring_method": "k2", "expert_knowledge": KNOWLEDGE}),
        (WORDS, {"scoring_method": "bds", "max_indegree": 2}),
        (WORDS, {"scoring_method": "bdeu", "strategy": "thorough", "n_restarts": 5}),
        (WORDS, {"start_dag": "random", "max_candidates": 2, "n_restarts": 5, "expert_knowledge": KNOWLEDGE}),
        (gaussian_frame(0), {}),
        (mixed_frame(0), {"max_indegree": 1}),
    ]:
        learner = HillClimbSearch(n_jobs=n_jobs, **options).fit(data)
        scores = [score.hex() for score in (learner.score_, *learner.history_["score"].tolist())]
        answers.append([learner.edges_.tolist(), scores, list(map(str, learner.graph_.edges()))])
    return answers


def describe_network(model):
    return [[cpd.variable, cpd.variables, cpd.get_values().tolist()] for cpd in model.get_cpds()]


def describe_encoding():
    cells = np.array([["b", 3, True], ["a", "x", 7], ["c", 3, "z"], ["a", 2, False]], dtype=object)
    table = encode(cells)
    return [repr(table.states), table.codes.tolist()]


def draw_picture():
    graph = to_pdag([f"v{i}" for i in range(12)], [(i, i + 3) for i in range(9)], [(4, 5), (5, 6), (6, 7)])
    with tempfile.TemporaryDirectory() as folder:
        return save_picture(graph, Path(folder) / "graph.svg").read_text()


def main(n_jobs):
    model = HillClimbSearch(n_jobs=n_jobs).fit(WORDS).model_
    digests = {
        "climbs": describe_climbs(n_jobs),
        "network": describe_network(model),
        "encoding": describe_encoding(),
        "picture": draw_picture(),
        "rows": str(pd.util.hash_pandas_object(sample(model, 50)).sum()),
    }
    print(json.dumps(digests))


if __name__ == "__main__":
    main(int(sys.argv[1]))
