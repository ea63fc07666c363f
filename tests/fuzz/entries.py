"""The modules that enter cases of public entry points, and what is made once before any child is forked."""

import sys
from importlib import import_module
from pathlib import Path

from tests.helpers.bif_grammars import share_grammars

MODULES = (
    "search_cases",
    "markov_cases",
    "gaussian_cases",
    "data_cases",
    "bin_cases",
    "number_cases",
    "network_cases",
    "answer_cases",
    "effect_cases",
    "intervention_cases",
    "row_cases",
    "gaussian_row_cases",
    "data_set_cases",
    "model_cases",
    "mixed_cases",
    "classifier_cases",
    "time_series_cases",
    "dynamic_model_cases",
    "ci_test_cases",
    "constraint_cases",
    "posterior_cases",
    "count_cases",
    "further_cases",
    "graph_cases",
    "system_cases",
    "series_cases",
    "dynamic_cases",
    "equation_cases",
    "gradraker_cases",
    "raker_cases",
    "file_cases",
    "command_line_cases",
    "command_series_cases",
    "stream_cases",
)


def load_entries() -> None:
    """Import the modules that enter cases, and make the sound files."""
    tests = str(Path(__file__).parents[1])
    if tests not in sys.path:
        sys.path.append(tests)  # some helpers are imported as the tests import them
    for name in MODULES:
        import_module(f"tests.fuzz.{name}")
    share_grammars(setattr)
    import_module("tests.fuzz.file_cases").sound_files()
