"""pyAgrum: BNLearner with greedy hill climbing, BIC without a prior or BDeu of sample size 10, one thread."""

import math

import pyagrum


def load(problem):
    """Return a learner that holds the data, every setting made; its frame reader goes through a CSV file."""
    states = pyagrum.BayesNet()  # gives the learner the states that never occur
    for name, labels in problem.states.items():
        states.add(pyagrum.LabelizedVariable(name, name, list(labels)))
    learner = pyagrum.BNLearner(problem.frame, states)
    learner.useGreedyHillClimbing()
    if problem.score == "bic":
        learner.useScoreBIC()
        learner.useNoPrior()
    else:  # useScoreBDeu fixes the sample size at 1
        learner.useScoreBD()
        learner.useBDeuPrior(10)
    learner.setMaxIndegree(len(problem.states))
    learner.setNumberOfThreads(1)
    return learner


def learn(learner):
    return learner, learner.learnDAG()


def end_to_end(problem):
    return learn(load(problem))


def edges(result):
    learner, dag = result
    return [(learner.nameFromId(tail), learner.nameFromId(head)) for tail, head in dag.arcs()]


def own_score(problem, result):
    learner, dag = result
    names = {v: learner.nameFromId(v) for v in dag.nodes()}
    bits = sum(learner.score(names[v], [names[p] for p in dag.parents(v)]) for v in names)
    return bits * math.log(2)  # its scores are in bits
