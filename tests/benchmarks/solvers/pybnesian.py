"""pybnesian: GreedyHillClimbing on arcs with its BIC, or its BDe of imaginary sample size 10; one thread always."""

import pybnesian


def score_of(problem):
    return pybnesian.BIC(problem.frame) if problem.score == "bic" else pybnesian.BDe(problem.frame, iss=10)


def load(problem):
    """Return the arguments of the learning call: the score object holds the data as Arrow columns."""
    return {
        "operators": pybnesian.ArcOperatorSet(),
        "score": score_of(problem),
        "start": pybnesian.DiscreteBN(list(problem.frame.columns)),
    }


def learn(loaded):
    return pybnesian.GreedyHillClimbing().estimate(**loaded)


def end_to_end(problem):
    if problem.score != "bic":  # ``hc`` has no way to set the sample size
        return learn(load(problem))
    return pybnesian.hc(problem.frame, bn_type=pybnesian.DiscreteBNType(), score="bic", operators=["arcs"])


def edges(network):
    return network.arcs()


def own_score(problem, network):
    return score_of(problem).score(network)
