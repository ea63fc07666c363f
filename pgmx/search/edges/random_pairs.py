"""Random orders of the pairs of variables that are computed, not stored.

A pair {i, j}, i < j, has the id i n + j.
"""

from math import isqrt

import numpy as np

# rounds of the Feistel network: four give a strong pseudo-random permutation (Luby and Rackoff, 1988)
_ROUNDS = 4
# increment of SplitMix64: 2**64 divided by the golden ratio, made odd
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


def id_of(pairs: np.ndarray, n_variables: int) -> np.ndarray:
    """Return the ids i n + j, int64 (k,), of pairs (k, 2) of two different variables in either order."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    return np.minimum(first, second) * n_variables + np.maximum(first, second)


def ends_of(ids: np.ndarray, n_variables: int) -> np.ndarray:
    """Return the pairs, int64 (k, 2), i < j, of the ids i n + j."""
    pairs = np.empty((len(ids), 2), dtype=np.int64)
    np.floor_divide(ids, n_variables, out=pairs[:, 0])
    np.subtract(ids, pairs[:, 0] * n_variables, out=pairs[:, 1])
    return pairs


def _mixed(words: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit words: the output function of SplitMix64."""
    words = words ^ (words >> np.uint64(30))
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


class RandomOrder:
    """A pseudo-random permutation of 0, ..., size - 1 in constant memory; `size` is below 2**62.

    A balanced Feistel network over pairs of digits to the base ⌈√size⌉. Values beyond `size` pass through it again
    (cycle walking), which is rare, since the square of the base is hardly larger than `size` (Black and Rogaway, 2002,
    methods 2 and 3). Cost: about 50 ns per value in arrays of some thousands, in both directions.
    """

    def __init__(self, size: int, seed: int):
        self.size = size
        self._side = np.uint64(isqrt(size - 1) + 1 if size > 0 else 1)
        # The seed is mixed first: otherwise the keys of neighbouring seeds would overlap.
        start = int(_mixed(np.array([(seed * _GOLDEN + _GOLDEN) & _WORD], dtype=np.uint64))[0])
        counters = np.array([(start + (k + 1) * _GOLDEN) & _WORD for k in range(_ROUNDS)], dtype=np.uint64)
        self._keys = _mixed(counters)

    def value(self, positions: np.ndarray) -> np.ndarray:
        """Return the values at the positions, int64 of the same shape."""
        return self._cycle(positions, self._forward)

    def position(self, values: np.ndarray) -> np.ndarray:
        """Return the positions of the values, int64 of the same shape."""
        return self._cycle(values, self._backward)

    def _cycle(self, numbers: np.ndarray, step) -> np.ndarray:
        image = step(np.asarray(numbers, dtype=np.int64).astype(np.uint64))
        size = np.uint64(self.size)
        outside = np.flatnonzero(image >= size)
        if len(outside) and not 0 <= np.min(numbers) <= np.max(numbers) < self.size:  # would never return to the range
            raise ValueError(f"numbers from {np.min(numbers)} to {np.max(numbers)} are not all below {self.size}")
        while len(outside):
            image[outside] = step(image[outside])
            outside = outside[image[outside] >= size]
        return image.view(np.int64)

    def _digit(self, digits: np.ndarray, key: np.uint64) -> np.ndarray:
        """Return pseudo-random digits, a function of the digits and the key."""
        words = _mixed(digits + key)
        # the upper half of the word times the number of digits, shifted back: a digit without a division
        words >>= np.uint64(32)
        words *= self._side
        words >>= np.uint64(32)
        return words

    def _forward(self, numbers: np.ndarray) -> np.ndarray:
        side = self._side
        left = numbers // side
        right = numbers - left * side
        for key in self._keys:
            total = left + self._digit(right, key)
            left, right = right, np.minimum(total, total - side)  # modulo side: the wrong one of the two wraps round
        return left * side + right

    def _backward(self, numbers: np.ndarray) -> np.ndarray:
        side = self._side
        left = numbers // side
        right = numbers - left * side
        for key in self._keys[::-1]:
            total = right - self._digit(left, key)
            left, right = np.minimum(total, total + side), left
        return left * side + right


class RandomPairs:
    """All n (n - 1) / 2 pairs of variables in a pseudo-random order that takes no memory.

    Pairs are numbered by rows of the upper triangle. Each short row is appended to a long row, so that a division finds
    the pair. The numbers are permuted by a `RandomOrder`.
    """

    def __init__(self, n_variables: int, seed: int):
        self.n_variables = n_variables
        self._order = RandomOrder(n_variables * (n_variables - 1) // 2, seed)
        self._odd = n_variables % 2
        self._width = max(n_variables - 1 + self._odd, 1)

    def __len__(self) -> int:
        return self._order.size

    def pair(self, positions: np.ndarray) -> np.ndarray:
        """Return the pairs, int64 (k, 2), i < j, at the positions from 0 to n (n - 1) / 2 - 1."""
        folded = self._order.value(positions)
        row = folded // self._width
        column = folded - row * self._width
        unfolded = column >= row + self._odd
        last = self.n_variables - 1
        pairs = np.empty((len(folded), 2), dtype=np.int64)
        pairs[:, 0] = np.where(unfolded, row, last - self._odd - row)
        pairs[:, 1] = np.where(unfolded, column + 1 - self._odd, last - column)
        return pairs

    def position(self, pairs: np.ndarray) -> np.ndarray:
        """Return the positions, int64 (k,), of pairs (k, 2), i < j."""
        first, second = pairs[:, 0], pairs[:, 1]
        last = self.n_variables - 1
        unfolded = first < (self.n_variables - self._odd) // 2
        row = np.where(unfolded, first, last - self._odd - first)
        column = np.where(unfolded, second - 1 + self._odd, last - second)
        return self._order.position(row * self._width + column)
