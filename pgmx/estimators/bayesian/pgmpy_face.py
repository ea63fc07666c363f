"""What the learners of Bayesian networks take from pgmpy: scores, metrics, and the base of causal discovery.

pgmpy renames these between its versions: `get_metrics` becomes `get_metric`, and its private base of causal discovery
becomes `BaseCausalDiscovery`, with the tags of scikit-base. Both spellings are looked for here, and nowhere else.
"""

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pgmpy import causal_discovery, metrics
from pgmpy.structure_score import BaseStructureScore

__all__ = ["BaseStructureScore", "CausalDiscovery", "make_metric"]


def make_metric(name: str | None, *, compares_graphs: bool) -> Any:
    """Return pgmpy's metric of that name, or without a name its default for two graphs, or for data and a graph."""
    if hasattr(metrics, "get_metric"):
        return metrics.get_metric(name, requires_true_graph=compares_graphs)
    if name is not None:
        found: Any = metrics.get_metrics(name=name)
    else:
        kind = "requires_true_graph" if compares_graphs else "requires_data"
        found = metrics.get_metrics(**{kind: True, "is_default": True})
    if not found:
        raise ValueError(f"metric={name!r} is not known; pgmpy.metrics.get_metrics() lists the metrics")
    return found[0]()


def _find_base() -> Any:
    """Return pgmpy's base of causal discovery if it is public. Its private form of earlier versions has no tags."""
    modules: tuple[Any, ...] = causal_discovery, sys.modules.get("pgmpy.causal_discovery._base")
    return next((m.BaseCausalDiscovery for m in modules if hasattr(m, "BaseCausalDiscovery")), object)


if TYPE_CHECKING:
    _Base = object
else:
    _Base = _find_base()


class CausalDiscovery(_Base):
    """The tags of pgmpy's causal discovery under any version of pgmpy, and the other methods of its base if it has one.

    Learners inherit `BaseStructureLearner` first, so that ``fit`` and the checks of the input are ours. A class states
    its tags in `_tags`, and inherits those that it does not state.
    """

    _tags: ClassVar[dict[str, Any]] = {
        "object_type": "causal_discovery",
        "name": None,
        "data_types": ["discrete", "continuous", "mixed"],
        "identifiable_graph": "cpdag",
        "requires_target": False,
        "capability:multivariate": True,
        "capability:expert_knowledge": ["forbidden_edges", "required_edges", "search_space", "temporal_order"],
        "assumption:causal_sufficiency": True,
        "assumption:acyclicity": True,
        "assumption:faithfulness": False,
        "assumption:linearity": False,
        "assumption:additive_noise": False,
        "assumption:gaussian_noise": False,
        "assumption:non_gaussian_noise": False,
        "assumption:low_noise": False,
    }

    @classmethod
    def get_class_tags(cls) -> dict[str, Any]:
        """Return the tags of the class.

        Returns
        -------
        dict
            From names of tags to their values; see :meth:`get_tags`.
        """
        tags: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            tags.update(vars(base).get("_tags", {}))
        return tags

    @classmethod
    def get_class_tag(cls, tag_name: str, tag_value_default: Any = None) -> Any:
        """Return one tag of the class.

        Parameters
        ----------
        tag_name : str
            Name of the tag.
        tag_value_default : object, default=None
            What to return if there is no such tag.

        Returns
        -------
        object
            The value of the tag.
        """
        return cls.get_class_tags().get(tag_name, tag_value_default)

    def get_tags(self) -> dict[str, Any]:
        """Return the tags of the learner, as learners of ``pgmpy.causal_discovery`` have them.

        Returns
        -------
        dict
            From names of tags to their values: those of the class, and those of :meth:`set_tags`. They tell what data
            the learner accepts, what knowledge it respects and what its guarantees assume.
        """
        return self.get_class_tags() | getattr(self, "_tags_dynamic", {})

    def get_tag(self, tag_name: str, tag_value_default: Any = None, raise_error: bool = True) -> Any:
        """Return one tag of the learner.

        Parameters
        ----------
        tag_name : str
            Name of the tag.
        tag_value_default : object, default=None
            What to return if there is no such tag and `raise_error` is False.
        raise_error : bool, default=True
            Whether an unknown tag is an error.

        Returns
        -------
        object
            The value of the tag.

        Raises
        ------
        ValueError
            If there is no such tag and `raise_error` is True.
        """
        tags = self.get_tags()
        if raise_error and tag_name not in tags:
            raise ValueError(f"{type(self).__name__} has no tag {tag_name!r}; get_tags() lists the tags")
        return tags.get(tag_name, tag_value_default)

    def set_tags(self, **tag_dict: Any) -> Self:
        """Set tags of this learner; its class and its clones keep theirs.

        Parameters
        ----------
        **tag_dict
            From names of tags to their values.

        Returns
        -------
        self
            The learner.
        """
        self._tags_dynamic = getattr(self, "_tags_dynamic", {}) | tag_dict
        return self
