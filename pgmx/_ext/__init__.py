"""Compiled kernels, built from ``cython_ext/``, where each folder serves one package.

- `data`: `_encode` columns to state codes, `_rows` rows of them, `_counts` bit planes and their counts,
  `_checksums` sums that show whether they are as they were written
- `statistics`: `_pair_tables` cells of pairs of variables, `_ranks` rank correlations
- `scores`: `_scorer` the base of the sources of gains: `_families` states, `_weighted` states with row weights,
  `_gaussian` a correlation matrix
- `search`: `_dag_graph` a directed graph, `_dag_moves` its legal moves, `_pair_weights` weights of pairs of variables,
  `_spanning`, `_edge_filter` and `_branching` forests of maximum weight,
  `_edge_heap` a priority queue of edges, `_edge_ids` edges between named variables, `_parent_sets` sets of parents
  that beat their subsets, `_subsets` best networks of all subsets
- `inference`: `_belief` messages, `_gibbs` draws
- `markov`: `_pseudolikelihood` and `_bethe`, losses of Markov networks
- `gaussian`: `_gram_lasso` lasso from a covariance matrix, `_clime` linear programmes of precision columns

`common` holds the headers of several folders; `_shared` is what Cython needs for arrays, which all kernels use. A
kernel is imported when it is first asked for.
"""

import importlib
import os

if not any(name.endswith((".so", ".pyd")) for name in os.listdir(__path__[0])):
    # a clone hides the installed package from a Python that was started in it
    raise ImportError(
        f"{os.path.dirname(__path__[0])!r} holds source without compiled kernels: start Python in another folder if "
        "pgmx is installed, or build the kernels here with `python -m pip install -e .` (a C compiler is needed)"
    )


def __getattr__(name: str):
    """Import the kernel ``name``; an ImportError explains how to build it."""
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}" or not name.startswith("_") or name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
        raise ImportError(
            f"the compiled kernel {name!r} is missing: build it with `python -m pip install .`, or with "
            "`python -m pip install -e .` to work on the source (a C compiler is needed)"
        ) from error
