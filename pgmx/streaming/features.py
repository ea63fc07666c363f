"""Random features of the kernels of Raker: sines and cosines, tensor sketches of polynomials, and plain columns."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

#: Degrees of the kernels of x'z: linear, and ((1 + x'z) / (1 + d))^q. They have no variance.
DEGREES = {"linear": 1, "polynomial2": 2, "polynomial3": 3}

#: Factors for the radii of the Gaussian kernel's frequencies: each kernel is a mixture of Gaussian kernels.
MIXTURES: dict[str, Callable[[np.random.RandomState, int], np.ndarray]] = {
    "gaussian": lambda rng, n: np.ones(n),
    "laplacian": lambda rng, n: 1.0 / np.abs(rng.standard_normal(n)),
    "cauchy": lambda rng, n: np.sqrt(2.0 * rng.standard_exponential(n)),
}

#: The product of one-dimensional Laplacian kernels: independent Cauchy frequencies.
_PRODUCT = "laplacian_l1"

KERNELS = (*MIXTURES, _PRODUCT, *DEGREES)

#: Rows of frequencies and of coefficients are padded to these multiples for the vector kernels.
TILE, LANES = 16, 8


def list_kernels(kernels: str | Sequence[str], variances: float | Sequence[float]) -> tuple[tuple[str, float], ...]:
    """Return the pairs of a kernel and a variance, or a degree, sorted by kernel; ValueError for invalid ones."""
    names = [kernels] if isinstance(kernels, str) else list(kernels)
    try:
        numbers = np.atleast_1d(np.asarray(variances, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"variances={variances!r:.60} must be finite and above 0") from None
    unknown = [name for name in names if name not in KERNELS]
    if unknown or not names:
        culprit = repr(unknown[0]) if unknown else "no kernel"
        raise ValueError(f"kernels={kernels!r} holds {culprit}: give one or several of {', '.join(KERNELS)}")
    wrong = numbers[~((numbers > 0.0) & np.isfinite(numbers))]
    if numbers.ndim != 1 or not len(numbers) or len(wrong):
        raise ValueError(f"variances={variances!r} must be finite and above 0")
    return tuple(
        (name, number) for name in names for number in ([float(DEGREES[name])] if name in DEGREES else numbers.tolist())
    )


class FeatureMap(NamedTuple):
    """What the compiled features of P kernels are made of.

    `frequencies` (d, or d + 1 with polynomials, width) has D columns per shift-invariant kernel, padded to `TILE`, then
    2 D per sketch; a polynomial of degree q uses the first q. `kinds` (P,): 0 or the degree. Kernels have `length`
    features.
    """

    frequencies: np.ndarray
    kinds: np.ndarray
    length: int


def count_values(pairs: Sequence[tuple[str, float]], n_features: int, n_components: int) -> tuple[int, int]:
    """Return the least number of values of the frequencies, and the number of features per kernel."""
    degrees = [DEGREES.get(name, 0) for name, _ in pairs]
    columns = n_components * (degrees.count(0) + 2 * max(q if q > 1 else 0 for q in degrees))
    most = max(2 * n_components, n_features if 1 in degrees else 0)
    return n_features * columns, most


def make_feature_map(
    pairs: Sequence[tuple[str, float]], n_features: int, n_components: int, orthogonal: bool, rng: np.random.RandomState
) -> FeatureMap:
    """Draw the features of the kernels."""
    kinds = np.array([DEGREES.get(name, 0) for name, _ in pairs], dtype=np.int32)
    waves = draw_frequencies(
        [pair for pair in pairs if pair[0] not in DEGREES], n_features, n_components, orthogonal, rng
    )
    n = waves.shape[0] * n_components
    degree = int(kinds.max())
    # the last column of rows is then 1
    frequencies = np.zeros((n_features + (degree > 1), round_up(n, TILE)))
    # features in rows, so that the kernels read the frequencies of one feature in vectors
    frequencies[:n_features, :n] = waves.reshape(n, n_features).T
    if degree > 1:
        # all polynomials use the same sketches, the constant first; in the rows it is last
        columns = transform_sketch(*draw_sketch(degree, n_features + 1, n_components, rng), n_components)
        columns = np.roll(columns, -1, axis=0) * (1.0 + n_features) ** -0.5
        columns = np.pad(columns, ((0, 0), (0, round_up(columns.shape[1], TILE) - columns.shape[1])))
        frequencies = np.concatenate([frequencies, columns], axis=1)
    most = count_values(pairs, n_features, n_components)[1]
    return FeatureMap(np.ascontiguousarray(frequencies), kinds, round_up(most, LANES))


def map_rows(rows: np.ndarray, drawn: FeatureMap, n_components: int) -> np.ndarray:
    """Return the features (m, P, length) of rows, as the compiled loop computes them."""
    n_waves, d = int((drawn.kinds == 0).sum()), rows.shape[1]
    ones = np.ones((len(rows), len(drawn.frequencies) - d))
    angles = np.hstack([rows, ones]) @ drawn.frequencies
    features = np.zeros((len(rows), len(drawn.kinds), drawn.length))
    wave, sketch = 0, round_up(n_waves * n_components, TILE)
    for p, kind in enumerate(drawn.kinds):
        if kind == 0:
            part = angles[:, wave : wave + n_components]
            features[:, p, : 2 * n_components] = np.hstack([np.sin(part), np.cos(part)]) * n_components**-0.5
            wave += n_components
        elif kind == 1:
            features[:, p, :d] = rows * d**-0.5
        else:
            parts = angles[:, sketch : sketch + 2 * n_components * kind].reshape(len(rows), kind, -1)
            features[:, p, : 2 * n_components] = _multiply_transforms(parts, n_components)
    return features


def _multiply_transforms(parts: np.ndarray, n_components: int) -> np.ndarray:
    """Return the products (m, 2 D) of transforms (m, q, 2 D) in the layout of `transform_sketch`."""
    edges = parts[..., [0, n_components]].prod(axis=1)
    inner = (parts[..., 1:n_components] + 1j * parts[..., n_components + 1 :]).prod(axis=1)
    return np.hstack([edges[:, :1], inner.real, edges[:, 1:], inner.imag])


# ---- random frequencies of shift-invariant kernels: their sines and cosines approximate the kernels ----


def draw_frequencies(
    pairs: Sequence[tuple[str, float]], n_features: int, n_components: int, orthogonal: bool, rng: np.random.RandomState
) -> np.ndarray:
    """Return the frequencies (P, D, d) of kernels k(x - x') = E cos v'(x - x')."""
    frequencies = np.empty((len(pairs), n_components, n_features))
    for block, (kernel, variance) in zip(frequencies, pairs, strict=True):
        if kernel == _PRODUCT:
            # each coordinate has a Cauchy frequency of its own; orthogonal directions would be wrong
            block[:] = rng.standard_cauchy((n_components, n_features)) / np.sqrt(variance)
            continue
        if orthogonal:
            directions = np.vstack(list(_draw_directions(n_features, n_components, rng)))
            # lengths of normal vectors: each row is normal, and the rows of a group are orthogonal
            block[:] = directions * np.sqrt(rng.chisquare(n_features, n_components))[:, None]
        else:
            block[:] = rng.standard_normal((n_components, n_features))
        block *= (MIXTURES[kernel](rng, n_components) / np.sqrt(variance))[:, None]
    return frequencies


def _draw_directions(n_features: int, n_components: int, rng: np.random.RandomState) -> Iterator[np.ndarray]:
    """Yield groups of at most d orthonormal rows, each uniformly distributed, until there are D."""
    for start in range(0, n_components, n_features):
        size = min(n_features, n_components - start)
        directions, triangle = np.linalg.qr(rng.standard_normal((n_features, size)))
        # QR with a positive diagonal, otherwise the directions would not be uniformly distributed
        yield (directions * np.where(np.diag(triangle) < 0.0, -1.0, 1.0)).T


# ---- tensor sketches of polynomial kernels (Pham & Pagh 2013) ----


def draw_sketch(
    degree: int, n_columns: int, n_components: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the buckets, from 0 to 2 D - 1, and the signs of `degree` independent count sketches, (q, n_columns)."""
    buckets = rng.randint(2 * n_components, size=(degree, n_columns))
    return buckets, 2.0 * rng.randint(2, size=(degree, n_columns)) - 1.0


def transform_sketch(buckets: np.ndarray, signs: np.ndarray, n_components: int) -> np.ndarray:
    """Return the maps (n_columns, q 2 D) to the discrete Fourier transforms of the count sketches.

    A convolution of sketches is a product of transforms, and inner products do not change under a unitary transform. So
    the products are features, and no transform back is needed. Per sketch: the real parts 0 to D - 1, the real part D,
    and the imaginary parts 1 to D - 1. The first sketch has the scale of the transform.
    """
    n = 2 * n_components
    angles = 2.0 * np.pi / n * np.outer(buckets.ravel(), np.arange(n_components + 1)).reshape(*buckets.shape, -1)
    real, imaginary = signs[..., None] * np.cos(angles), -signs[..., None] * np.sin(angles)
    parts = np.concatenate([real[..., :-1], real[..., -1:], imaginary[..., 1:-1]], axis=2)
    scale = np.full(n, np.sqrt(2.0 / n))
    scale[[0, n_components]] = n**-0.5
    parts[0] *= scale
    return np.concatenate(list(parts), axis=1)


def round_up(number: int, multiple: int) -> int:
    """Return the smallest multiple that is at least the number."""
    return -(-number // multiple) * multiple
