"""What learners hand back: pgmpy's graphs and networks, built from integer edges, and their way to files.

- `bayesian_network`: edges to ``DAG``, ``PDAG`` and fitted networks
- `equivalence`: the CPDAG of a DAG, with background knowledge
- `export`: bif, xmlbif, graphml, json
"""

from pgmx.models.bayesian_network import fit_discrete, fit_linear_gaussian, to_dag, to_linear_gaussian, to_pdag
from pgmx.models.equivalence import cpdag
from pgmx.models.export import read_json, read_model, save_model

__all__ = [
    "cpdag",
    "fit_discrete",
    "fit_linear_gaussian",
    "read_json",
    "read_model",
    "save_model",
    "to_dag",
    "to_linear_gaussian",
    "to_pdag",
]
