"""GraphicalLasso of thousands of columns from a covariance matrix, compared with glassoFast.

    python tests/benchmarks/gaussian_large.py --glassofast DIR [--columns 5000] [--shape sequence|random]
        [--lam 0.2 ...]

The covariances are those of as many rows as columns, see gaussian_wide.py. glassoFast is built from DIR as
solvers/gaussian/native.py does, and stops at its threshold 1e-4. User-CPU seconds of one call each, for every penalty;
memory is the largest resident set above the covariance. Set OMP_NUM_THREADS=1.
"""

import argparse
import os
from types import SimpleNamespace

import numpy as np
from gaussian_wide import SHAPES, measure

from pgmx.estimators import GraphicalLasso
from solvers.gaussian.native import FLAGS, load_glassofast, solve_by_glassofast


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--glassofast", required=True)
    parser.add_argument("--columns", type=int, default=5000)
    parser.add_argument("--shape", choices=["sequence", "random"], default="sequence")
    parser.add_argument("--lam", type=float, nargs="+", default=[0.2])
    options = parser.parse_args()
    os.environ["GLASSOFAST"] = options.glassofast
    for method in FLAGS:
        load_glassofast(method)
    S = np.corrcoef(SHAPES[options.shape](options.columns, options.columns, 0), rowvar=False)
    problem = SimpleNamespace(p=len(S), covariance=S)
    for lam in options.lam:
        make = GraphicalLasso(lam=lam, covariance="precomputed", n_samples=options.columns, show_progress=False)
        learner, ours, before, after = measure(lambda make=make: make.fit(S))
        degree, gap = 2 * len(learner.edges_) / len(S), learner.dual_gap_ / abs(learner.objective_)
        matrices = (after - before) / (S.nbytes >> 20)
        print(f"lam {lam}: {degree:.1f} neighbours, relative gap {gap:.1e}, {ours:.2f} CPU s, {matrices:.1f} matrices")
        del learner
        for method in FLAGS:
            found, theirs, *_ = measure(lambda m=method, lam=lam: solve_by_glassofast(problem, [lam], m, 1e-4))
            edges = (np.count_nonzero(found[0][0]) - len(S)) / len(S)
            print(f"    {method}: {edges:.1f} neighbours, {theirs:.2f} CPU s, {theirs / ours:.1f} times", flush=True)
            del found


if __name__ == "__main__":
    main()
