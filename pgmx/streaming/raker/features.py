"""Random frequencies of shift-invariant kernels; their sines and cosines approximate the kernels."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

KERNELS = ("gaussian", "laplacian", "cauchy")

#: Factors for the radii of the Gaussian kernel's frequencies: each kernel is a mixture of Gaussian kernels.
_MIXTURES: dict[str, Callable[[np.random.RandomState, int], np.ndarray]] = {
    "gaussian": lambda rng, n: np.ones(n),
    "laplacian": lambda rng, n: 1.0 / np.abs(rng.standard_normal(n)),
    "cauchy": lambda rng, n: np.sqrt(2.0 * rng.standard_exponential(n)),
}


def list_kernels(kernels: str | Sequence[str], variances: float | Sequence[float]) -> tuple[tuple[str, float], ...]:
    """Return the pairs of a kernel and a variance, sorted by kernel; ValueError for invalid ones."""
    names = [kernels] if isinstance(kernels, str) else list(kernels)
    numbers = np.atleast_1d(np.asarray(variances, dtype=np.float64))
    unknown = [name for name in names if name not in KERNELS]
    if unknown or not names:
        culprit = repr(unknown[0]) if unknown else "no kernel"
        raise ValueError(f"kernels={kernels!r} holds {culprit}: give one or several of {', '.join(KERNELS)}")
    wrong = numbers[~((numbers > 0.0) & np.isfinite(numbers))]
    if numbers.ndim != 1 or not len(numbers) or len(wrong):
        raise ValueError(f"variances={variances!r} must be finite and above 0")
    return tuple((name, number) for name in names for number in numbers.tolist())


def draw_frequencies(
    pairs: Sequence[tuple[str, float]], n_features: int, n_components: int, orthogonal: bool, rng: np.random.RandomState
) -> np.ndarray:
    """Return the frequencies (P, D, d) of kernels k(x - x') = E cos v'(x - x')."""
    frequencies = np.empty((len(pairs), n_components, n_features))
    for block, (kernel, variance) in zip(frequencies, pairs, strict=True):
        if orthogonal:
            directions = np.vstack(list(_draw_directions(n_features, n_components, rng)))
            block[:] = directions * np.sqrt(rng.chisquare(n_features, n_components))[:, None]
        else:
            block[:] = rng.standard_normal((n_components, n_features))
        block *= (_MIXTURES[kernel](rng, n_components) / np.sqrt(variance))[:, None]
    return frequencies


def _draw_directions(n_features: int, n_components: int, rng: np.random.RandomState) -> Iterator[np.ndarray]:
    """Yield groups of at most d orthonormal rows, each uniformly distributed, until there are D."""
    for start in range(0, n_components, n_features):
        size = min(n_features, n_components - start)
        directions, triangle = np.linalg.qr(rng.standard_normal((n_features, size)))
        yield (directions * np.where(np.diag(triangle) < 0.0, -1.0, 1.0)).T


def pad_to(number: int, multiple: int) -> int:
    """Return the smallest multiple that is at least the number."""
    return -(-number // multiple) * multiple
