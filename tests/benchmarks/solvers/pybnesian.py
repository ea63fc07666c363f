"""pybnesian: GreedyHillClimbing on arcs with its BIC; one thread always."""

import pybnesian


def load(problem):
    """Return the arguments of the learning call: the score object holds the data as Arrow columns."""
    return {
        "operators": pybnesian.ArcOperatorSet(),
        "score": pybnesian.BIC(problem.frame),
        "start": pybnesian.DiscreteBN(list(problem.frame.columns)),
    }


def learn(loaded):
    return pybnesian.GreedyHillClimbing().estimate(**loaded)


def end_to_end(problem):
    return pybnesian.hc(problem.frame, bn_type=pybnesian.DiscreteBNType(), score="bic", operators=["arcs"])


def edges(network):
    return network.arcs()


def own_score(problem, network):
    return pybnesian.BIC(problem.frame).score(network)
