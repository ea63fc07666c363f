"""Simulated annealing over directed acyclic graphs."""

import numpy as np

from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker

#: Temperatures between the first and the last one.
N_LEVELS = 100


def anneal(
    state: DagState,
    tracker: SearchTracker,
    *,
    seed: int,
    n_draws: int,
    initial_temperature: float,
    final_temperature: float,
) -> None:
    """Draw moves at random and accept them by the rule of Metropolis at a falling temperature.

    A legal move of gain d is accepted with probability min(1, exp(d / T)); in nats, T falls geometrically from the
    initial to the final temperature over `N_LEVELS` levels of equally many draws. `state` must offer all moves.
    """
    memo = tracker.read_memo("word", "n_drawn")
    # the state of the random numbers is one word, which a checkpoint stores
    word = np.array([memo.integer("word", 0, 2**64 - 1) if memo else seed], dtype=np.uint64)
    n_drawn = memo.integer("n_drawn", tracker.n_iter, n_draws) if memo else 0
    tracker.run.count_steps(n_draws, "draws", n_drawn)
    temperatures = np.geomspace(initial_temperature, final_temperature, N_LEVELS)
    while n_drawn < n_draws:
        tracker.check()
        level = n_drawn * N_LEVELS // n_draws
        # rounded up: the last draw of this level; one call of the kernel draws at one temperature
        end = -(-(level + 1) * n_draws // N_LEVELS)
        op, tail, head, _, n_tried = state.moves.draw(float(temperatures[level]), end - n_drawn, word)
        n_drawn += n_tried
        tracker.run.advance_to(n_drawn)
        if op >= 0:
            # draws are uphill and downhill: the best graph must be copied before it is left
            tracker.keep_best(state)
            state.moves.make_drawn(op, tail, head, float(temperatures[level]), end - n_drawn, int(word[0]))
            tracker.record_move(state)
            tracker.mark_safe_point(state, word=word[0], n_drawn=n_drawn)


def choose_temperature(state: DagState) -> float:
    """Return a tenth of the best single parent's gain in nats, the median over the variables, at least 1."""
    return max(0.1 * float(np.median(state.first_gains)), 1.0)
