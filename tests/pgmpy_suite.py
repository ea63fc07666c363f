"""Run pgmpy's own tests of exact inference on our classes: ``python tests/pgmpy_suite.py pgmpy-1.1.2.tar.gz``.

The archive is pgmpy's source distribution. The file is unpacked into a temporary folder, one import line is added, and
pytest runs it. Tests that need torch are skipped by pgmpy; one test downloads a network and fails without the internet.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

MEMBER = "pgmpy/tests/test_inference/test_ExactInference.py"
LINE = "from pgmpy.inference import BeliefPropagation, VariableElimination\n"
OURS = "from pgmx.inference import BeliefPropagation, VariableElimination  # noqa: F811\n"


def main(archive: str) -> int:
    """Return pytest's exit status."""
    with tarfile.open(archive) as members:
        (name,) = (name for name in members.getnames() if name.endswith(MEMBER))
        source = members.extractfile(name).read().decode()
    if LINE not in source:
        raise SystemExit(f"{name} does not import the two classes in one line: change LINE in {__file__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "test_exact_inference.py")
        path.write_text(source.replace(LINE, LINE + OURS), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", str(path)]
        return subprocess.run(command, cwd=folder).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
