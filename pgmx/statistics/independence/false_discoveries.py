"""Control of the false discovery rate among many tests.

References: Benjamini & Hochberg (1995), Controlling the false discovery rate, JRSS B 57; Benjamini & Yekutieli (2001),
The control of the false discovery rate in multiple testing under dependency, Annals of Statistics 29, theorem 1.3.
"""

from typing import Any

import numpy as np

from pgmx.checks import is_number
from pgmx.statistics.independence.source import FloatArray


def find_threshold(p_values: FloatArray, n_tests: int, kind: str, rate: float) -> float:
    """Return the largest p-value that is a discovery, -1 if there is none.

    With the p-values in ascending order, it is the last p_(k) <= k q / m, where m is `n_tests`, at least their number:
    the others are larger than these. "by" divides the rate q by 1 + 1/2 + ... + 1/m.
    """
    if kind == "by":
        rate /= float(np.sum(1.0 / np.arange(1, n_tests + 1)))
    ordered = np.sort(p_values)
    passes = ordered <= np.arange(1, len(ordered) + 1) * (rate / max(n_tests, 1))
    return float(ordered[passes][-1]) if passes.any() else -1.0


def read_fdr(fdr: Any) -> tuple[str, float] | None:
    """Return the option `fdr` as ("bh" or "by", rate)."""
    if fdr is None:
        return None
    kind, rate = fdr if isinstance(fdr, tuple) and len(fdr) == 2 else ("bh", fdr)
    if kind not in ("bh", "by") or not is_number(rate) or not 0 < rate < 1:
        raise ValueError(f"fdr must be a rate between 0 and 1, ('bh', rate) or ('by', rate), got {fdr!r}")
    return kind, float(rate)
