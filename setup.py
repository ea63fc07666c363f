"""Build list of the compiled kernels; everything else about the package is in pyproject.toml."""

import os
import re
import subprocess
import sys
from email.parser import HeaderParser
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).resolve().parent
#: The version of what is no release; tools/release.py writes the next one.
VERSION = "0.1.0.dev0"
TAG = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")

SOURCE = Path("cython_ext")

# Listed by name, folder by folder: a glob would build a wheel without kernels, and without an error, when files are
# missing. A folder bears the name of the package (of `markov` and `gaussian`: of the solvers) that its kernels serve;
# headers of several folders are in common/.
KERNELS = {
    "data": ["_encode", "_rows", "_counts", "_checksums"],
    "statistics": ["_ci_rows", "_pair_tables", "_partial_correlations", "_precision_rows", "_ranks"],
    "scores": [
        "_scorer",
        "_blocks",
        "_collinear",
        "_families",
        "_family_counts",
        "_gaussian",
        "_grams",
        "_mixed",
        "_node_average",
        "_remote_families",
        "_row_cache",
        "_weighted",
    ],
    "search": [
        "_dag_graph",
        "_dag_moves",
        "_spanning",
        "_branching",
        "_class_operators",
        "_edge_filter",
        "_edge_heap",
        "_edge_ids",
        "_exact_posterior",
        "_family_sums",
        "_gaussian_orders",
        "_grow_shrink",
        "_order_chains",
        "_order_climb",
        "_pair_levels",
        "_pair_weights",
        "_parent_sets",
        "_sampled_dags",
        "_scored_moves",
        "_subsets",
    ],
    "inference": [
        "_annealing",
        "_belief",
        "_components",
        "_contraction",
        "_expected_counts",
        "_gibbs",
        "_lanes",
        "_mean_field",
        "_mixed_pieces",
        "_orders",
        "_plan_store",
        "_reweighted",
        "_row_columns",
        "_tempering",
        "_trws",
    ],
    "markov": ["_block_descent", "_pseudolikelihood", "_remote_conditionals", "_bethe"],
    "gaussian": ["_gram_lasso", "_clime"],
    "time_series": ["_group_lasso", "_lagged_lasso"],
    "streaming": ["_gradraker", "_least_squares", "_raker", "_subspace"],
}
# What Cython adds to every kernel that takes arrays, 200 KB of each, once for all of them.
SHARED = "pgmx._ext._shared"
# Kernels compiled for size: they wait for messages of workers, are called once per fit, or are Cython's own.
SMALL = {"_shared", "_collinear", "_edge_filter", "_edge_ids", "_remote_conditionals", "_remote_families"}
FOLDERS = [str(SOURCE / folder) for folder in ("common", *KERNELS)]


def read_version(root: Path = ROOT) -> str:
    """Return the version of the tag that the commit bears, of a source distribution its own, else `VERSION`.

    `.git_archival.txt` holds the tag in what `git archive` writes.
    """
    if (root / "PKG-INFO").is_file():
        return HeaderParser().parsestr((root / "PKG-INFO").read_text(encoding="utf-8"))["Version"]
    if (root / ".git").exists():
        words = ["git", "tag", "--points-at", "HEAD"]
        try:
            names = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout.split()
        except (OSError, subprocess.CalledProcessError):  # no git, or a repository of another user
            names = []
    else:
        archive = root / ".git_archival.txt"
        names = re.findall(r"tag: ([^\s,]+)", archive.read_text(encoding="utf-8")) if archive.is_file() else []
    versions = [found[1] for name in names if (found := TAG.fullmatch(name))]
    return versions[0] if versions else VERSION


# The compiler runs on all cores, one kernel each.
CORES = os.cpu_count() or 1

# PGMX_DEBUG=1 builds the same kernels with bounds checks, PGMX_SANITIZE=1 with AddressSanitizer and UBSan besides: such
# kernels are imported by a Python that runs with the libraries of both preloaded (tests/helpers/sanitizers.py).
SANITIZE = os.environ.get("PGMX_SANITIZE", "0") == "1"
DEBUG = SANITIZE or os.environ.get("PGMX_DEBUG", "0") == "1"

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "binding": False,  # built-in functions: code objects, which only `inspect` reads, are 6 % of a kernel
}

# Cython writes shortcuts around the public functions of Python for calls and integers, into each kernel anew. They save
# nanoseconds per call of a kernel, nothing within its loops, and are 4 % of its bytes. Strings that are compressed by
# themselves make a wheel larger, as it is compressed as a whole.
MACROS = [
    ("CYTHON_COMPRESS_STRINGS", "0"),
    ("CYTHON_UNPACK_METHODS", "0"),
    ("CYTHON_USE_PYLONG_INTERNALS", "0"),
]

if sys.platform == "win32":
    COMPILE_ARGS = ["/O2", "/fp:precise"]
else:
    # -ffp-contract=off: a fused multiply-add would make scores differ between processors. -g0: Python's own flags ask
    # for debugging symbols, which take a fifth of the time of the compiler and four fifths of the size of a kernel. No
    # exception passes through a kernel: tables to unwind its stack are 4 % of a wheel.
    COMPILE_ARGS = ["-O3", "-g0", "-ffp-contract=off", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
LINK_ARGS = []
if sys.platform == "linux" and not DEBUG:  # functions that Cython writes and nothing calls
    COMPILE_ARGS += ["-ffunction-sections"]
    LINK_ARGS += ["-Wl,--gc-sections"]
    COMPILE_ARGS += ["-fno-plt"]  # no table of calls into Python's library: 1 KB less per kernel
SANITIZERS = ["-fsanitize=address,undefined"] if SANITIZE else []
if SANITIZE:
    COMPILE_ARGS = ["-O1", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off", *SANITIZERS]


def extensions() -> list[Extension]:
    """Return one extension per kernel, refusing to go on when a source is missing."""
    sources = {name: SOURCE / folder / f"{name}.pyx" for folder, names in KERNELS.items() for name in names}
    missing = [str(path) for path in sources.values() if not path.is_file()]
    if missing:
        raise FileNotFoundError(f"kernel sources are missing: {', '.join(missing)}")
    kernels = [
        Extension(
            f"pgmx._ext.{name}",
            [str(path)],
            include_dirs=FOLDERS,
            depends=list_sources(path.parent),
            **choose_flags(name),
        )
        for name, path in sources.items()
    ]
    return [Extension(SHARED, [], **choose_flags(SHARED.rpartition(".")[2])), *kernels]


def choose_flags(name: str) -> dict[str, list]:
    """Return the arguments of the compiler and the linker for a kernel."""
    size = ["-Os"] if name in SMALL and sys.platform != "win32" and not DEBUG else []
    return {
        "define_macros": MACROS,
        "extra_compile_args": COMPILE_ARGS + size,
        "extra_link_args": LINK_ARGS + SANITIZERS,
    }


def list_sources(folder: Path) -> list[str]:
    """Return what the kernels of a folder are built again for; Cython adds the .pxd of other folders that they name.

    All lists together are what a source distribution holds.
    """
    folders = (SOURCE / "common", folder, Path("pgmx", "_ext"))
    return sorted(str(path) for place in folders for kind in ("*.pxd", "*.h", "*.pyx") for path in place.glob(kind))


if __name__ == "__main__":
    setup(
        version=read_version(),
        ext_modules=cythonize(
            extensions(),
            include_path=[".", *FOLDERS],  # ".": a class that several kernels share is cimported from pgmx._ext
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            build_dir="build/cython",
            force=DEBUG,
            # Where processes are forked: a spawned one would run this script again.
            nthreads=CORES if sys.platform == "linux" else 0,
        ),
        options={"build_ext": {"parallel": CORES}},
    )
