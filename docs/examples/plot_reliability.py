"""
Are probabilities of edges right?
=================================

Draw networks from the prior, rows from each network, and count how often edges of each stated probability are true.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pgmx.estimators import BootstrapStructure, HillClimbSearch, StructurePosterior

NAMES = list("abcdef")
rng = np.random.default_rng(0)


def draw_rows(dag, n_rows):
    """Draw a table for each variable from the prior of BDeu (10 equivalent rows), then rows."""
    columns, left = {}, list(NAMES)
    while left:
        name = next(name for name in left if not set(dag.predecessors(name)) & set(left))
        left.remove(name)
        parents = [columns[parent] for parent in dag.predecessors(name)]
        shape = (2,) * len(parents)
        shares = rng.beta(*[10 / 2 ** (len(parents) + 1)] * 2, size=shape)
        columns[name] = (rng.random(n_rows) < shares[tuple(parents)]).astype(int)
    return pd.DataFrame(columns)[NAMES]


# rows without information: the posterior is the prior
prior = StructurePosterior(random_state=0).fit(pd.DataFrame(0, index=range(2), columns=NAMES))
states = {name: [0, 1] for name in NAMES}
stated, true = {"posterior": [], "bootstrap": []}, []
for dag in prior.sample_dags(80):
    frame = draw_rows(dag, 150)
    posterior = StructurePosterior(state_names=states, random_state=0).fit(frame)
    search = HillClimbSearch(scoring_method="bdeu", state_names=states)
    bootstrap = BootstrapStructure(search, n_resamples=30, random_state=0).fit(frame)
    for name, learner in (("posterior", posterior), ("bootstrap", bootstrap)):
        arcs = learner.edge_probability_ * learner.direction_probability_.fillna(0)
        stated[name] += [arcs.loc[u, v] for u in NAMES for v in NAMES if u != v]
    true += [dag.has_edge(u, v) for u in NAMES for v in NAMES if u != v]

figure = Figure(figsize=(4.8, 4.4))
axes = figure.subplots()
axes.plot([0, 1], [0, 1], color="#9aa5b1", linewidth=1)
for name, shares in stated.items():
    table = pd.DataFrame({"stated": shares, "true": true})
    means = table.groupby(np.minimum((table["stated"] * 10).astype(int), 9)).mean()
    axes.plot(means["stated"], means["true"], marker="o", label=name)
    print(f"{name}: mean squared error {np.square(table['stated'] - table['true']).mean():.3f}")
axes.set(xlabel="stated probability of an arc", ylabel="share of these arcs in the true graphs")
axes.legend(frameon=False)
