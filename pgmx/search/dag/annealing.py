"""Simulated annealing over directed acyclic graphs."""

import numpy as np

from pgmx.search.dag.course import Course
from pgmx.search.dag.state import DagState

#: Temperatures between the first and the last one.
N_LEVELS = 100


def anneal(
    state: DagState, course: Course, *, seed: int, n_draws: int, initial_temperature: float, final_temperature: float
) -> None:
    r"""Draw moves at random and accept them by the rule of Metropolis at a falling temperature.

    A legal move of gain d is accepted with probability :math:`\min(1, e^{d / T})`; the temperature falls
    geometrically, :math:`T_i = T_0 (T_L / T_0)^{i / (L - 1)}`, over L = 100 levels of equally many draws.

    Parameters
    ----------
    state : DagState
        The first graph; must offer all moves.
    course : Course
        Keeps the best graph.
    seed : int
        Of the draws.
    n_draws : int
        Moves drawn in all.
    initial_temperature, final_temperature : float
        T_0 and T_L, in nats.

    Notes
    -----
    Cost: a draw that is not accepted costs a look-up; one that is costs a row of gains (two for a reversal).

    References
    ----------
    .. [1] Kirkpatrick, S., Gelatt, C. D. and Vecchi, M. P. (1983). Optimization by simulated annealing. Science 220.
    .. [2] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks. Machine Learning 20,
       section 7.
    """
    word = np.array([course.memo.get("word", seed)], dtype=np.uint64)
    drawn = int(course.memo.get("drawn", 0))
    temperatures = np.geomspace(initial_temperature, final_temperature, N_LEVELS)
    while drawn < n_draws:
        course.check()
        level = drawn * N_LEVELS // n_draws
        end = -(-(level + 1) * n_draws // N_LEVELS)
        op, tail, head, _, made = state.moves.draw(float(temperatures[level]), end - drawn, word)
        drawn += made
        if op >= 0:
            course.keep_best(state)
            state.make(op, tail, head)
            course.record_move(state)
            course.mark_safe(state, word=word[0], drawn=drawn)


def usual_temperature(state: DagState) -> float:
    """Return a tenth of what the best single parent gains, the median over the variables, in nats.

    Parameters
    ----------
    state : DagState
        Any graph over them.

    Returns
    -------
    float
        At least 1.0.
    """
    return max(0.1 * float(np.median(state.first_gains)), 1.0)
