"""Tetrad, which needs Java with its compiler, and the jar of Tetrad that the variable TETRAD_JAR names.

A search is a process of its own: its seconds include the start of Java.
"""

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("Tetrad.java")
STARTS = 5  # of best order score search


def load(problem, search):
    """Compile the program, write the table, and return the command with the names of the variables."""
    folder = tempfile.mkdtemp()
    jar = os.environ["TETRAD_JAR"]
    subprocess.run(["javac", "-cp", jar, "-d", folder, str(SOURCE)], check=True, capture_output=True)
    codes = np.column_stack([problem.frame[name].cat.codes for name in problem.frame.columns])
    cards = " ".join(str(len(problem.frame[name].cat.categories)) for name in problem.frame.columns)
    table = Path(folder) / "table.txt"
    np.savetxt(table, codes, fmt="%d", header=cards, comments="")
    java = ["java", "-XX:+UseSerialGC", f"-Djava.util.prefs.userRoot={folder}", "-cp", os.pathsep.join([jar, folder])]
    return [*java, "Tetrad", search, problem.score, str(STARTS), str(table)], list(problem.frame.columns)


def learn(loaded):
    command, names = loaded
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:  # the limit of the caller, which each process inherits
        os.kill(os.getpid(), signal.SIGXCPU)
    done.check_returncode()
    return names, [line.split() for line in done.stdout.splitlines()]


def edges(result):
    """Return a DAG of the class that Tetrad found."""
    from pgmx.graphs.consensus import make_marks
    from pgmx.graphs.extension import extend_to_dag

    names, lines = result
    directed = [(int(words[0]), int(words[1])) for words in lines if len(words) == 2]
    undirected = [(int(words[0]), int(words[2])) for words in lines if len(words) == 3]
    return [(names[tail], names[head]) for tail, head in extend_to_dag(len(names), make_marks(directed, undirected))]


def own_score(problem, result):
    command, names = load(problem, "score")
    place = {name: v for v, name in enumerate(names)}
    arcs = [f"{place[tail]},{place[head]}" for tail, head in edges(result)]
    score = float(subprocess.run([*command, *arcs], check=True, capture_output=True, text=True).stdout)
    return score / 2 if problem.score == "bic" else score  # Tetrad's BIC is twice ours
