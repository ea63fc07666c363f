"""Speed of Gradraker on a growing scale-free graph, compared with a numpy loop; what codes give away of neighbours."""

import time

import networkx as nx
import numpy as np
from graph_data import list_rows, read_cora, read_email
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone

from pgmx.streaming import GradrakerClassifier, GradrakerRegressor


def grow_graph(n, n_edges, seed=0):
    """Return the rows (n, n) of nodes that join a Barabasi-Albert graph: their edges to those before them."""
    edges = np.array(nx.barabasi_albert_graph(n, n_edges, seed=seed).edges)
    rows = sparse.csr_array((np.ones(len(edges)), (edges.max(axis=1), edges.min(axis=1))), shape=(n, n))
    rows.sort_indices()
    return rows


def learn_in_numpy(rows, y, draw, n_components=50, variances=(0.3, 1.0), step=0.25, weight_step=2.0):
    """Return predictions before each row of a loop over rows in numpy; draw(column) gives new frequencies."""
    frequencies, scales = {}, 1.0 / np.sqrt(np.array(variances))[:, None]
    theta, logs = np.zeros((len(variances), 2 * n_components)), np.zeros(len(variances))
    predictions, mean, squares = np.empty(len(y)), 0.0, 0.0
    columns, values, starts = rows.indices.tolist(), rows.data, rows.indptr.tolist()
    for t in range(len(y)):
        entries, row = columns[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        for column in entries:
            if column not in frequencies:
                frequencies[column] = draw(column)
        total = np.zeros(n_components)
        if entries:
            total = (row / np.sqrt(row @ row)) @ np.array([frequencies[column] for column in entries])
        angles = scales * total
        z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) * n_components**-0.5
        outputs = (theta * z).sum(axis=1)
        shares = np.exp(logs)
        predictions[t] = mean + shares @ outputs / shares.sum()
        error = y[t] - mean
        mean += error / (t + 1.0)
        squares += error * (y[t] - mean)
        errors = outputs - (y[t] - mean)
        logs -= weight_step * errors**2 * ((t + 1.0) / squares if squares > 0.0 else 1.0)
        logs -= logs.max()
        theta -= (2.0 * step * errors)[:, None] * z
    return predictions


def check_loop(rows, y):
    """Assert that the loop computes what the learner does, with the learner's frequencies."""
    wide = GradrakerRegressor(variances=1e4)

    def draw(column):
        unit = sparse.csr_array(([1.0], ([0], [column])), shape=(1, column + 1))
        sines, cosines = np.split(wide.encode_row(unit)[0], 2)
        return np.arctan2(sines, cosines) * 100.0

    expected = GradrakerRegressor().predict_partial_fit(rows, y)
    assert np.allclose(learn_in_numpy(rows, y, draw), expected, rtol=1e-6, atol=1e-9)


def compare_speed(_):
    """Nodes per CPU second, predicted and learned as they join, of the learner and of the loop, in the same run."""
    n, rows = 100_000, {}
    rng = np.random.default_rng(0)
    y = np.sin(0.01 * np.arange(n)) + rng.normal(size=n)
    keyed = {"keyed": lambda column: np.random.default_rng((0, column)).standard_normal(50)}
    for n_edges in (3, 10):
        graph = grow_graph(n, n_edges)
        check_loop(graph[:500], y[:500])
        learners = {
            "rows": lambda graph=graph: GradrakerRegressor().predict_partial_fit(graph, y),
            "rows, chunks of 1,000": lambda graph=graph: [
                learner.predict_partial_fit(graph[i : i + 1000], y[i : i + 1000])
                for learner in [GradrakerRegressor()]
                for i in range(0, n, 1000)
            ],
            "10 classes": lambda graph=graph: GradrakerClassifier().predict_partial_fit(
                graph, np.arange(n) % 10, classes=np.arange(10)
            ),
        }
        seconds = {name: time_median(learn, 5) for name, learn in learners.items()}
        figures = {name: round(n / second) for name, second in seconds.items()}
        for name, draw in {"one generator": lambda _: rng.standard_normal(50), **keyed}.items():
            loop = time_median(lambda graph=graph, draw=draw: learn_in_numpy(graph[:20_000], y[:20_000], draw), 3)
            figures[f"numpy, {name}"] = round(20_000 / loop)
            figures[f"times numpy, {name}"] = round(figures["rows"] / figures[f"numpy, {name}"], 1)
        rows[f"{n_edges} edges per node"] = figures
        print(n_edges, figures, flush=True)
    rows["names"] = time_names()
    print("names", rows["names"])
    return rows


def compare_options(_):
    """CPU seconds of options over those of the plain learner, on sparse rows of nodes that join and on names."""
    n, rng = 20_000, np.random.default_rng(0)
    rows, y, figures = grow_graph(n, 10), rng.normal(size=n), {}
    plain = {"variances": (0.3, 1.0)}
    options = {
        "penalty": {"penalty": 0.01},
        "raw rows": {"unit_rows": False},
        "Laplacian": {"kernels": "laplacian"},
        "Cauchy": {"kernels": "cauchy"},
        "linear and square": {"kernels": ("linear", "polynomial2")},
        "Gaussian, linear": {"kernels": ("gaussian", "linear"), "variances": 1.0},
    }
    first = time_median(lambda: GradrakerRegressor(**plain).partial_fit(rows, y), 5)
    for name, more in options.items():
        learner = GradrakerRegressor(**{**plain, **more})
        figures[name] = round(time_median(lambda learner=learner: clone(learner).partial_fit(rows, y), 5) / first, 2)
    graph = nx.barabasi_albert_graph(2000, 3, seed=0)
    features = rng.normal(size=(2000, 5))

    def measure(**more):
        return time_median(lambda: GradrakerRegressor(graph=graph, **more).fit(range(2000), y[:2000]), 3)

    first, parts = measure(), {}
    for name, more in {
        "one kernel per hop": {"separate_hops": True},
        "raw rows of names": {"unit_rows": False},
        "features of nodes": {"node_features": features},
        "a second layer": {"layers": [nx.barabasi_albert_graph(2000, 3, seed=1)]},
    }.items():
        parts[name] = round(measure(**more) / first, 2)
    print({**figures, **parts})
    return {**figures, **parts}


def time_median(call, repeats):
    """Return the median CPU seconds of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def time_names(n=5000):
    """Return nodes per CPU second that are named in a networkx graph: joining one by one, and in one chunk."""
    rows, y, figures = grow_graph(n, 3), np.sin(0.01 * np.arange(n)), {}
    for hops in (1, (1, 2)):
        graph, seconds = nx.empty_graph(1), 0.0
        learner = GradrakerRegressor(graph=graph, hops=hops)
        for t in range(1, n):
            graph.add_edges_from((t, other) for other in rows.indices[rows.indptr[t] : rows.indptr[t + 1]].tolist())
            graph.add_node(t)
            start = time.process_time()
            learner.partial_fit([t], y[t : t + 1])
            seconds += time.process_time() - start
        whole = time_median(
            lambda hops=hops, graph=graph: GradrakerRegressor(graph=graph, hops=hops).fit(range(n), y), 3
        )
        figures[f"hops {hops}"] = {"one by one": round((n - 1) / seconds), "one chunk": round(n / whole)}
    return figures


def solve_phases(V, phases):
    """Return the row a >= 0 of least squared V a - phases, without phases that seem to have wrapped."""
    row = nnls(V, phases, maxiter=50 * V.shape[1])[0]
    residuals = np.abs(V @ row - phases)
    fits = residuals <= max(1.0, 5.0 * np.median(residuals))
    return row if fits.all() else nnls(V[fits], phases[fits], maxiter=50 * V.shape[1])[0]


def invert_codes(_):
    """Shares of a node's neighbours among as many largest entries of the row that its code gives away.

    The server knows `random_state` and the names of all nodes; or not the former, but half of all rows.
    """
    results = {}
    for title, (graph, _) in {"email": read_email(), "Cora": read_cora()}.items():
        n = len(graph)
        sizes = np.array([len(set(graph[node]) - {node}) for node in range(n)])
        known, others = np.split(np.random.default_rng(0).permutation(n), [n // 2])
        targets = others[sizes[others] > 0][:30]
        for hops in (1, (1, 2)):
            rows = list_rows(graph, np.atleast_1d(hops)).toarray()[known]
            for n_components in (10, 25, 50, 100, 200, 400):
                coder = GradrakerRegressor(graph=graph, variances=1.0, n_components=n_components, hops=hops)
                codes = coder.encode_row(known.tolist() + targets.tolist())
                phases = np.arctan2(*np.split(codes, 2, axis=1))
                wide = GradrakerRegressor(variances=1e4, n_components=n_components).encode_row(np.eye(n))
                frequencies = {
                    "known seed": 100.0 * np.arctan2(*np.split(wide, 2, axis=1)),
                    "known rows": np.linalg.lstsq(rows, phases[: len(known)], rcond=1e-6)[0],
                }
                key, figures = f"{title}, hops {hops}, {n_components} frequencies", {}
                for name, V in frequencies.items():
                    shares = []
                    for node, angles in zip(targets, phases[len(known) :], strict=True):
                        row = solve_phases(V.T, angles)
                        row[node] = 0.0
                        largest = np.argsort(-row, kind="stable")[: sizes[node]]
                        right = np.isin(largest[row[largest] > 0.0], list(graph[node]))
                        shares.append(right.sum() / sizes[node])
                    figures[name] = round(float(np.mean(shares)), 3)
                results[key] = figures
                print(key, figures, flush=True)
        results[f"{title}: by chance"] = round(float(sizes[targets].mean() / n), 4)
    return results
