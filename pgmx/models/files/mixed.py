"""Conditional linear Gaussian networks in json, in the terms of R's bnlearn.

A document has a list `distributions` with one entry per variable, like the argument of ``custom.fit`` of bnlearn. A
discrete variable has `levels` and `prob`, an array over (levels, levels of each parent). A continuous variable has
`coef`, with a row of intercepts, a row per continuous parent and a column per configuration of the discrete parents
(the first parent varies fastest), and `sd`, one value per configuration.
"""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily, MixedFamilies, normalise
from pgmx.models.files.documents import make_document, read_document, to_json_value, write_document
from pgmx.models.files.formats import check_distinct, check_list, check_marks, check_name, check_probabilities

MIXED_TYPE = "ConditionalGaussianNetwork"


class MixedParts(NamedTuple):
    """The fields of a conditional linear Gaussian network; `states` are None for continuous variables."""

    names: Sequence[Hashable]
    states: Sequence[tuple | None]
    families: MixedFamilies
    name: str = ""


def describe_mixed(parts: MixedParts) -> dict:
    """Return the document of the fields."""
    names = [to_json_value(name, "the name") for name in parts.names]
    levels = [
        None if states is None else [to_json_value(state, f"a state of {name!r}:") for state in states]
        for name, states in zip(parts.names, parts.states, strict=True)
    ]
    nodes = [
        {"id": name} if own is None else {"id": name, "states": own} for name, own in zip(names, levels, strict=True)
    ]
    ends = sorted((p, v) for v, parents in enumerate(parts.families.parents) for p in parents)
    edges = [{"source": names[p], "target": names[v]} for p, v in ends]
    document = make_document(MIXED_TYPE, {"name": parts.name} if parts.name else {}, nodes, edges, directed=True)
    entries = []
    for name, own, family in zip(names, levels, parts.families.families, strict=True):
        parents = [names[p] for p in family.discrete_parents]
        if isinstance(family, DiscreteFamily):
            entry = {"type": "discrete", "parents": parents, "levels": own, "prob": family.table.tolist()}
        else:
            # Order of configurations in R: the first parent varies fastest.
            rows = [family.coefficients[..., k].ravel(order="F") for k in range(1 + len(family.continuous_parents))]
            entry = {
                "type": "cgaussian" if parents else "gaussian",
                "parents": parents + [names[p] for p in family.continuous_parents],
                "dparents": parents,
                "gparents": [names[p] for p in family.continuous_parents],
                "coef": [row.tolist() for row in rows],
                "sd": family.std.ravel(order="F").tolist(),
            }
        entries.append({"variable": name, **entry})
    return {**document, "distributions": entries}


def parse_mixed(document: dict) -> MixedParts:
    """Return the fields in a document; raise if it has another type or is damaged."""
    check_marks(document, MIXED_TYPE)
    nodes = check_list(document["nodes"], "its nodes")
    names = [to_json_value(node["id"], "the name") for node in nodes]
    check_distinct(names, "the names of nodes")
    states = [tuple(check_list(node["states"], "the states")) if "states" in node else None for node in nodes]
    for name, own in zip(names, states, strict=True):
        if own is not None:
            check_distinct([to_json_value(state, f"a state of {name!r}:") for state in own], f"the states of {name!r}")
            if not own:
                raise ValueError(f"{name!r} has no states")
    place = {name: v for v, name in enumerate(names)}
    entries = check_list(document["distributions"], "its distributions")
    check_distinct([entry["variable"] for entry in entries], "the variables of its distributions")
    if {entry["variable"] for entry in entries} != set(names):
        raise ValueError("its distributions do not match its nodes")
    families: list = [None] * len(names)
    for entry in entries:
        v = place[entry["variable"]]
        families[v] = (_read_table if states[v] is not None else _read_regressions)(entry, place, states)
    network = MixedFamilies(tuple(0 if own is None else len(own) for own in states), tuple(families))
    if len(network.order) < len(names):
        raise ValueError("the parents in its distributions form a cycle")
    edges = check_list(document["edges"], "its edges")
    ends = sorted((place[edge["source"]], place[edge["target"]]) for edge in edges)
    if ends != sorted((p, v) for v, parents in enumerate(network.parents) for p in parents):
        raise ValueError("its edges do not match the parents in its distributions")
    name = check_name(document["graph"].get("name", ""))
    return MixedParts(names, states, network, name)


def _read_parents(entry: dict, key: str, place: dict, states: list, discrete: bool) -> tuple[int, ...]:
    parents = check_list(entry[key], f"the {key} of {entry['variable']!r}")
    check_distinct([entry["variable"], *parents], f"the variables of the distribution of {entry['variable']!r}")
    positions = tuple(place[name] for name in parents)
    if any((states[p] is not None) != discrete for p in positions):
        raise ValueError(f"the {key} of {entry['variable']!r} must all be {'discrete' if discrete else 'continuous'}")
    return positions


def _read_numbers(entry: dict, key: str, shape: tuple[int, ...]) -> np.ndarray:
    values = np.array(entry[key], dtype=float)
    if values.shape != shape or not (np.abs(values) <= 1e100).all():
        raise ValueError(
            f"the {key} of {entry['variable']!r} must be numbers up to 1e100 of the shape {shape}, got {values.shape}"
        )
    return values


def _read_table(entry: dict, place: dict, states: list) -> DiscreteFamily:
    parents = _read_parents(entry, "parents", place, states, True)
    own = states[place[entry["variable"]]]
    if entry["type"] != "discrete" or tuple(check_list(entry["levels"], "levels")) != own:
        raise ValueError(f"the distribution of {entry['variable']!r} is not over its states")
    table = _read_numbers(entry, "prob", (len(own), *(len(states[p]) for p in parents)))
    check_probabilities(table.reshape(len(own), -1), entry["variable"])
    return DiscreteFamily(parents, normalise(table))


def _read_regressions(entry: dict, place: dict, states: list) -> GaussianFamily:
    discrete = _read_parents(entry, "dparents", place, states, True)
    continuous = _read_parents(entry, "gparents", place, states, False)
    if entry["type"] not in ("gaussian", "cgaussian"):
        raise ValueError(f"the type of {entry['variable']!r} is {entry['type']!r:.60}")
    cards = tuple(len(states[p]) for p in discrete)
    rows = _read_numbers(entry, "coef", (1 + len(continuous), prod(cards)))
    std = _read_numbers(entry, "sd", (prod(cards),))
    if not (std > 0.0).all():
        raise ValueError(f"the standard deviations of {entry['variable']!r} hold {float(std.min())!r}")
    coefficients = np.stack([row.reshape(cards, order="F") for row in rows], axis=-1)
    return GaussianFamily(discrete, continuous, coefficients, std.reshape(cards, order="F"))


#: Writers and readers by format; each format is also a file suffix.
MIXED_WRITERS: dict[str, Callable[[MixedParts], bytes]] = {"json": lambda parts: write_document(describe_mixed(parts))}
MIXED_READERS: dict[str, Callable[[bytes], MixedParts]] = {"json": lambda raw: parse_mixed(read_document(raw))}
