"""Cases: a call, what was planted in it, and therefore what it must end in; drawn from a seed and a number."""

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

CLEAR = (ValueError, TypeError, OSError)


@dataclass(frozen=True)
class Fault:
    """Something wrong in a call: an error must hold one of these words, the names of the file, option or variable."""

    words: tuple[str, ...]

    def is_named_by(self, error: BaseException) -> bool:
        """Return whether an error is clear about this fault."""
        return isinstance(error, CLEAR) and any(word in str(error) for word in self.words)


def fault(*words: object) -> Fault:
    """Return a fault, whose culprit is named by any of the words."""
    return Fault(tuple(map(str, words)))


@dataclass
class Case:
    """A call in a folder of its own, and its expected outcome.

    With `faults` the call must raise an error that names one of them; without, its result must pass `check`, which
    raises an AssertionError. With `refusal` both will do: what was damaged at random may be whole or not.
    """

    entry: str
    call: Callable[[Path], Any]
    check: Callable[[Any], None] = lambda result: None
    faults: list[Fault] = field(default_factory=list)
    refusal: Fault | None = None
    plan: str = ""

    @property
    def expectation(self) -> str:
        """What the case must end in."""
        names = " or ".join("/".join(map(repr, fault.words)) for fault in self.faults)
        if self.refusal is not None:
            return f"a valid result, or an error that names {'/'.join(map(repr, self.refusal.words))}"
        return f"an error that names {names}" if self.faults else "a valid result"


Maker = Callable[[np.random.Generator], Case]
MAKERS: dict[str, tuple[Maker, float]] = {}


def entry(name: str, weight: float = 1.0) -> Callable[[Maker], Maker]:
    """Enter a function that draws cases of one or more public entry points, with its share of all cases."""

    def enter(maker: Maker) -> Maker:
        assert name not in MAKERS, name
        MAKERS[name] = (maker, weight)
        return maker

    return enter


def draw_case(seed: int, number: int, pattern: str = "*") -> Case:
    """Return a case; the same seed, number and pattern of entries give the same case."""
    rng = np.random.default_rng([seed, number])
    names = [name for name in MAKERS if fnmatch.fnmatch(name, pattern)]
    if not names:
        raise ValueError(f"no entry matches {pattern!r}; there are {', '.join(MAKERS)}")
    weights = np.array([MAKERS[name][1] for name in names])
    name = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    case = MAKERS[name][0](rng)
    case.entry = case.entry or name
    return case


def pick(rng: np.random.Generator, values: Iterable) -> Any:
    """Return one of some values, whatever they are."""
    values = list(values)
    return values[int(rng.integers(len(values)))]


def chance(rng: np.random.Generator, share: float) -> bool:
    """Return True in a share of the draws."""
    return bool(rng.random() < share)
