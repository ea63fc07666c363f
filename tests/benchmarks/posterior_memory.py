"""Peak memory of exact and sampled posteriors, compared with what `estimate_cost` states before the fit.

    python tests/benchmarks/posterior_memory.py child:1000:20:exact alarm:1000:37:mcmc

Each problem NETWORK:ROWS:COLUMNS:METHOD is fitted in a process of its own. "measured" is the largest resident memory
during the fit minus that before it.
"""

import subprocess
import sys
import warnings
from pathlib import Path


def read_memory(field):
    """Return a field of the status of this process in MB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise ValueError(f"no {field} in /proc/self/status")


def measure(problem):
    """Print the estimate and the measured memory of one problem."""
    from pgmx.datasets import sample_network
    from pgmx.estimators import StructurePosterior

    network, n_rows, n_columns, method = problem.split(":")
    warnings.simplefilter("ignore")
    StructurePosterior(show_progress=False).fit(sample_network("asia", 100, random_state=0))  # imports
    frame = sample_network(network, int(n_rows), random_state=1).iloc[:, : int(n_columns)]
    indegree = 4 if method == "exact" else 5
    learner = StructurePosterior(method=method, max_indegree=indegree, max_time=20.0, show_progress=False)
    cost = learner.estimate_cost(frame)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts again
    before = read_memory("VmRSS")
    learner.fit(frame)
    print(f"{problem}: stated {cost.total / 2**20:.0f} MB, measured {read_memory('VmHWM') - before:.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        measure(sys.argv[2])
    else:
        for one in sys.argv[1:]:
            subprocess.run([sys.executable, __file__, "--one", one], check=True)
