"""Dynamic Bayesian networks in json: the documents of the transition and of the prior network, and the columns."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from pgmx.models.files.documents import read_document, to_json_value, write_document
from pgmx.models.files.formats import MARKS, check_list, check_marks, check_name
from pgmx.models.files.mixed import MixedParts, describe_mixed, parse_mixed

DYNAMIC_TYPE = "DynamicBayesianNetwork"


class DynamicParts(NamedTuple):
    """The fields of a dynamic network: its two networks over lagged columns, and how tables hold its series."""

    names: tuple[Hashable, ...]
    lags: int
    static_columns: tuple[Hashable, ...]
    transition: MixedParts
    prior: MixedParts | None
    groups: Hashable | None = None
    time_column: Hashable | None = None
    name: str = ""


def describe_dynamic(parts: DynamicParts) -> dict:
    """Return the document of the fields."""
    return {
        **MARKS,
        "type": DYNAMIC_TYPE,
        "name": parts.name,
        "names": [to_json_value(name, "the name") for name in parts.names],
        "lags": parts.lags,
        "static_columns": [to_json_value(name, "the name") for name in parts.static_columns],
        "groups": to_json_value(parts.groups, "the column of groups"),
        "time_column": to_json_value(parts.time_column, "the column of times"),
        "transition": describe_mixed(parts.transition),
        "prior": None if parts.prior is None else describe_mixed(parts.prior),
    }


def parse_dynamic(document: dict) -> DynamicParts:
    """Return the fields in a document; raise if it has another type or is damaged."""
    check_marks(document, DYNAMIC_TYPE)
    lags = document["lags"]
    if type(lags) is not int or lags < 1:
        raise ValueError(f"its number of lags is {lags!r:.60}")
    groups, time_column = document["groups"], document["time_column"]
    for key, value in (("groups", groups), ("time_column", time_column)):
        if type(value) not in (str, int, float, bool, type(None)):
            raise ValueError(f"its {key} is {value!r:.60}")
    networks: list[MixedParts | None] = []
    for key in ("transition", "prior"):
        if key == "prior" and document[key] is None:
            networks.append(None)
            continue
        try:
            networks.append(parse_mixed(document[key]))
        except ValueError as error:
            raise ValueError(f"its {key} network: {error}") from None
    transition, prior = networks
    assert transition is not None
    names = _check_names(document["names"], "the names")
    static = _check_names(document["static_columns"], "the static columns")
    return DynamicParts(names, lags, static, transition, prior, groups, time_column, check_name(document["name"]))


def _check_names(values: object, what: str) -> tuple:
    names: Sequence = check_list(values, what)
    wrong = [name for name in names if type(name) not in (str, int, float, bool)]
    if wrong:
        raise ValueError(f"{what} hold {wrong[0]!r:.60}")
    return tuple(names)


#: Writers and readers by format; each format is also a file suffix.
DYNAMIC_WRITERS: dict[str, Callable[[DynamicParts], bytes]] = {
    "json": lambda parts: write_document(describe_dynamic(parts))
}
DYNAMIC_READERS: dict[str, Callable[[bytes], DynamicParts]] = {
    "json": lambda raw: parse_dynamic(read_document(raw)),
}
