"""FCI and RFCI on alarm with four hidden variables, compared with causal-learn: ``python hidden_causes.py [PYTHON]``.

PYTHON is the interpreter of an environment with causal-learn; it reads the same rows from a file. Figures are user CPU
seconds of one thread, the least of three runs, and the number of tests.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

HIDDEN = ["LVFAILURE", "HYPOVOLEMIA", "INTUBATION", "VENTLUNG"]
THEIRS = """
import sys, time
import pandas as pd
from causallearn.search.ConstraintBased.FCI import fci
codes = pd.read_csv(sys.argv[1], dtype=str).apply(lambda column: pd.factorize(column, sort=True)[0]).to_numpy()
seconds = []
for _ in range(3):
    began = time.process_time()
    fci(codes, "chisq", 0.01, depth=3, verbose=False, show_progress=False)
    seconds.append(time.process_time() - began)
print(f"causal-learn FCI: {min(seconds):.4f} s")
"""


def main():
    from pgmx.datasets import load_network, sample
    from pgmx.estimators import FCI, RFCI

    frame = sample(load_network("alarm"), 10_000, random_state=0).drop(columns=HIDDEN)
    for cls in (RFCI, FCI):
        seconds = []
        for _ in range(3):
            began = time.process_time()
            learner = cls(max_cond_vars=3, show_progress=False).fit(frame)
            seconds.append(time.process_time() - began)
        print(f"{cls.__name__}: {min(seconds):.4f} s, {sum(learner.n_tests_):,} tests")
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "alarm.csv")
            frame.to_csv(path, index=False)
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            theirs = subprocess.run(
                [sys.argv[1], "-c", THEIRS, path], env=environment, check=True, capture_output=True, text=True
            )
            print(theirs.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
