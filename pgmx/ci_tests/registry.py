"""The tests of conditional independence by name; choices, help and messages derive from this list."""

from typing import NamedTuple


class RegisteredTest(NamedTuple):
    """A test by name, the class that runs it, and the kind of its data: "discrete", "continuous" or "mixed"."""

    name: str
    class_name: str
    module: str
    kind: str


TESTS = (
    RegisteredTest("chi_square", "ChiSquare", "pgmx.ci_tests.discrete", "discrete"),
    RegisteredTest("chi_square_moments", "ChiSquare", "pgmx.ci_tests.discrete", "discrete"),
    RegisteredTest("g_sq", "GSquare", "pgmx.ci_tests.discrete", "discrete"),
    RegisteredTest("fisher_z", "FisherZ", "pgmx.ci_tests.continuous", "continuous"),
    RegisteredTest("pearsonr", "Pearsonr", "pgmx.ci_tests.continuous", "continuous"),
    RegisteredTest("mixed", "MixedRegression", "pgmx.ci_tests.mixed", "mixed"),
)


def find_test(name: str) -> RegisteredTest:
    """Return the test of a name, in any case; ValueError with the names for any other."""
    for entry in TESTS:
        if entry.name == name.lower():
            return entry
    names = ", ".join(entry.name for entry in TESTS)
    raise ValueError(f"unknown ci_test {name!r}: choose one of {names}, independence_match")


def name_default(n_continuous: int, n_variables: int) -> str:
    """Return the name of the default test of data of which `n_continuous` variables are continuous."""
    if n_continuous == 0:
        return "chi_square"
    return "fisher_z" if n_continuous == n_variables else "mixed"
