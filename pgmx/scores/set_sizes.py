"""The number of sets of each size, which prices the parents of a variable by how many sets could have been chosen."""

from typing import Any

from scipy.special import gammaln


def log_choices(n: int, k: Any) -> Any:
    """Return ln C(n, k), the logarithm of the number of sets of `k` out of `n`, for an integer or an array of them.

    It is exactly 0 for k = 0 and k = n, and -inf for k > n.
    """
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
