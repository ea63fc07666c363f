"""Questions that pyAgrum and pgmpy are asked too, each in a process of its own with limits of time and memory."""

import multiprocessing
import resource
from time import process_time

import numpy as np

#: CPU seconds and bytes of address space that a peer may take for an answer.
SECONDS, BYTES = 60, 6 * 2**30


def make_pyagrum(potentials):
    """Return pyAgrum's network of pairwise potentials, variables named by "x" and their number."""
    import pyagrum

    network = pyagrum.MarkovRandomField()
    names = [f"x{v}" for v in range(potentials.n_variables)]
    for name, size in zip(names, potentials.cardinalities.tolist(), strict=True):
        network.add(pyagrum.LabelizedVariable(name, "", size))
    for v, name in enumerate(names):
        network.addFactor({name}).fillWith(np.exp(potentials.node(v)).tolist())
    for (i, j), table in zip(potentials.edges.tolist(), potentials.tables(), strict=True):
        factor = network.addFactor({names[i], names[j]})
        values = np.exp(table)
        # The first variable of pyAgrum's factor moves fastest.
        factor.fillWith((values.T if factor.names[0] == names[i] else values).ravel().tolist())
    return network


def make_pgmpy(potentials):
    """Return pgmpy's network of pairwise potentials, variables named by their number."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork

    cards = potentials.cardinalities.tolist()
    network = DiscreteMarkovNetwork(potentials.edges.tolist())
    network.add_nodes_from(range(potentials.n_variables))
    for v, size in enumerate(cards):
        network.add_factors(DiscreteFactor([v], [size], np.exp(potentials.node(v))))
    for (i, j), table in zip(potentials.edges.tolist(), potentials.tables(), strict=True):
        network.add_factors(DiscreteFactor([i, j], [cards[i], cards[j]], np.exp(table)))
    return network


def find_pyagrum_marginals(potentials, evidence):
    """Return a distribution per variable that is not observed, by number."""
    import pyagrum

    inference = pyagrum.ShaferShenoyMRFInference(make_pyagrum(potentials))
    inference.setEvidence({f"x{v}": code for v, code in evidence.items()})
    inference.makeInference()
    free = (v for v in range(potentials.n_variables) if v not in evidence)
    return {v: np.array(inference.posterior(f"x{v}").tolist()) for v in free}


def find_pgmpy_marginals(potentials, evidence):
    """Return a distribution per variable that is not observed, by number, out of one calibrated junction tree."""
    from pgmpy.inference import BeliefPropagation

    inference = BeliefPropagation(make_pgmpy(potentials))
    inference.calibrate()
    free = (v for v in range(potentials.n_variables) if v not in evidence)
    return {v: inference.query([v], evidence=evidence, show_progress=False).values for v in free}


def find_pgmpy_map(potentials, evidence):
    """Return the codes of the variables that are not observed, by number."""
    from pgmpy.inference import VariableElimination

    free = [v for v in range(potentials.n_variables) if v not in evidence]
    return VariableElimination(make_pgmpy(potentials)).map_query(free, evidence=evidence, show_progress=False)


def ask_with_limits(task, *arguments):
    """Return the answer of a task and its CPU seconds, or None and what ended it: the limits hold for the process."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(sender, task, arguments))
    process.start()
    sender.close()
    try:
        answer, figure = receiver.recv()
    except EOFError:  # the kernel ended it
        answer, figure = None, f"more than {SECONDS} s"
    process.join()
    return answer, figure


def _answer(sender, task, arguments):
    resource.setrlimit(resource.RLIMIT_CPU, (int(process_time()) + SECONDS, int(process_time()) + SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    before = process_time()
    try:
        answer = task(*arguments)
    except ImportError:
        sender.send((None, "not installed"))
    except MemoryError:
        sender.send((None, f"more than {BYTES // 2**30} GB"))
    except Exception as error:  # whatever a peer raises is its answer
        sender.send((None, f"{type(error).__name__}: {str(error)[:60]}"))
    else:
        sender.send((answer, process_time() - before))
