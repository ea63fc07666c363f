"""Checksums of codes and planes against the plainest way to compute them."""

import numpy as np
import pytest

from pgmx._ext import _checksums, _counts
from tests.fuzz.plane_fields import add_up

LENGTHS = [1, 7, 8, 63, 64, 65, 511, 512, 16_384, 16_385, 20_000]


@pytest.mark.parametrize("n_rows", LENGTHS)
@pytest.mark.parametrize(("dtype", "n_states"), [(np.uint8, 255), (np.uint16, 60_000)])
def test_codes(n_rows, dtype, n_states):
    codes = np.random.default_rng(n_rows).integers(0, n_states, (3, n_rows)).astype(dtype)
    checksums, largest = _checksums.summarise_codes(codes)
    assert checksums.tolist() == [add_up(row.tobytes()) for row in codes]
    assert largest.tolist() == codes.max(axis=1).tolist()


@pytest.mark.parametrize("n_rows", LENGTHS)
def test_planes(n_rows):
    cards = np.array([2, 5, 1])
    codes = np.random.default_rng(n_rows).integers(0, cards[:, None], (3, n_rows)).astype(np.uint8)
    planes, offsets = _counts.pack_planes(codes, cards)
    checksums, is_partition = _checksums.summarise_planes(planes, offsets, n_rows)
    assert checksums.tolist() == [add_up(plane.tobytes()) for plane in planes]
    assert is_partition
    for plane, word, bit in [(0, 0, 0), (4, (n_rows - 1) // 64, (n_rows - 1) % 64), (7, -1, 63)]:
        changed = planes.copy()
        changed[plane, word] ^= np.uint64(1) << np.uint64(bit)
        sums, is_partition = _checksums.summarise_planes(changed, offsets, n_rows)
        assert not is_partition
        assert (sums != checksums).tolist() == [p == plane for p in range(8)]


def test_a_variable_without_planes():
    planes = np.zeros((0, 8), dtype=np.uint64)
    checksums, is_partition = _checksums.summarise_planes(planes, np.array([0, 0]), 3)
    assert len(checksums) == 0
    assert is_partition


@pytest.mark.parametrize("sizes", [(64, 64, 3), (512,), (1,), (), (640, 0, 100)])
def test_blocks(sizes):
    blocks = [np.random.default_rng(n).integers(0, 256, n).astype(np.uint8) for n in sizes]
    checksum = _checksums.Checksum()
    for block in blocks:
        checksum.update(block)
    assert checksum.value() == add_up(b"".join(block.tobytes() for block in blocks))


def test_only_the_last_block_may_have_another_length():
    checksum = _checksums.Checksum()
    checksum.update(np.zeros(3, dtype=np.uint8))
    with pytest.raises(ValueError, match="only the last block"):
        checksum.update(np.zeros(64, dtype=np.uint8))
