"""bnlearn, which needs R with the package bnlearn: ``hc``, or ``tabu``, with its defaults.

A search is a process of its own: its seconds include the start of R, about .3, and reading the table.
"""

import os
import signal
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

PROGRAM = """
suppressMessages(library(bnlearn))
words <- commandArgs(trailingOnly = TRUE)
cards <- scan(words[1], n = as.integer(words[2]), quiet = TRUE)
codes <- matrix(scan(words[1], skip = 1, what = integer(), quiet = TRUE), ncol = length(cards), byrow = TRUE)
frame <- as.data.frame(lapply(seq_along(cards), function(v) factor(codes[, v], levels = 0:(cards[v] - 1))))
names(frame) <- paste0("v", seq_along(cards) - 1)
options <- if (words[4] == "bdeu") list(score = "bde", iss = 10) else list(score = "bic")
if (words[3] == "score") {
    graph <- empty.graph(names(frame))
    pairs <- do.call(rbind, strsplit(words[-(1:4)], ","))
    if (!is.null(pairs)) arcs(graph) <- matrix(paste0("v", pairs), ncol = 2)
    cat(format(do.call(score, c(list(graph, frame, type = options$score), options[-1])), digits = 17))
} else {
    graph <- do.call(words[3], c(list(frame), options))
    cat(sub("v", "", t(arcs(graph))), fill = 1)
}
"""


def load(problem, search="hc"):
    """Write program and table, and return the command with the names of the variables."""
    folder = Path(tempfile.mkdtemp())
    (folder / "search.R").write_text(PROGRAM)
    names = list(problem.frame.columns)
    codes = np.column_stack([problem.frame[name].cat.codes for name in names])
    cards = " ".join(str(len(problem.frame[name].cat.categories)) for name in names)
    np.savetxt(folder / "table.txt", codes, fmt="%d", header=cards, comments="")
    return ["Rscript", folder / "search.R", folder / "table.txt", str(len(names)), search, problem.score], names


def learn(loaded):
    command, names = loaded
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:  # the limit of the caller, which each process inherits
        os.kill(os.getpid(), signal.SIGXCPU)
    done.check_returncode()
    numbers = [int(word) for word in done.stdout.split()]
    return names, np.array(numbers, dtype=np.int64).reshape(-1, 2).tolist()


def edges(result):
    names, arcs = result
    return [(names[tail], names[head]) for tail, head in arcs]


def own_score(problem, result):
    command, names = load(problem, "score")
    place = {name: v for v, name in enumerate(names)}
    arcs = [f"{place[tail]},{place[head]}" for tail, head in edges(result)]
    return float(subprocess.run([*command, *arcs], check=True, capture_output=True, text=True).stdout)


load_tabu = partial(load, search="tabu")
