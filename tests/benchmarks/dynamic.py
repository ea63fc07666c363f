"""Dynamic Bayesian networks: recovery next to pybnesian and pgmpy, speed, memory, and forecasts.

``python tests/benchmarks/dynamic.py recovery|alarm|speed|memory|forecasts`` prints one table each. ``recovery`` runs
the peers if they can be imported. DYNAMIC.md holds the figures.
"""

import argparse
import resource
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from oracles.lagged_frames import lag_frame
from pgmx.data import encode
from pgmx.datasets import load_network
from pgmx.estimators import DynamicBayesianNetworkSearch, HillClimbSearch

warnings.filterwarnings("ignore")


class Network:
    """A random network of n variables with parents (variable, lag), and its series."""

    def __init__(self, rng, n, n_states, n_parents, lags):
        self.n, self.n_states, self.lags = n, n_states, lags
        self.parents = [
            [(int(p), int(rng.integers(1, lags + 1))) for p in rng.choice(n, n_parents, replace=False)]
            for _ in range(n)
        ]
        shape = (n_states,) * n_parents
        self.tables = [rng.dirichlet(np.full(n_states, 0.5), shape).cumsum(-1) for _ in range(n)]

    def draw(self, rng, n_times):
        """Return a series after 100 rows that are left out."""
        rows = rng.integers(0, self.n_states, (n_times + 100, self.n))
        for t in range(self.lags, len(rows)):
            noise = rng.random(self.n)
            for v in range(self.n):
                cumulative = self.tables[v][tuple(rows[t - lag, p] for p, lag in self.parents[v])]
                rows[t, v] = min(int((noise[v] > cumulative).sum()), self.n_states - 1)
        return pd.DataFrame(rows[100:], columns=[f"v{v}" for v in range(self.n)])

    @property
    def edges(self):
        """Edges ((source, lag), (target, 0))."""
        return {((f"v{p}", lag), (f"v{v}", 0)) for v, of_v in enumerate(self.parents) for p, lag in of_v}


def timed(function):
    """Return CPU seconds and the result."""
    began = process_time()
    result = function()
    return process_time() - began, result


def describe(name, seconds, found, truth):
    """Print a row of precision and recall."""
    hits = len(found & truth)
    print(f"| {name} | {seconds:.3f} | {hits / max(len(found), 1):.3f} | {hits / len(truth):.3f} |", flush=True)


def list_peers(panel):
    """Yield the names of peers, and functions that return the edges that they learn on a lagged frame of lag 1."""
    columns = lag_frame(panel, 1, "id")
    names = [name for name in panel if name != "id"]
    frame = pd.DataFrame({f"{name}@{lag}": column.astype(int).astype(str) for (name, lag), column in columns.items()})
    frame = frame.reset_index(drop=True)
    later, earlier = [f"{name}@0" for name in names], [f"{name}@1" for name in names]

    def read(edges):
        return {((u[:-2], int(u[-1])), (v[:-2], 0)) for u, v in edges}

    try:
        import pybnesian

        # the learner of series, hill climbing over a dynamic network, has no panels; this is its transition search
        categories = frame.astype("category")
        forbidden = [(u, v) for u in later for v in frame if u != v] + [
            (u, v) for u in earlier for v in earlier if u != v
        ]

        def climb():
            network = pybnesian.GreedyHillClimbing().estimate(
                pybnesian.ArcOperatorSet(),
                pybnesian.BIC(categories),
                pybnesian.DiscreteBN(list(frame)),
                arc_blacklist=forbidden,
            )
            return read(network.arcs())

        yield "pybnesian, lagged frame", climb
    except ImportError:
        pass

    def estimate():
        from pgmpy.causal_discovery import ExpertKnowledge
        from pgmpy.causal_discovery import HillClimbSearch as Peer

        candidates = [(u, v) for u in earlier for v in later]
        knowledge = ExpertKnowledge(search_space=candidates)
        peer = Peer(scoring_method="bic-d", expert_knowledge=knowledge, return_type="dag", show_progress=False)
        return read(peer.fit(frame).causal_graph_.edges())

    yield "pgmpy, lagged frame", estimate


def recovery():
    """Random networks of 20 variables of 3 states, two parents in the previous row."""
    print("| data | CPU s | precision | recall |\n| --- | ---: | ---: | ---: |")
    for label, n_series, n_times in (("50 series of 20 rows", 50, 20), ("one series of 2,000 rows", 1, 2000)):
        rng = np.random.default_rng(0)
        network = Network(rng, 20, 3, 2, 1)
        panel = pd.concat([network.draw(rng, n_times).assign(id=k) for k in range(n_series)], ignore_index=True)
        for score in ("bic", "bdeu"):
            learner = DynamicBayesianNetworkSearch(groups="id", scoring_method=score)
            seconds, fitted = timed(lambda learner=learner, panel=panel: learner.fit(panel))
            describe(f"{label}: pgmx, {score}", seconds, set(fitted.graph_.edges()), network.edges)
        for name, learn in list_peers(panel):
            seconds, found = timed(learn)
            describe(f"{label}: {name}", seconds, found, network.edges)


def alarm():
    """Alarm within each row, and an edge from each variable to itself, one row later: 200 series of 10 rows."""
    rng = np.random.default_rng(0)
    static = load_network("alarm")
    order = list(static.nodes())
    tables = {name: static.get_cpds(name) for name in order}
    import networkx as nx

    order = list(nx.topological_sort(static))
    codes = {name: v for v, name in enumerate(order)}
    series = []
    for key in range(200):
        rows = np.zeros((10, len(order)), dtype=int)
        for t in range(10):
            for v, name in enumerate(order):
                if t and rng.random() < 0.5:  # keeps its value with probability one half
                    rows[t, v] = rows[t - 1, v]
                    continue
                parents = tables[name].variables[1:]
                column = tables[name].values[(slice(None), *(rows[t, codes[p]] for p in parents))]
                rows[t, v] = rng.choice(len(column), p=column / column.sum())
        series.append(pd.DataFrame(rows, columns=order).assign(id=key))
    panel = pd.concat(series, ignore_index=True)
    present = {frozenset(edge) for edge in static.edges()}
    print("| strategy | CPU s | own past found | pairs of a row: precision | recall | other lagged edges |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for strategy in ("greedy", "thorough"):
        learner = DynamicBayesianNetworkSearch(groups="id", instantaneous=True, strategy=strategy, show_progress=False)
        seconds, fitted = timed(lambda learner=learner: learner.fit(panel))
        own = sum(u[0] == v[0] for u, v in fitted.graph_.lagged_edges)
        pairs = {frozenset((u[0], v[0])) for u, v in fitted.graph_.instantaneous_edges}
        hits = len(pairs & present)
        others = len(fitted.graph_.lagged_edges) - own
        print(
            f"| {strategy} | {seconds:.2f} | {own} of {len(order)} | {hits / len(pairs):.3f} | "
            f"{hits / len(present):.3f} | {others} |"
        )


def make_wide(n_rows=10_000):
    """Return a series of 100 variables of 3 states with parents at up to 5 lags, and its edges."""
    rng = np.random.default_rng(0)
    network = Network(rng, 100, 3, 2, 5)
    return network.draw(rng, n_rows), network.edges


def speed():
    """Greedy search from the frame, next to `HillClimbSearch` on the ready lagged frame."""
    frame, truth = make_wide()
    lagged = {f"{name}@{lag}": c.astype(int).to_numpy() for (name, lag), c in lag_frame(frame, 5).items()}
    lagged = pd.DataFrame(lagged).astype(pd.CategoricalDtype(range(3)))
    later = [name for name in lagged if name.endswith("@0")]
    candidates = [(u, v) for u in lagged if u not in later for v in later]
    for _ in range(3):
        ours, fitted = timed(lambda: DynamicBayesianNetworkSearch(lags=5, show_progress=False).fit(frame))
        search = HillClimbSearch(candidate_edges=candidates, show_progress=False, return_type="dag")
        theirs, found = timed(lambda search=search: search.fit(lagged))
        hits = len(set(fitted.graph_.edges()) & truth)
        same = np.array_equal(found.edges_, fitted.edges_)
        print(f"dynamic {ours:.3f} s, lagged frame {theirs:.3f} s, {hits} of {len(truth)} edges, same graph: {same}")


def memory():
    """Bytes of the rows by number of lags, next to the coded table without lags; growth of the peak, 1e6 rows."""
    n_rows = 1_000_000
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (n_rows, 20), dtype=np.int8))
    for lags in (1, 5, 10):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        learner = DynamicBayesianNetworkSearch(lags=lags, max_indegree=2, show_progress=False).fit(frame)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        views = learner._scoring.get().table.view_columns()
        print(
            f"{lags} lags: {(views['codes'].nbytes + views['planes'].nbytes) / 1e6:.1f} MB, peak + {after - before} kB"
        )
    table = encode(frame)
    print(f"coded table: {(table.codes.nbytes + table.planes.nbytes) / 1e6:.1f} MB")


def forecasts():
    """One-step forecasts of held-out series: Brier scores, and the reliability of the probabilities."""
    rng = np.random.default_rng(0)
    network = Network(rng, 20, 3, 2, 1)
    panel = pd.concat([network.draw(rng, 20).assign(id=k) for k in range(100)], ignore_index=True)
    train, test = panel[panel["id"] < 50], panel[panel["id"] >= 50].reset_index(drop=True)
    model = DynamicBayesianNetworkSearch(groups="id", equivalent_sample_size=1.0).fit(train).model_
    answer = model.predict_proba(test)
    rows = test.index[test.groupby("id").cumcount() > 0]
    sums, pairs = {"network": 0.0, "marginals": 0.0, "persistence": 0.0}, []
    for name in [f"v{v}" for v in range(20)]:
        states = sorted(train[name].unique())
        truth = (test.loc[rows, name].to_numpy()[:, None] == states).astype(float)
        given = answer.loc[rows, [(name, state) for state in states]].to_numpy()
        shares = train[name].value_counts(normalize=True)[states].to_numpy()
        last = test[name].shift(1)[rows].to_numpy()[:, None] == states
        for label, values in (("network", given), ("marginals", shares), ("persistence", last)):
            sums[label] += float(((values - truth) ** 2).sum(axis=1).mean()) / 20
        pairs.append((given.ravel(), truth.ravel()))
    print(" ".join(f"{label} {value:.4f}" for label, value in sums.items()))
    probability, occurred = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    bins = np.minimum((probability * 10).astype(int), 9)
    for k in range(10):
        chosen = bins == k
        means = f"{probability[chosen].mean():.3f} | {occurred[chosen].mean():.3f}"
        print(f"| {k / 10:.1f} to {k / 10 + 0.1:.1f} | {chosen.sum()} | {means} |")


if __name__ == "__main__":
    tables = {function.__name__: function for function in (recovery, alarm, speed, memory, forecasts)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=tables)
    tables[parser.parse_args().table]()
