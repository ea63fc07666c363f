"""`estimate_cost` and the measured peak of memory of fits, each in a process of its own.

``python tests/benchmarks/memory.py`` measures all cases and prints a table; with the name of a case, that one. Tables
are made once, in a folder for temporary files, by a process that ends before any is measured.

Two peaks: of the blocks that are allocated from the heap (``heap.c``, compiled by ``cc`` and preloaded), and of the
resident memory, in a second process, which also has the seconds. The larger one is the peak.
"""

import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FOLDER = Path(tempfile.gettempdir()) / "pgmx_memory_cases"
NETWORKS = {"alarm": 10_000, "alarm 1M": 10**6, "andes": 10_000, "link": 10_000}
CASES = {
    "alarm 10k": "alarm",
    "alarm 1M": "alarm 1M",
    "andes 10k": "andes",
    "link 10k": "link",
    "forest 4,000 x 10k": "forest",
    "alarm 10k, weighted": "alarm",
    "mixed 50 x 100k": "mixed",
    "plane file 5M x 100": "plane",
    "bootstrap of 40, alarm 10k": "alarm",
    "thorough, link 10k": "link",
}


def read_status(name):
    """Return a line of the status of this process in bytes."""
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024


def make_table(kind):
    """Write the table of a kind, once."""
    from pgmx.data import encode, write_table
    from pgmx.datasets import load_network, sample

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / (f"{kind}.pgmx" if kind == "plane" else f"{kind}.npz")
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    if kind in NETWORKS:
        table = encode(sample(load_network(kind.split()[0]), NETWORKS[kind], random_state=0))
        np.savez(path, codes=table.codes, cards=table.cardinalities)
    elif kind == "forest":
        codes = rng.integers(0, 3, (4000, 10_000)).astype(np.uint8)
        for v in range(1, 4000):
            parent = codes[rng.integers(max(0, v - 50), v)]
            codes[v] = np.where(rng.random(10_000) < 0.6, parent, codes[v])
        np.savez(path, codes=codes, cards=np.full(4000, 3))
    elif kind == "mixed":
        chain = np.cumsum(rng.normal(size=(25, 100_000)), axis=0) / 2
        states = np.array([np.digitize(x + rng.normal(size=len(x)), [-1, 0, 1]) for x in chain])
        np.savez(path, numbers=chain, states=states)
    else:
        chunks = (
            np.where(rng.random((50_000, 100)) < 0.3, rng.integers(0, 4, (50_000, 1)), block)
            for block in (rng.integers(0, 4, (50_000, 100)) for _ in range(100))
        )
        write_table(chunks, path)
    return path


def make_case(name):
    """Return the learner, the data and their bytes in memory before the fit, and the options of the fit."""
    import pandas as pd

    from pgmx.data import DiscreteTable, open_table
    from pgmx.estimators import BootstrapStructure, ChowLiuForest, HillClimbSearch

    path, learner, options = make_table(CASES[name]), HillClimbSearch(show_progress=False), {}
    if path.suffix == ".pgmx":
        return learner.set_params(max_time=100), open_table(path), 0, options
    arrays = dict(np.load(path))
    if "numbers" in arrays:
        columns = {f"x{j}": x for j, x in enumerate(arrays["numbers"])}
        columns |= {f"d{j}": d for j, d in enumerate(arrays["states"])}
        return learner, pd.DataFrame(columns), 0, options
    codes, cards = arrays["codes"], arrays["cards"]
    table = DiscreteTable(range(len(cards)), [range(int(r)) for r in cards], codes)
    if "forest" in name:
        learner = ChowLiuForest(show_progress=False)
    elif "weighted" in name:
        options = {"sample_weight": np.random.default_rng(0).random(codes.shape[1]) + 0.5}
    elif "bootstrap" in name:
        learner = BootstrapStructure(learner, n_resamples=40, show_progress=False)
    elif "thorough" in name:
        learner.set_params(strategy="thorough")
    return learner, table, codes.nbytes, options


def open_heap():
    """Return the preloaded counter of the heap, None where there is none."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "heap_peak"):
        return None
    library.heap_bytes.restype = library.heap_peak.restype = ctypes.c_longlong
    return library


def measure(name):
    """Print estimate, peak and seconds of a case as JSON."""
    from pgmx.estimators import BootstrapStructure, HillClimbSearch

    few = np.random.default_rng(0).integers(0, 2, (50, 4))
    for learner in (HillClimbSearch(), BootstrapStructure(HillClimbSearch(), n_resamples=2)):  # what is imported late
        learner.set_params(show_progress=False).fit(few)
    learner, data, before, options = make_case(name)
    weighted = {"weighted": True} if options else {}
    gc.collect()
    heap = open_heap()
    if heap is None:
        Path("/proc/self/clear_refs").write_text("5")
        start, seconds = read_status("VmRSS"), time.process_time()
    else:
        heap.heap_reset()
        start, seconds = heap.heap_bytes(), time.process_time()
    learner.fit(data, **options)
    seconds = time.process_time() - seconds
    peak = before - start + (read_status("VmHWM") if heap is None else heap.heap_peak())
    cost = learner.estimate_cost(data, **weighted)
    print(json.dumps({"total": cost.total, "peak": peak, "seconds": seconds}))


def measure_apart(name, **environment):
    """Measure a case in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, name]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    return json.loads(run.stdout)


def build_heap():
    """Compile the counter of the heap, and return the environment that preloads it."""
    library = FOLDER / "heap.so"
    source = Path(__file__).with_name("heap.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"}


def main():
    """Measure all cases, each in a process of its own."""
    for kind in dict.fromkeys(CASES.values()):
        subprocess.run([sys.executable, __file__, "make", kind], check=True)
    environment = build_heap()
    print("| case | bound, MB | heap, MB | resident, MB | bound / peak | CPU seconds |\n|---|---|---|---|---|---|")
    for name in CASES:
        heap, resident = measure_apart(name, **environment), measure_apart(name)
        peak = max(heap["peak"], resident["peak"])
        megabytes = " | ".join(f"{x / 1e6:.1f}" for x in (resident["total"], heap["peak"], resident["peak"]))
        print(f"| {name} | {megabytes} | {resident['total'] / peak:.2f} | {resident['seconds']:.2g} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make_table(sys.argv[2])
    elif len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        main()
