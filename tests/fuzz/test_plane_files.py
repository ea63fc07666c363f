"""Plane files with any field changed, signed and unsigned: refused by name, or the same table."""

import struct

import numpy as np
import pytest

from pgmx.data import DiscreteTable, encode, open_table, write_table
from pgmx.estimators import HillClimbSearch
from tests.fuzz.plane_fields import NAMES, PlaneFields
from tests.helpers.processes import run_in_child

WIDTHS = dict(zip(NAMES, (64, 32, 32, 64, 64, 64, 64, 64, 32, 32), strict=True))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    sky, days = rng.integers(0, 3, 700), rng.integers(0, 3, 700)
    wet = (sky == 2) ^ (rng.random(700) < 0.1)
    return DiscreteTable(
        ["sky", "wet", "days"], [["blue", "grey", "dark"], [False, True], range(260)], [sky, wet, days]
    )


@pytest.fixture
def raw(tmp_path, table):
    write_table(table, tmp_path / "t.pgmx")
    return (tmp_path / "t.pgmx").read_bytes()


def use(path):
    """Learn from a file in every way that reads it."""
    table = open_table(path)
    search = HillClimbSearch(show_progress=False, scoring_method="bic").fit(table)
    weighted = HillClimbSearch(show_progress=False, scoring_method="bic").fit(
        table, sample_weight=np.ones(table.n_rows)
    )
    return table, search.score_, weighted.score_


def check(path, expected):
    """A changed file is refused with a sentence that names it, or is used to the same result."""
    try:
        result = use(path)
    except ValueError as error:
        assert path.name in str(error), error
        assert "write_table" in str(error), error
    else:
        assert result == expected


def other_values(fields, field):
    value = fields.value(field)
    if field == "magic":
        return [b"PGMXTAC\n", bytes(8)]
    if field in WIDTHS:
        largest = 2 ** WIDTHS[field] - 1
        return [v for v in (0, 1, 2, value - 1, value + 1, largest, largest // 2 + 1, 2**31) if 0 <= v <= largest]
    if field.startswith("codes."):
        return [value ^ 1, 255, value + 3]
    if field.startswith("planes."):
        return [value ^ 1, 0, 2**64 - 1]
    return [None, -1, 2**70, 1.5, "x", [], {}, [[]], {"tuple": "ab"}, [value, value], float("nan")]


@pytest.mark.parametrize("sign", [False, True])
@pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_any_field(tmp_path, raw, sign, share):
    """One in `share` of the changes that can be made."""
    path = tmp_path / "changed.pgmx"
    path.write_bytes(raw)
    expected = use(path)
    n_tried = 0

    def attack():
        nonlocal n_tried
        rest = 0
        for field in PlaneFields(raw).list_fields():
            if field.startswith(("states.2.", "checksums.planes.")) and not field.endswith("0"):
                continue  # three hundred states, alike
            for value in other_values(PlaneFields(raw), field):
                rest = (rest + 1) % share
                if rest:
                    continue
                fields = PlaneFields(raw)
                fields.set_value(field, value)
                path.write_bytes(fields.to_bytes(sign=sign, changed=field))
                try:
                    check_one(field, value)
                except AssertionError as error:
                    raise AssertionError(f"{field}={value!r}: {error}") from error
                n_tried += 1
        assert n_tried > 500 // share

    def check_one(field, value):
        renamed = sign and field.startswith(("columns", "states", "missing_codes"))
        if renamed or (sign and field.startswith("codes.2.") and value < 260):
            # another table, as good as any: it may be used, whatever it holds
            try:
                use(path)
            except ValueError as error:
                assert path.name in str(error) or "write_table" not in str(error)
        else:
            check(path, expected)

    run_in_child(attack)


@pytest.mark.slow
def test_every_flipped_bit_of_a_small_file_is_found(tmp_path, raw):
    path = tmp_path / "changed.pgmx"
    rng = np.random.default_rng(1)
    table = encode(open_written(tmp_path, raw))
    places = rng.permutation(np.flatnonzero(padding_free(raw)))[:500]

    def attack():
        for at in places:
            changed = bytearray(raw)
            changed[at] ^= 1 << int(rng.integers(8))
            path.write_bytes(bytes(changed))
            with pytest.raises(ValueError, match=r"changed\.pgmx"):
                open_table(path, verify=True)

    assert len(table.columns) == 3
    run_in_child(attack)


def open_written(folder, raw):
    path = folder / "same.pgmx"
    path.write_bytes(raw)
    return path


def padding_free(raw):
    """Return a mask of the bytes that mean something: the rest is filled up to whole pages."""
    fields = PlaneFields(raw)
    itemsize, n_variables, n_rows = struct.unpack_from("<IQQ", raw, 12)
    mask = np.zeros(len(raw), dtype=bool)
    mask[:64] = True
    mask[4096 : 4096 + itemsize * n_variables * n_rows] = True
    mask[-(len(raw) - fields.header["names_at"]) :] = True
    planes_at = fields._planes_at()
    mask[planes_at : fields.header["names_at"]] = True
    return mask


@pytest.mark.parametrize("n_bytes", [0, 1, 63, 64, 4095, 4096, 5000, -1])
def test_truncated_or_extended(tmp_path, raw, n_bytes):
    path = tmp_path / "changed.pgmx"
    for content in (raw[:n_bytes], raw + bytes(7)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"changed\.pgmx .*write_table"):
            open_table(path)


def count_bytes_read():
    """Return the bytes that this process has read so far."""
    with open("/proc/self/io") as file:
        return int(dict(line.split(": ") for line in file.read().splitlines())["rchar"])


def test_opening_reads_little_of_a_large_file(tmp_path):
    table = DiscreteTable("ab", [range(3), range(3)], np.tile([[0, 1, 2], [1, 0, 2]], 700_000))
    path = write_table(table, tmp_path / "t.pgmx").path
    assert path.stat().st_size > 4_000_000
    before = count_bytes_read()
    open_table(path)
    assert count_bytes_read() - before < 50_000
