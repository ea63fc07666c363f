"""Whole frames through `DiscreteBayesianNetwork`, and the same rows one by one by pgmpy and pyAgrum.

`answers.py --rows` prints the table. A process of its own, on one core, measures each task of each network:

one     predict a column given all others, three columns in turn; pgmpy: its class's `predict`
hidden  predict with 20 % of the values missing; pgmpy, whose `predict` needs an absent column: `map_query`; pyAgrum,
        which has no MAP: the marginals of the missing values
all     predict_proba of all variables with 10 % of the values observed; pgmpy: `query` of each variable

The clock holds the whole call from frame to frame, user-CPU seconds, the mean of three frames of `--frame-rows` rows,
after a call with ten rows. The memory is the highest during the first frame minus the memory before and the result.
pyAgrum keeps one engine and gets evidence as numbers; `LazyPropagation`, `ShaferShenoyInference` and
`VariableElimination` answer the first rows for `--seconds` / 3 each, and the fastest counts. pgmpy gets the first rows
as a frame, in a process of at most 4 GB, for at most ten times `--seconds`.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

TASKS = ("one", "hidden", "all")
ENGINES = ("LazyPropagation", "ShaferShenoyInference", "VariableElimination")
N_FRAMES = 3
#: Rows that a peer gets at most, and the memory of pgmpy's process.
PEER_ROWS, PGMPY_BYTES = 2000, 4 << 30


def read_status(field):
    """Return a memory figure of this process in MB."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def repeat_for(seconds, used, answer, rows):
    """Answer rows until the seconds are over; returns the answers and the seconds per row."""
    began, answers = used(), []
    for row in rows:
        answers.append(answer(*row))
        if used() - began > seconds:
            break
    return answers, (used() - began) / len(answers)


# ---- peers, in processes of their own ----


def serve_agrum(path, used):
    """Answer pyAgrum's questions: one line of [engine, rows, seconds]; a row is evidence and targets."""
    import pyagrum

    network = pyagrum.loadBN(path)
    for line in sys.stdin:
        name, rows, seconds = json.loads(line)
        inference = getattr(pyagrum, name)(network)
        targets = None

        def answer(evidence, wanted, inference=inference):
            nonlocal targets
            inference.setEvidence(evidence)
            if wanted != targets:
                inference.eraseAllTargets()
                for v in wanted:
                    inference.addTarget(v)
                targets = wanted
            inference.makeInference()
            return [inference.posterior(v) for v in wanted]

        answers, each = repeat_for(seconds, used, answer, rows)
        print(json.dumps([[[found.tolist() for found in row] for row in answers[:20]], each]), flush=True)


def serve_pgmpy(path, used):
    """Answer one task by pgmpy; writes the number of rows and the seconds per row, and the result to a file."""
    import resource
    import warnings

    from pgmpy.inference import VariableElimination

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (PGMPY_BYTES, PGMPY_BYTES))
    model, frame, task, seconds = pickle.loads(Path(path).read_bytes())
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.alarm(10 * max(1, round(seconds)))
    if task != "one":
        inference = VariableElimination(model)
        rows = [row.dropna().to_dict() for _, row in frame.astype(object).iterrows()]

        def answer(row):
            hidden = [v for v in model.nodes() if v not in row]
            if task == "hidden":
                return inference.map_query(hidden, row, show_progress=False)
            return [inference.query([v], row, show_progress=False) for v in hidden]

        answers, each = repeat_for(seconds, used, answer, [(row,) for row in rows])
        print(json.dumps([len(answers), each]), flush=True)
        return
    n = 2
    while True:
        began = used()
        model.predict(frame.iloc[:n], n_jobs=1)
        spent = used() - began
        if spent > seconds / 3 or n == len(frame):
            break
        n = min(len(frame), max(n + 1, int(n * seconds / 2 / spent)))
    print(json.dumps([n, spent / n]), flush=True)


def ask_agrum(python, model, rows, seconds):
    """Return pyAgrum's first answers, the seconds per row and the name of its fastest engine."""
    from answers import write_bif

    with tempfile.TemporaryDirectory() as folder:
        write_bif(model, Path(folder) / "network.bif")
        lines = "\n".join(json.dumps([engine, rows, seconds / len(ENGINES)]) for engine in ENGINES)
        command = [python, str(Path(__file__).parent / "answers.py"), "--serve-rows", f"{folder}/network.bif"]
        # results of engines that ended before a failure count
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    found = [(*json.loads(line), engine) for line, engine in zip(done.stdout.splitlines(), ENGINES, strict=False)]
    return min(found, key=lambda item: item[1]) if found else ([], float("nan"), "-")


def ask_pgmpy(model, frame, task, seconds):
    """Return the number of rows that pgmpy answered and the seconds per row; no rows if it needs too much."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task"
        path.write_bytes(pickle.dumps((model.to_pgmpy(), frame, task, seconds)))
        command = [sys.executable, str(Path(__file__).parent / "answers.py"), "--serve-pgmpy", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else (0, float("nan"))


# ---- one task of one network ----


def hide(frame, task, k, rng):
    """Return the rows of a task, with the columns or values that it leaves."""
    if task == "one":
        return frame.drop(columns=frame.columns[int(rng.integers(frame.shape[1]))])
    return frame.mask(rng.random(frame.shape) < (0.2 if task == "hidden" else 0.9))


def list_questions(model, frame):
    """Return evidence and targets of each row by number, for pyAgrum."""
    nodes = list(model.nodes())
    place = [{state: k for k, state in enumerate(model.get_cpds(v).state_names[v])} for v in nodes]
    rows = frame.reindex(columns=nodes).astype(object).to_numpy()
    questions = []
    for row in rows:
        evidence = {f"x{v}": place[v][state] for v, state in enumerate(row) if state in place[v]}
        questions.append((evidence, [f"x{v}" for v in range(len(nodes)) if f"x{v}" not in evidence]))
    return questions


def measure(name, task, options, used):
    """Print the figures of one task of one network."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np

    from pgmx.datasets import load_network, sample

    model = load_network(name)
    for cpd in model.cpds:  # rounded columns: each tool would scale them in its own way
        cpd.normalize()
    rng = np.random.default_rng(0)
    frames = [
        hide(sample(model, options.frame_rows, random_state=k), task, k, rng)
        for k in range(1 if task == "all" else N_FRAMES)
    ]
    call = model.predict_proba if task == "all" else lambda rows: model.predict(rows, n_jobs=1)
    call(frames[0].iloc[:10])
    seconds, memory = 0.0, 0.0
    for k, frame in enumerate(frames):
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak restarts at the present memory
        memory_before, before = read_status("VmRSS"), used()
        result = call(frame)
        seconds += used() - before
        if k == 0:
            memory = read_status("VmHWM") - memory_before - result.memory_usage().sum() / 2**20
        del result
    seconds /= len(frames)
    part = frames[0].iloc[:PEER_ROWS]
    questions = list_questions(model, part)
    answers, agrum, engine = [], float("nan"), "-"
    if options.peer:
        answers, agrum, engine = ask_agrum(options.peer, model, questions, options.seconds)
    largest = 0.0
    ours = model.predict_proba(part.iloc[: len(answers)]) if answers else None
    nodes = list(model.nodes())
    for k, row in enumerate(answers):
        for target, shares in zip(questions[k][1], row, strict=True):
            own = ours[nodes[int(target[1:])]].iloc[k].to_numpy()
            largest = max(largest, np.abs(own - shares).max())
    n_pgmpy, pgmpy = ask_pgmpy(model, part, task, options.seconds) if options.pgmpy else (0, float("nan"))
    each = seconds / options.frame_rows
    cells = [
        name,
        f"{seconds:.4f}",
        f"{1e6 * agrum:,.0f} {engine}",
        f"{agrum / each:,.0f}x",
        f"{1e6 * pgmpy:,.0f}" if n_pgmpy else "-",
        f"{pgmpy / each:,.0f}x" if n_pgmpy else "-",
        f"{largest:.0e}" if answers else "-",
        f"{max(0, memory):,.0f}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def compare(options):
    """Print the tables, each line from a process of its own."""
    for task in options.tasks:
        print(f"\n{task}, {options.frame_rows} rows\n")
        peers = "pyAgrum, us a row | pyAgrum / pgmx | pgmpy, us a row | pgmpy / pgmx"
        print(f"| network | pgmx, s | {peers} | difference | MB |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for name in options.networks:
            subprocess.run([sys.executable, *sys.argv, "--measure", name, task], check=False)
