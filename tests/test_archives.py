"""Archives of arrays: bombs and damaged members are refused before they are inflated."""

import resource
import zipfile
from io import BytesIO
from time import perf_counter

import numpy as np
import pytest

from pgmx.archives import list_members, open_members
from tests.helpers.processes import run_in_child

ARRAYS = {
    "edges": np.arange(6).reshape(3, 2),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "text": np.array("été"),
    "nothing": np.empty((0, 2)),
    "flag": np.array(True),
}
ANY = dict.fromkeys(ARRAYS, 1000)


def pack(arrays, save=np.savez):
    buffer = BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def pack_members(members, declared=None):
    """Return a deflated archive of raw members; `declared` is the size that each claims."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
        if declared is not None:
            for info in archive.filelist:
                info.file_size = declared
    return buffer.getvalue()


def pack_array(array):
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_round_trip(tmp_path, save):
    raw = pack(ARRAYS, save)
    (tmp_path / "a.npz").write_bytes(raw)
    for source in (raw, tmp_path / "a.npz", str(tmp_path / "a.npz")):
        arrays = open_members(source, ANY)
        assert list(arrays) == list(ARRAYS)
        for name, array in arrays.items():
            assert array.dtype == ARRAYS[name].dtype
            assert array.shape == ARRAYS[name].shape
            assert array.flags.f_contiguous == ARRAYS[name].flags.f_contiguous
            np.testing.assert_array_equal(array, ARRAYS[name])
    assert list_members(raw) == {name: len(pack_array(array)) for name, array in ARRAYS.items()}
    assert list(open_members(raw, ANY, only={"text"})) == ["text"]


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_members(tmp_path / "a.npz", ANY)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (pack({**ARRAYS, "more": np.zeros(2)}), "member 'more'"),
        (pack({"edges": np.zeros(2000)}), "'edges' declares 16,128 bytes, but 1,000 are allowed"),
        (pack_members([("edges", b"x")]), "is not an array"),
        (pack_members([("edges.npy", b"x")]), "does not begin"),
        (pack_members([("edges.npy", pack_array(np.zeros(3))[:-1])]), "do not fit its shape"),
        (pack_members([("edges.npy", pack_array(np.zeros(3)))], declared=150), "declares|damaged"),
        (pack_members([("edges.npy", pack_array(np.zeros(3)) + bytes(900_000))], declared=152), "declares|damaged"),
        (pack_members([("edges.npy", pack_array(np.zeros(3)))], declared=900), "declares"),
        (pack_members([("edges.npy", pack_array(np.zeros(3)))], declared=10**12), "too many for .* packed bytes"),
        (
            pack_members([("edges.npy", pack_array(np.zeros(0)).replace(b"<f8", b"|S0").replace(b"(0,)", b"(9,)"))]),
            "bytes",
        ),
        (pack_members([("edges.npy", pack_array(np.zeros((2, 1))).replace(b"(2, 1)", b"(-2,-1)"))]), "begin|shape"),
        (pack_members([("edges.npy", pack_array(np.zeros(3)).replace(b"'<f8'", b"'|O' "))]), "not numbers"),
        (pack_members([("edges.npy", pack_array(np.zeros(3)).replace(b"'<f8'", b"'<f8("))]), "begin"),
        (pack(ARRAYS)[:-30], "damaged"),
        (b"", "damaged"),
        (pack_array(np.zeros(3)), "damaged"),
    ],
)
def test_refused(raw, message):
    with pytest.raises(ValueError, match=message):
        open_members(raw, ANY)


def test_every_flipped_byte_of_the_data_is_found():
    raw = pack({"edges": np.arange(20)})
    first = raw.index(b"\x93NUMPY")
    for at in range(first, first + 128 + 160):
        changed = bytearray(raw)
        changed[at] ^= 1
        with pytest.raises(ValueError, match="."):
            open_members(bytes(changed), ANY)


def test_bomb_is_not_inflated():
    """100 MB of zeros in a small file, and one that declares to be small."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("edges.npy", "w") as member:
        member.write(pack_array(np.zeros(3)))
        for _ in range(100):
            member.write(bytes(1 << 20))
    raw = buffer.getvalue()
    archive = zipfile.ZipFile(buffer, "a")
    archive.filelist[0].file_size = 152
    archive._didModify = True
    archive.close()
    modest = buffer.getvalue()

    def attack():
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = perf_counter()
        for bomb in (raw, modest):
            with pytest.raises(ValueError, match="declares|damaged"):
                open_members(bomb, ANY)
        assert perf_counter() - began < 1
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used < 50_000  # kilobytes

    run_in_child(attack)
