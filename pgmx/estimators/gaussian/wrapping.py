"""Learners of Gaussian graphical models that wrap another one."""

from abc import abstractmethod
from typing import Any

from sklearn.base import clone

from pgmx.estimators.gaussian.cost import GaussianSize
from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.learner import ContinuousLearner, GaussianLearner
from pgmx.statistics import GaussianSample


class WrappingLearner(ContinuousLearner):
    """Base of the learners that wrap an `estimator` and take over its results.

    Attributes that only the estimator has (such as `precision_raw_` of CLIME) are attributes of `estimator_`, its
    fitted copy.
    """

    estimator: ContinuousLearner | None
    estimator_: ContinuousLearner

    @abstractmethod
    def _inner_learner(self) -> ContinuousLearner:
        """Return the wrapped learner, unfitted."""

    @property
    def data(self):
        """The data given to the wrapped learner; ``estimate()`` learns from them."""
        return getattr(self.estimator, "data", None)

    def _should_refit(self) -> bool:
        return self._leaf()._should_refit()

    def _leaf(self) -> GaussianLearner:
        return self._inner_learner()._leaf()

    def _takes_rows(self) -> bool:
        return self._inner_learner()._takes_rows()

    def _estimate_reading(self, size: GaussianSize) -> int:
        return self._inner_learner()._estimate_reading(size)

    def _estimate_solving(self, size: GaussianSize) -> int:
        return self._inner_learner()._estimate_solving(size)

    def _validate(self) -> None:
        super()._validate()
        self._inner_learner()._validate()

    def _accept(self, sample: GaussianSample, estimate: GaussianEstimate) -> None:
        learner: Any = clone(self._inner_learner())
        learner.lam_max_ = self.lam_max_
        learner._accept(sample, estimate)
        self.estimator_ = learner
        super()._accept(sample, estimate)
