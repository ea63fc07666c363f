"""Run pgmpy's own tests on our classes: ``python tests/pgmpy_suite.py pgmpy-1.1.2.tar.gz [SUITE ...]``.

The archive is pgmpy's source distribution. A test file is unpacked into a temporary folder and run twice: as it is, and
with an import line of our classes added. All tests whose outcomes differ are listed; the exit status is their number.
Tests that download a network fail in both runs without the internet.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree


class Suite(NamedTuple):
    """A test file, the line in it that imports the classes, and the line that imports ours."""

    member: str
    line: str
    ours: str


SUITES = {
    "inference": Suite(
        "pgmpy/tests/test_inference/test_ExactInference.py",
        "from pgmpy.inference import BeliefPropagation, VariableElimination\n",
        "from pgmx.inference import BeliefPropagation, VariableElimination\n",
    ),
    "discrete": Suite(
        "pgmpy/tests/test_models/test_DiscreteBayesianNetwork.py",
        "from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork\n",
        "from pgmx.models import DiscreteBayesianNetwork\n",
    ),
    "linear-gaussian": Suite(
        "pgmpy/tests/test_models/test_LinearGaussianBayesianNetwork.py",
        "from pgmpy.models import LinearGaussianBayesianNetwork\n",
        "from pgmx.models import LinearGaussianBayesianNetwork\n",
    ),
    "pc": Suite(
        "pgmpy/tests/test_causal_discovery/test_PC.py",
        "from pgmpy.causal_discovery import PC, ExpertKnowledge\n",
        "from pgmx.estimators import PC\n",
    ),
    # the tests on adult.csv fail in both runs: the archive does not hold the file
    "chi-square": Suite(
        "pgmpy/tests/test_ci_tests/test_chi_square.py",
        "from pgmpy.ci_tests import ChiSquare\n",
        "from functools import partial\n"
        "from pgmx.ci_tests import ChiSquare\n"
        "ChiSquare = partial(ChiSquare, yates=True)\n",
    ),
    "g-square": Suite(
        "pgmpy/tests/test_ci_tests/test_g_sq.py",
        "from pgmpy.ci_tests import GSq\n",
        "from pgmx.ci_tests import GSq\n",
    ),
    "fisher-z": Suite(
        "pgmpy/tests/test_ci_tests/test_fisher_z.py",
        "from pgmpy.ci_tests import FisherZ, Pearsonr\n",
        "from pgmx.ci_tests import FisherZ, Pearsonr\n",
    ),
    "pearsonr": Suite(
        "pgmpy/tests/test_ci_tests/test_pearsonr.py",
        "from pgmpy.ci_tests import Pearsonr\n",
        "from pgmx.ci_tests import Pearsonr\n",
    ),
    "ci-tests": Suite(  # the registry of pgmpy's base class remains pgmpy's
        "pgmpy/tests/test_ci_tests/test_base.py",
        "from pgmpy.ci_tests import ChiSquare, FisherZ, IndependenceMatch, Pearsonr, _BaseCITest, get_ci_test\n",
        "from pgmx.ci_tests import ChiSquare, FisherZ, IndependenceMatch, Pearsonr, get_ci_test\n",
    ),
}


def main(archive: str, names: list[str]) -> int:
    """Run the suites and return the number of tests with different outcomes."""
    n_different = 0
    for name in names or SUITES:
        suite = SUITES[name]
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(archive) as members:
                root = members.getnames()[0].split("/")[0]
                inside = [member for member in members if member.name.startswith(f"{root}/pgmpy/tests/")]
                members.extractall(folder, inside, filter="data")
            path = Path(folder, root, suite.member)
            source = path.read_text(encoding="utf-8")
            if suite.line not in source:
                raise SystemExit(f"{suite.member} does not hold the line {suite.line!r}: change SUITES in {__file__}")
            theirs = _run(path, source, Path(folder))
            ours = _run(path, source.replace(suite.line, suite.line + suite.ours), Path(folder))
        counts = {outcome: list(ours.values()).count(outcome) for outcome in sorted(set(ours.values()))}
        print(f"{name}: {len(ours)} tests, {counts}")
        for test in sorted(theirs.keys() | ours.keys()):
            if theirs.get(test) != ours.get(test):
                n_different += 1
                print(f"  {test}: {theirs.get(test)} with pgmpy's class, {ours.get(test)} with ours")
    return n_different


def _run(path: Path, source: str, folder: Path) -> dict[str, str]:
    """Return the outcome of each test."""
    path.write_text(source, encoding="utf-8")
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    # the tests import helper modules of the installed pgmpy, or of the archive where a wheel leaves them out
    (folder / "conftest.py").write_text(
        f"import pgmpy\npgmpy.__path__.append({str(path.parents[2])!r})\n", encoding="utf-8"
    )
    options = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "--import-mode=importlib", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), "-c", "/dev/null", str(path)]
    subprocess.run([*command, "--confcutdir", str(folder)], cwd=folder, stdout=subprocess.DEVNULL)
    if not report.exists():
        raise SystemExit(f"pytest ended without a report: {' '.join(command)}")
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        outcomes[f"{case.get('classname', '').split('.')[-1]}.{case.get('name')}"] = next(iter(kinds), "passed")
    return outcomes


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= SUITES.keys():
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
