"""Files damaged at random from a seed, and what reading them may end in."""

import re
import signal
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.processes import run_in_child, set_limits

NUMBERS = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
OTHER_NUMBERS = (
    b"-1",
    b"0",
    b"1",
    b"7",
    b"0.5",
    b"-0.25",
    b"nan",
    b"NaN",
    b"1e999",
    b"99999999999",
    b"2147483648",
    b"",
)
SECONDS, MEGABYTES = 2.0, 400


def flip(raw: bytearray, at: int, rng: np.random.Generator) -> None:
    """Flip one bit."""
    raw[at] ^= 1 << int(rng.integers(8))


def cut(raw: bytearray, at: int, rng: np.random.Generator) -> None:
    """Leave out the rest, or some bytes."""
    del raw[at : None if rng.random() < 0.5 else at + int(rng.integers(1, 20))]


def insert(raw: bytearray, at: int, rng: np.random.Generator) -> None:
    """Insert bytes, some of which mean something to a format."""
    words = (b"\0", b"\xff\xfe", b"\n", b'"', b"{}", b"[" * 2000, b"<a>", b",,", rng.bytes(5))
    raw[at:at] = words[int(rng.integers(len(words)))]


def double(raw: bytearray, at: int, rng: np.random.Generator) -> None:
    """Write some bytes twice."""
    raw[at:at] = raw[at : at + int(rng.integers(1, 60))]


def renumber(raw: bytearray, at: int, rng: np.random.Generator) -> None:
    """Replace the next number in a text."""
    match = NUMBERS.search(raw, at)
    if match:
        raw[match.start() : match.end()] = OTHER_NUMBERS[int(rng.integers(len(OTHER_NUMBERS)))]


MUTATIONS = (flip, cut, insert, double, renumber)


def damage(raw: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with one damage, sometimes two; of an archive half the time one in a member, with valid sums."""
    if raw[:2] == b"PK" and rng.random() < 0.5:
        return damage_member(raw, rng)
    changed = bytearray(raw)
    for _ in range(1 + int(rng.random() < 0.2)):
        MUTATIONS[int(rng.integers(len(MUTATIONS)))](changed, int(rng.integers(max(1, len(changed)))), rng)
        changed = changed or bytearray(b"\0")
    return bytes(changed)


def damage_member(raw: bytes, rng: np.random.Generator) -> bytes:
    """Return an archive in which one member is damaged, packed again."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = list(members)[int(rng.integers(len(members)))]
    members[name] = damage(members[name], rng)
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return buffer.getvalue()


def attack(path: Path, read: Callable[[Path], Any], check: Callable, n_cases: int, seed: int) -> Counter:
    """Read damaged copies of a file in a forked child with little time and memory; return how often each outcome was.

    An outcome is a clear error, or a result that `check` accepts. A case that fails leaves its file under `path`.
    """
    sound, outcomes = path.read_bytes(), path.with_suffix(".outcomes")

    def run() -> None:
        rng = np.random.default_rng(seed)
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ResourceWarning)
        set_limits(seconds=20 * SECONDS, megabytes=MEGABYTES)
        with open(outcomes, "w", buffering=1) as file:
            for case in range(n_cases):
                path.write_bytes(damage(sound, rng))
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                try:
                    outcome = try_one(path, read, check)
                except Exception as error:
                    raise AssertionError(f"case {case} of seed {seed}: {path}: {error!r:.500}") from error
                file.write(f"{outcome}\n")
            signal.setitimer(signal.ITIMER_REAL, 0)

    run_in_child(run)
    return Counter(outcomes.read_text().split())


def try_one(path: Path, read: Callable[[Path], Any], check: Callable) -> str:
    """Return "read" or the kind of a clear error; raise an AssertionError for anything else."""
    try:
        result = read(path)
    except (ValueError, TypeError, OSError) as error:
        assert path.name in str(error), f"an unclear {type(error).__name__}: {error}"
        return type(error).__name__
    check(result)
    return "read"
