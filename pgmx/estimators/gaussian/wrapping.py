"""Learners of Gaussian graphical models that are wrapped around another one."""

from sklearn.base import clone

from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.learner import ContinuousLearner, GaussianLearner
from pgmx.statistics import GaussianSample


class WrappingLearner(ContinuousLearner):
    """Base of the learners with an `estimator`, whose results become their own.

    What only the estimator has (such as `precision_raw_` of CLIME) is found on `estimator_`, its fitted copy.
    """

    estimator: ContinuousLearner | None

    def _wrapped(self) -> ContinuousLearner:
        """Return the learner within, unfitted."""
        raise TypeError(f"{type(self).__name__} does not implement _wrapped")

    @property
    def data(self):
        """The data that the learner within is bound to; ``estimate()`` learns from them."""
        return getattr(self.estimator, "data", None)

    def _refits(self) -> bool:
        return self._leaf()._refits()

    def _leaf(self) -> GaussianLearner:
        return self._wrapped()._leaf()

    def _validate(self) -> None:
        super()._validate()
        self._wrapped()._validate()

    def _accept(self, sample: GaussianSample, found: GaussianEstimate) -> None:
        self.estimator_ = clone(self._wrapped())
        self.estimator_.lam_max_ = self.lam_max_
        self.estimator_._accept(sample, found)
        super()._accept(sample, found)
