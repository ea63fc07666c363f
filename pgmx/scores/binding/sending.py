"""How scores travel to other processes and into pickles: without what cannot be sent, or is sent beside them."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeVar

from pgmpy.structure_score import BaseStructureScore

from pgmx.checks import count_workers
from pgmx.parallel.spread import make_sendable, shares_memory
from pgmx.scores.compiled import CompiledScore

Bound = TypeVar("Bound")


def strip_data(score: CompiledScore) -> CompiledScore:
    """Return a copy of one of pgmx's scores that has its options but not its data."""
    bare = copy(score)
    for name in ("data", "table", "moments"):
        if hasattr(bare, name):
            setattr(bare, name, None)
    bare._family_scores = {}
    return bare


def strip_cache(score: BaseStructureScore) -> BaseStructureScore | None:
    """Return a copy of a foreign score without the cache, which cannot be pickled; None where that is not enough."""
    state = {name: value for name, value in vars(score).items() if name != "_cached_local_score"}
    try:
        pickle.dumps((type(score), {name: value for name, value in state.items() if name != "data"}))
    except Exception:  # whatever a foreign object raises: its class is local, it holds a lock or a file
        return None
    bare = object.__new__(type(score))
    bare.__dict__.update(state)
    return bare


@contextmanager
def send_scoring(scoring: Bound, n_jobs: int | None) -> Iterator[Bound]:
    """Yield a score bound to data in the form that `n_jobs` workers read fastest: itself where they share memory."""
    table = getattr(scoring, "table", None)
    if table is None or count_workers(n_jobs) == 1:
        yield scoring
        return
    with make_sendable(table, shares_memory("threads")) as sent:
        twin: Any = copy(scoring)
        twin.table = sent
        yield twin


class StoredScoring:
    """A score bound to data, kept by a fitted learner, whose pickle does not depend on the file of a mapped table.

    After unpickling the score is restored on the first access; where the file is gone, that fails and nothing else.
    """

    def __init__(self, scoring: Any):
        self._scoring = scoring
        self._pickle: bytes | None = None

    def get(self) -> Any:
        """Return the score; FileNotFoundError where the file of its table is gone."""
        if self._pickle is not None:
            self._scoring, self._pickle = pickle.loads(self._pickle), None
        return self._scoring

    def __getstate__(self) -> dict[str, Any]:
        if any(getattr(getattr(self._scoring, name, None), "path", None) for name in ("table", "data")):
            return {"_scoring": None, "_pickle": pickle.dumps(self._scoring)}
        return self.__dict__
