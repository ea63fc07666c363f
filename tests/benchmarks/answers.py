"""Questions to Bayesian networks by pgmx, pgmpy and pyAgrum: the same questions in the same run, and their differences.

    python tests/benchmarks/answers.py alarm insurance --peer /path/to/python/with/pyagrum
    python tests/benchmarks/answers.py --rows alarm insurance --peer /path/to/python/with/pyagrum

A question asks for one variable given a tenth of the others, another set in each question; its states are those of a
row drawn from the network, so that it is possible. Times are user-CPU microseconds of the whole call
`VariableElimination(model).query([v], evidence)`, the class constructed once; chunks of questions of the tools
alternate. pyAgrum runs in a process of its own, with the interpreter of ``--peer``: a new `VariableElimination`,
`LazyPropagation` each question, the faster one counts. ``--seconds`` bounds the time of a peer per network. ``--alarm``
measures `marginals`, `BeliefPropagation`, further functions, `simulate` and the peak memory; ``--rows`` whole frames
(`answers_of_rows`).
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import warnings
from os import getloadavg
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import answers_of_rows

N_CHUNKS = 5
#: Largest difference of two answers that counts as none.
TOLERANCE = 1e-6


def used():
    """Return the user-CPU seconds of this process so far."""
    return getrusage(RUSAGE_SELF).ru_utime


def peak():
    """Return the peak memory of this process in MB."""
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def ask_all(ask, questions):
    """Return the answers and the user-CPU seconds."""
    before = used()
    answers = [ask(*question) for question in questions]
    return answers, used() - before


# ---- pyAgrum's process: variables and states by number ----


def serve(path):
    """Answer chunks of questions, one a line of standard input."""
    import pyagrum

    network = pyagrum.loadBN(path)

    def ask(engine, v, evidence):
        inference = engine(network)
        inference.setEvidence(evidence)
        inference.addTarget(v)
        inference.makeInference()
        return inference.posterior(v)

    for line in sys.stdin:
        name, questions = json.loads(line)
        engine = getattr(pyagrum, name)
        answers, seconds = ask_all(lambda v, evidence, engine=engine: ask(engine, v, evidence), questions)
        print(json.dumps([[answer.tolist() for answer in answers], seconds]), flush=True)


class Peer:
    """pyAgrum in a process of its own."""

    def __init__(self, python, path):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([python, __file__, "--serve", str(path)], **pipes)

    def ask(self, engine, questions):
        """Return the answers and the seconds of a chunk."""
        self._process.stdin.write(json.dumps([engine, questions]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def write_bif(model, path):
    """Write a network as BIF, variables and states by number."""
    nodes = list(model.nodes())
    place = {name: v for v, name in enumerate(nodes)}
    lines = ["network unknown {\n}"]
    for name in nodes:
        card = model.get_cardinality(name)
        states = ", ".join(f"s{k}" for k in range(card))
        lines.append(f"variable x{place[name]} {{\n type discrete [ {card} ] {{ {states} }};\n}}")
    for name in nodes:
        cpd = model.get_cpds(name)
        parents, values = cpd.variables[1:], cpd.get_values()
        own = f"x{place[name]}"
        if not parents:
            lines.append(f"probability ( {own} ) {{\n table {', '.join(map(repr, values[:, 0].tolist()))};\n}}")
            continue
        lines.append(f"probability ( {own} | {', '.join(f'x{place[u]}' for u in parents)} ) {{")
        cards = cpd.cardinality[1:].tolist()
        for column in range(values.shape[1]):
            rest, codes = column, []
            for card in reversed(cards):
                rest, code = divmod(rest, card)
                codes.append(f"s{code}")
            lines.append(f" ({', '.join(reversed(codes))}) {', '.join(map(repr, values[:, column].tolist()))};")
        lines.append("}")
    path.write_text("\n".join(lines) + "\n")


# ---- the comparison ----


def draw_questions(model, n_questions, rng):
    """Return (variable, evidence) by number."""
    from pgmx.datasets import sample

    nodes = list(model.nodes())
    codes = [{state: k for k, state in enumerate(model.get_cpds(name).state_names[name])} for name in nodes]
    rows = sample(model, min(n_questions, 500), random_state=int(rng.integers(2**31))).astype(object).to_numpy()
    questions = []
    for number in range(n_questions):
        row, order = rows[number % len(rows)], rng.permutation(len(nodes)).tolist()
        observed = order[1 : 1 + max(1, len(nodes) // 10)]
        questions.append((order[0], {v: codes[v][row[v]] for v in observed}))
    return questions


def compare(name, options):
    """Print the line of one network."""
    import numpy as np
    from pgmpy.inference import VariableElimination as Theirs

    from pgmx.datasets import load_network
    from pgmx.inference import VariableElimination

    model = load_network(name)
    for cpd in model.cpds:  # rounded columns: each tool would scale them in its own way
        cpd.normalize()
    nodes = list(model.nodes())
    states = [model.get_cpds(node).state_names[node] for node in nodes]
    rng = np.random.default_rng(0)

    def named(questions):
        return [([nodes[v]], {nodes[u]: states[u][k] for u, k in codes.items()}) for v, codes in questions]

    ours, theirs = VariableElimination(model), Theirs(model)
    engines = ["VariableElimination", "LazyPropagation"]
    with tempfile.TemporaryDirectory() as folder:
        write_bif(model, Path(folder) / "network.bif")
        peer = Peer(options.peer, Path(folder) / "network.bif") if options.peer else None
        tools = {"pgmx": 0.0, "again": 0.0, "pgmpy": 0.0, **(dict.fromkeys(engines, 0.0) if peer else {})}
        counts, largest = dict.fromkeys(tools, 0), 0.0
        ask_all(lambda v, e: ours.query(v, e), named(draw_questions(model, 3, rng)))
        for _ in range(N_CHUNKS):
            questions = draw_questions(model, options.questions // N_CHUNKS, rng)
            call = named(questions)
            answers, seconds = ask_all(lambda v, e: ours.query(v, e).values, call)
            tools["pgmx"] += seconds
            tools["again"] += ask_all(lambda v, e: ours.query(v, e).values, call)[1]
            counts["pgmx"] += len(call)
            counts["again"] += len(call)
            # slow peers answer the first questions of each chunk
            for tool in list(tools)[2:]:
                each = tools[tool] / counts[tool] if counts[tool] else options.seconds / N_CHUNKS / 2
                n = max(1, min(len(call), int(options.seconds / N_CHUNKS / max(each, 1e-9))))
                if tool == "pgmpy":
                    found, seconds = ask_all(lambda v, e: theirs.query(v, e, show_progress=False).values, call[:n])
                else:
                    asked = [(f"x{v}", {f"x{u}": k for u, k in codes.items()}) for v, codes in questions[:n]]
                    found, seconds = peer.ask(tool, asked)
                tools[tool] += seconds
                counts[tool] += n
                differences = [np.abs(a - np.array(b)).max() for a, b in zip(answers, found, strict=False)]
                largest = max(largest, *differences)
        if peer:
            peer.close()
    micro = {tool: 1e6 * seconds / counts[tool] for tool, seconds in tools.items()}
    fastest = min(engines, key=micro.get) if peer else ""
    agrum = micro.get(fastest, np.nan)
    best = np.nanmin([micro["pgmpy"], agrum])
    print(
        f"| {name} | {micro['pgmx']:,.0f} | {micro['again']:,.0f} | {micro['pgmpy']:,.0f} | {agrum:,.0f} {fastest} | "
        f"{best / micro['pgmx']:.1f}x | {largest:.0e}{'' if largest <= TOLERANCE else ' DIFFERENT'} | "
        f"{counts['pgmx']} / {counts['pgmpy']} / {counts.get(fastest, 0)} | {peak():,.0f} |",
        flush=True,
    )


def measure_alarm():
    """Print the figures of alarm: functions of `pgmx.inference` with and without a kept network, and simulated rows."""
    import numpy as np

    from pgmx.datasets import load_network
    from pgmx.inference import (
        BeliefPropagation,
        CompiledNetwork,
        marginals,
        most_probable_assignments,
        mutual_information,
    )

    model = load_network("alarm")
    common, rare = {"HRBP": "HIGH"}, {"PULMEMBOLUS": "TRUE", "INTUBATION": "ONESIDED", "HRBP": "LOW"}
    nodes = list(model.nodes())
    kept, rng, figures = CompiledNetwork(model), np.random.default_rng(0), {}
    evidences = [
        {nodes[v]: model.get_cpds(nodes[v]).state_names[nodes[v]][0] for v in rng.permutation(len(nodes))[:3]}
        for _ in range(1000)
    ]

    def measure(name, task, repeat):
        before = used()
        for number in range(repeat):
            task(number)
        figures[name] = (used() - before) / repeat

    marginals(kept, evidences[0])
    measure("marginals, kept, another set each time", lambda k: marginals(kept, evidences[k % 1000]), 1000)
    measure("marginals, kept, the same set", lambda k: marginals(kept, evidences[0]), 1000)
    measure("marginals, not kept", lambda k: marginals(model, evidences[k % 1000]), 200)
    measure("BeliefPropagation(alarm)", lambda k: BeliefPropagation(model), 200)
    measure("BeliefPropagation(alarm) and calibrate()", lambda k: BeliefPropagation(model).calibrate(), 20)
    for kind, network in (("kept", kept), ("not kept", model)):
        measure(f"mutual_information, {kind}", lambda k, a=network: mutual_information(a, "VENTLUNG", common), 100)
        measure(f"100 most_probable_assignments, {kind}", lambda k, a=network: most_probable_assignments(a, 100), 50)
    for kind, evidence in (("no evidence", {}), ("an event of probability 1e-4", rare)):
        measure(f"simulate, 20,000 rows, {kind}", lambda k, e=evidence: model.simulate(20_000, evidence=e, seed=k), 10)
    theirs = model.to_pgmpy()
    measure(
        "pgmpy: simulate, 20 rows, the same event",
        lambda k: theirs.simulate(20, evidence=rare, seed=k, show_progress=False),
        1,
    )
    for name, seconds in figures.items():
        print(f"| {name} | {1e6 * seconds:,.1f} |")
    print(f"| peak memory of the process, MB | {peak():,.0f} |")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="*", default=["alarm", "insurance", "hailfinder", "win95pts"])
    parser.add_argument("--peer", help="interpreter that imports pyagrum")
    parser.add_argument("--questions", type=int, default=1000, help="per network")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each peer per network")
    parser.add_argument("--alarm", action="store_true", help="only other functions, and simulated rows")
    parser.add_argument("--gaussian", action="store_true", help="only rows under linear Gaussian networks")
    parser.add_argument("--rows", action="store_true", help="whole frames")
    parser.add_argument("--frame-rows", type=int, default=10_000)
    parser.add_argument("--tasks", nargs="+", default=answers_of_rows.TASKS, choices=answers_of_rows.TASKS)
    parser.add_argument("--pgmpy", action="store_true", help="with --rows: also pgmpy's class")
    for name in ("--serve", "--serve-rows", "--serve-pgmpy"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    if options.serve_rows:
        return answers_of_rows.serve_agrum(options.serve_rows, used)
    if options.serve_pgmpy:
        return answers_of_rows.serve_pgmpy(options.serve_pgmpy, used)
    warnings.simplefilter("ignore")
    if options.measure:
        return answers_of_rows.measure(*options.measure, options, used)
    print(f"{platform.processor() or platform.machine()}, load {getloadavg()[0]:.1f}\n")
    if options.alarm:
        return measure_alarm()
    if options.rows:
        return answers_of_rows.compare(options)
    if options.gaussian:
        from answers_of_gaussian_rows import measure

        return measure()
    print("| network | pgmx | asked again | pgmpy | pyAgrum | best peer / pgmx | difference | questions | peak MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in options.networks:
        compare(name, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
