"""The work of ``pgmx infer``: the tasks of the UAI competitions, their results in the form of these."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

import click

from pgmx.cli.inputs.networks import read_network
from pgmx.cli.inputs.paths import check_writable


def infer(model: str, *, evidence: Path | None, task: str, method: str, out: Path | None) -> None:
    """Answer one question about a discrete network and print the answer, or write it."""
    from pgmx.inference import log_partition, map_assignment, marginals
    from pgmx.models.evidence import read_evidence_codes

    if out is not None:
        check_writable(out, "--out")
    network = _read_factors(model)
    cards = network.cardinalities.tolist()
    codes: dict[Any, Any] = {} if evidence is None else read_evidence_codes(evidence, cards)
    if task == "PR":
        answer = f"{log_partition(network, codes, method=method) / log(10):.12g}"
    elif task == "MAP":
        best = {**map_assignment(network, codes, method=method), **codes}
        answer = " ".join(map(str, [len(cards), *(best[v] for v in range(len(cards)))]))
    else:
        beliefs = marginals(network, codes, method=method)
        words: list[Any] = [len(cards)]
        for v, card in enumerate(cards):
            shares = [float(codes[v] == k) for k in range(card)] if v in codes else beliefs.array(v).tolist()
            words += [card, *(f"{share:.10g}" for share in shares)]
        answer = " ".join(map(str, words))
    if out is None:
        click.echo(f"{task}\n{answer}")
        return
    from pgmx.atomic import replace_file

    with replace_file(out) as part:
        part.write_text(f"{task}\n{answer}\n", encoding="ascii")


def _read_factors(text: str) -> Any:
    """Return a network as factors in logarithms, variables and states by number."""
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

    import pgmx.inference
    from pgmx.inference.networks.bayesian import BayesianArrays

    network = read_network(text)
    if hasattr(network, "potentials"):
        return network.potentials
    if isinstance(network, DiscreteMarkovNetwork):
        return pgmx.inference.read_network(network).factors
    if isinstance(network, DiscreteBayesianNetwork):
        return BayesianArrays.from_model(network).normalise().to_factors()
    raise ValueError(f"{text} holds a {type(network).__name__}: infer takes a discrete network with its parameters")
