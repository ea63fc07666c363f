"""Cases of plain functions: arguments drawn, at most one of them spoiled, and what the result must be."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.cases import Case, chance, entry, fault, pick

Arguments = dict[str, Any]


class InFolder(NamedTuple):
    """A path in the folder of the case."""

    name: str


class Wrong(NamedTuple):
    """Values of an argument that must be refused, and what an error may call it besides its name."""

    values: tuple
    words: tuple[str, ...] = ()


def enter_calls(
    name: str,
    function: Callable,
    draw: Callable[[np.random.Generator], Arguments],
    check: Callable[[Any, Arguments], None],
    wrong: Mapping[str, Wrong] | None = None,
    weight: float = 1.0,
) -> None:
    """Enter cases of a function that is called by keywords.

    `draw` returns sound arguments, `wrong` names values that must be refused; a callable among them is applied to the
    sound value.
    """

    def draw_call(rng: np.random.Generator) -> Case:
        arguments, faults = draw(rng), []
        plan = ""
        known = [
            option for option in wrong or () if option in arguments or not all(map(callable, wrong[option].values))
        ]
        if known and chance(rng, 0.4):
            option = pick(rng, known)
            value = pick(rng, [v for v in wrong[option].values if option in arguments or not callable(v)])
            arguments[option] = value(arguments[option]) if callable(value) else value
            faults = [fault(option, *wrong[option].words)]
            plan = f"wrong {option}={arguments[option]!r:.200}; "

        def call(folder: Path) -> Any:
            values = {
                key: folder / value.name if isinstance(value, InFolder) else value for key, value in arguments.items()
            }
            return function(**values)

        plan += ", ".join(f"{key}={value!r:.150}" for key, value in arguments.items())
        return Case("", call, lambda result: check(result, arguments), faults, plan=plan)

    entry(name, weight)(draw_call)


def ignore(result: Any, arguments: Arguments) -> None:
    """Accept any result."""
