"""Networks of mixed data: time of parameters, densities, rows and predictions.

    python tests/benchmarks/mixed_network.py [--rows 100000]

User-CPU seconds of one process, medians of five; set OPENBLAS_NUM_THREADS=1. pybnesian learns the graph
if it is installed (``pip install pybnesian``), and then fits the same graph; it has no predictions.
"""

import argparse
import resource
import warnings
from statistics import median

import numpy as np
import pandas as pd
from mixed import mixed_table

from pgmx.estimators import HillClimbSearch
from pgmx.inference import ApproximationWarning
from pgmx.models import ConditionalGaussianNetwork


def seconds(function, repeats=5):
    """Return the median time of a call, and what it returned."""
    times = []
    for _ in range(repeats):
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        result = function()
        times.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)
    return median(times), result


def tell(what, ours, theirs=None):
    peer = "" if theirs is None else f"{theirs:9.3f}  {theirs / max(ours, 1e-3):6.1f} x"
    print(f"{what:60} {ours:9.3f} {peer}", flush=True)


def learn_by_pybnesian(frame):
    """Return a network of pybnesian, None without it."""
    try:
        import pybnesian
    except ImportError:
        return None
    search = pybnesian.GreedyHillClimbing()
    start = pybnesian.CLGNetwork(list(frame))
    return search.estimate(pybnesian.ArcOperatorSet(), pybnesian.BIC(frame), start)


def fit_by_pybnesian(peer, frame):
    """Return a new network of the same graph, fitted: one that is fitted already is left as it is."""
    import pybnesian

    kinds = [(name, peer.node_type(name)) for name in peer.nodes()]
    network = pybnesian.CLGNetwork(peer.nodes(), peer.arcs(), kinds)
    network.fit(frame)
    return network


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    frame, _ = mixed_table(parser.parse_args().rows)
    for name in frame.select_dtypes("category"):  # pybnesian takes no other text than this
        frame[name] = frame[name].cat.rename_categories(frame[name].cat.categories.astype(object))
    peer = learn_by_pybnesian(frame)
    network = ConditionalGaussianNetwork()
    network.add_nodes_from(frame.columns)
    network.add_edges_from(HillClimbSearch().fit(frame).dag_.edges() if peer is None else peer.arcs())
    print(f"{len(frame):,} rows x {frame.shape[1]} columns, {network.number_of_edges()} arcs")
    print("CPU seconds of pgmx, of pybnesian, and their ratio:")

    fit, network = seconds(lambda: network.fit(frame, variance="unbiased"))
    if peer is not None:
        peer.fit(frame)
    density, ours = seconds(lambda: network.log_likelihood(frame))
    theirs = (None, None) if peer is None else seconds(lambda: peer.logl(frame))
    tell("log-density of each row", density, theirs[0])
    draw, _ = seconds(lambda: network.simulate(len(frame)))
    tell("as many rows drawn", draw)  # sample() of pybnesian 0.5.1 crashes now and then
    tell("fit", fit, None if peer is None else seconds(lambda: fit_by_pybnesian(peer, frame))[0])
    if peer is not None:
        difference = float(np.abs(ours - theirs[1]).max())
        print(f"largest difference of the log-densities of a row: {difference:.2g} nats")

    for kind, name in (("states", next(iter(network.states))), ("floats", network.continuous[0])):
        took, _ = seconds(lambda name=name: network.predict(frame, [name]))
        tell(f"predict one column of {kind} ({name}), all others known", took)
    of_states = frame[list(network.states)]
    tell("predict all 25 columns of floats from those of states", seconds(lambda: network.predict(of_states), 3)[0])
    told = []
    for n_rows, share in ((1_000, 0.1), (10_000, 0.2)):
        is_lost = np.random.default_rng(0).random((n_rows, frame.shape[1])) < share
        holes = frame.iloc[:n_rows].mask(pd.DataFrame(is_lost, columns=frame.columns))
        n_patterns = len(holes.isna().drop_duplicates())
        for method in ("map", "marginal"):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ApproximationWarning)
                took, _ = seconds(lambda holes=holes, method=method: network.predict(holes, method=method), 3)
            told += caught
            tell(f"fill {n_rows:,} rows, {share:.0%} missing in {n_patterns:,} patterns ({method})", took)
        tell("log-density of their observed values", seconds(lambda holes=holes: network.log_evidence(holes), 3)[0])
    print("all exact" if not told else str(told[0].message))


if __name__ == "__main__":
    main()
