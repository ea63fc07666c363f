"""Dynamic Bayesian networks: recovery next to pybnesian and pgmpy, speed, memory, and forecasts.

``python tests/benchmarks/dynamic.py recovery|alarm|speed|memory|kinds|forecasts`` prints one table each. ``recovery``
runs the peers if they can be imported. DYNAMIC.md holds the figures.
"""

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path
from time import process_time

import networkx as nx
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


#: Series and rows of each: from few rows, with which learners differ, to many.
SIZES = ((5, 20), (10, 20), (50, 20), (1, 500), (1, 2000))
N_SEEDS = 5


def recovery():
    """Random networks of 20 variables of 3 states, two parents in the previous row: SHD over the seeds."""
    print("| data | learner | CPU s | SHD: mean | of each seed |\n| --- | --- | ---: | ---: | --- |")
    for n_series, n_times in SIZES:
        results: dict = {}
        for seed in range(N_SEEDS):
            rng = np.random.default_rng(seed)
            network = Network(rng, 20, 3, 2, 1)
            panel = pd.concat([network.draw(rng, n_times).assign(id=k) for k in range(n_series)], ignore_index=True)
            learners = []
            for score in ("bic", "bdeu"):
                learner = DynamicBayesianNetworkSearch(groups="id", scoring_method=score, show_progress=False)
                learners.append((f"pgmx, {score}", lambda learner=learner, panel=panel: learner.fit(panel)))
            for name, learn in [*learners, *list_peers(panel)]:
                seconds, found = timed(learn)
                edges = found if isinstance(found, set) else set(found.graph_.edges())
                results.setdefault(name, []).append((seconds, len(edges ^ network.edges)))
        for name, runs in results.items():
            seconds, distances = zip(*runs, strict=True)
            print(
                f"| {n_series} x {n_times} | {name} | {np.median(seconds):.3f} | {np.mean(distances):.1f} | "
                f"{', '.join(map(str, distances))} |",
                flush=True,
            )


def draw_alarm(rng, network, order):
    """Return 200 series of 10 rows of alarm in which each variable keeps its last value with probability 1/2."""
    codes = {name: v for v, name in enumerate(order)}
    tables = [network.get_cpds(name) for name in order]
    columns = [[codes[p] for p in table.variables[1:]] for table in tables]
    rows = np.zeros((200, 10, len(order)), dtype=int)
    for t in range(10):
        for v, table in enumerate(tables):
            shares = table.values[(slice(None), *(rows[:, t, p] for p in columns[v]))].reshape(len(table.values), -1)
            drawn = (rng.random(200) > shares.cumsum(axis=0)).sum(axis=0).clip(max=len(shares) - 1)
            keeps = (rng.random(200) < 0.5) & (t > 0)
            rows[:, t, v] = np.where(keeps, rows[:, t - 1, v], drawn)
    return pd.DataFrame(rows.reshape(-1, len(order)), columns=order).assign(id=np.repeat(range(200), 10))


def alarm():
    """Alarm within each row, and an edge from each variable to itself, one row later: means over the seeds."""
    network = load_network("alarm")
    order = list(nx.topological_sort(network))
    present = {frozenset(edge) for edge in network.edges()}
    print("| strategy | CPU s | own past found | pairs of a row: precision | recall | SHD of pairs | other lagged |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for strategy in ("greedy", "thorough"):
        runs = []
        for seed in range(N_SEEDS):
            panel = draw_alarm(np.random.default_rng(seed), network, order)
            options = {"groups": "id", "instantaneous": True, "show_progress": False}
            learner = DynamicBayesianNetworkSearch(strategy=strategy, **options)
            seconds, fitted = timed(lambda learner=learner, panel=panel: learner.fit(panel))
            own = sum(u[0] == v[0] for u, v in fitted.graph_.lagged_edges)
            pairs = {frozenset((u[0], v[0])) for u, v in fitted.graph_.instantaneous_edges}
            hits = len(pairs & present)
            others = len(fitted.graph_.lagged_edges) - own
            runs.append((seconds, own, hits / len(pairs), hits / len(present), len(pairs ^ present), others))
        seconds, own, precision, recall, distance, others = np.mean(runs, axis=0)
        print(
            f"| {strategy} | {seconds:.2f} | {own:.1f} of {len(order)} | {precision:.3f} | {recall:.3f} | "
            f"{distance:.1f} | {others:.1f} |"
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
    """Bytes of the coded rows by number of lags, next to the coded table without lags."""
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (1_000_000, 20), dtype=np.int8))
    for lags in (1, 5, 10):
        learner = DynamicBayesianNetworkSearch(lags=lags, max_indegree=2, show_progress=False).fit(frame)
        views = learner._scoring.get().table.view_columns()
        print(f"{lags} lags: {(views['codes'].nbytes + views['planes'].nbytes) / 1e6:.1f} MB")
    table = encode(frame)
    print(f"coded table: {(table.codes.nbytes + table.planes.nbytes) / 1e6:.1f} MB")


#: Kinds of tables, and the options of both learners.
KINDS = {
    "discrete": {},
    "discrete, missing='pairwise'": {"missing": "pairwise"},
    "discrete, real weights": {},
    "continuous": {},
    "continuous, real weights": {},
    "mixed": {"scoring_method": "bic-clg"},
}
N_ROWS, N_COLUMNS, N_LAGS = 100_000, 20, 5


def make_table(kind):
    """Return a table of one kind in which columns follow others one to five rows later, and weights or None."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (N_ROWS, N_COLUMNS))
    for v in range(1, N_COLUMNS):
        lag = 1 + v % N_LAGS
        rows[lag:, v] = np.where(rng.random(N_ROWS - lag) < 0.6, rows[:-lag, v - 1], rows[lag:, v])
    frame = pd.DataFrame(rows.astype(np.int8), columns=[f"v{v}" for v in range(N_COLUMNS)])
    chosen = {"continuous": N_COLUMNS, "mixed": N_COLUMNS // 2}.get(kind.split(",")[0], 0)
    if chosen:
        names = list(frame)[-chosen:]
        frame[names] = frame[names] + rng.standard_normal((N_ROWS, chosen))
        discrete = {name: frame[name].astype("category") for name in frame if name not in names}
        frame = frame.assign(**discrete)
    if "pairwise" in kind:
        frame = frame.astype("Int8").mask(rng.random(frame.shape) < 0.05)
    return frame, rng.random(N_ROWS) if "weights" in kind else None


def lag_columns(frame):
    """Return the lagged frame of a table, with the dtypes and states of the whole columns."""
    columns = {}
    for lag in range(N_LAGS + 1):
        for name, column in frame.items():
            rows = column.iloc[N_LAGS - lag : N_ROWS - lag].to_numpy(dtype=float, na_value=np.nan)
            codes = np.where(np.isnan(rows), -1, rows).astype(int)
            columns[f"{name}@{lag}"] = rows if column.dtype.kind == "f" else pd.Categorical.from_codes(codes, range(3))
    return pd.DataFrame(columns)


def learn(kind, learner):
    """Print CPU seconds of one fit, the growth of the peak memory, and the number of edges; in a process of its own."""
    frame, weights = make_table(kind)
    options = {"max_indegree": 3, "show_progress": False, "return_type": "dag"} | KINDS[kind]
    # what is imported at the first call is not counted
    DynamicBayesianNetworkSearch(lags=1, **options).fit(frame[:1000])
    if learner == "dynamic":
        search, data = DynamicBayesianNetworkSearch(lags=N_LAGS, **options), frame
    else:
        data = lag_columns(frame)
        later = [name for name in data if name.endswith("@0")]
        candidates = [(u, v) for u in data if u not in later for v in later]
        search = HillClimbSearch(candidate_edges=candidates, **options)
        weights = None if weights is None else weights[N_LAGS:]
    before = read_peak(reset=True)
    seconds, fitted = timed(lambda: search.fit(data, None, weights))
    print(f"{seconds:.2f} {(read_peak() - before) / 1e3:.0f} {len(fitted.edges_)}")


def read_peak(reset=False):
    """Return the peak memory of this process in kB, after it was set to the memory in use if `reset`."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS" if reset else "VmHWM"))


def kinds():
    """CPU seconds and peak memory by the kind of table, next to `HillClimbSearch` on the ready lagged frame."""
    print("| table | learner | CPU s | peak, MB | edges |\n| --- | --- | ---: | ---: | ---: |")
    for kind in KINDS:
        for learner in ("dynamic", "lagged frame"):
            command = [sys.executable, __file__, "learn", "--kind", kind, "--learner", learner]
            # freed arrays return to the system, and one thread computes
            one = {"MALLOC_MMAP_THRESHOLD_": "65536", "OPENBLAS_NUM_THREADS": "1"}
            answer = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | one)
            seconds, peak, edges = answer.stdout.split()
            print(f"| {kind} | {learner} | {seconds} | {peak} | {edges} |", flush=True)


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
    tables = {function.__name__: function for function in (recovery, alarm, speed, memory, kinds, forecasts)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=[*tables, "learn"])
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--learner", choices=("dynamic", "lagged frame"))
    given = parser.parse_args()
    if given.table == "learn":
        learn(given.kind, given.learner)
    else:
        tables[given.table]()
