"""Scores, metrics and the base class of causal discovery, imported from pgmpy.

Some names differ between versions of pgmpy: `get_metrics` becomes `get_metric`, and the private base class of causal
discovery becomes `BaseCausalDiscovery`, with the tags of scikit-base. Only this module handles both names.
"""

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pgmpy import causal_discovery, metrics
from pgmpy.structure_score import BaseStructureScore

__all__ = ["BaseStructureScore", "CausalDiscovery", "make_metric"]


def make_metric(name: str | None, *, compares_graphs: bool) -> Any:
    """Return pgmpy's metric of that name, or its default for two graphs or for data and a graph."""
    get_metric: Any = getattr(metrics, "get_metric", None)
    if get_metric is not None:
        return get_metric(name, requires_true_graph=compares_graphs)
    if name is not None:
        found: Any = metrics.get_metrics(name=name)
    else:
        kind = "requires_true_graph" if compares_graphs else "requires_data"
        found = metrics.get_metrics(**{kind: True, "is_default": True})
    if not found:
        raise ValueError(f"metric={name!r} is not known; pgmpy.metrics.get_metrics() lists the metrics")
    return found[0]()


def _find_base() -> Any:
    """Return pgmpy's base class of causal discovery if it is public. The private one has no tags."""
    modules: tuple[Any, ...] = causal_discovery, sys.modules.get("pgmpy.causal_discovery._base")
    return next((m.BaseCausalDiscovery for m in modules if hasattr(m, "BaseCausalDiscovery")), object)


if TYPE_CHECKING:
    _Base = object
else:
    _Base = _find_base()


class CausalDiscovery(_Base):
    """Tags of pgmpy's causal discovery under any version, and other methods of its base class if any.

    Learners inherit `BaseStructureLearner` first, so that ``fit`` and the input checks are defined by pgmx. A class
    sets its tags in `_tags` and inherits the other tags.
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
            Values of the tags by name, see :meth:`get_tags`.
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
            Value to return if there is no such tag.

        Returns
        -------
        object
            The value of the tag.
        """
        return cls.get_class_tags().get(tag_name, tag_value_default)

    def get_tags(self) -> dict[str, Any]:
        """Return the tags of the learner, as in ``pgmpy.causal_discovery``.

        Returns
        -------
        dict
            Values of the tags by name, from the class and from :meth:`set_tags`. They describe which data the learner
            accepts, which prior knowledge it uses, and which assumptions its guarantees need.
        """
        return self.get_class_tags() | getattr(self, "_tags_dynamic", {})

    def get_tag(self, tag_name: str, tag_value_default: Any = None, raise_error: bool = True) -> Any:
        """Return one tag of the learner.

        Parameters
        ----------
        tag_name : str
            Name of the tag.
        tag_value_default : object, default=None
            Value to return if there is no such tag and `raise_error` is False.
        raise_error : bool, default=True
            Whether an unknown tag raises an error.

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
        """Set tags of this learner. Its class and its clones are not changed.

        Parameters
        ----------
        **tag_dict
            Values of the tags by name.

        Returns
        -------
        self
            The learner.
        """
        self._tags_dynamic = getattr(self, "_tags_dynamic", {}) | tag_dict
        return self
