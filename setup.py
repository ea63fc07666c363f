"""Build list of the compiled kernels; everything else about the package is in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCE = "cython_ext"

# Listed by name: a glob would build a wheel without kernels, and without an error, when files are missing.
KERNELS = [
    "_encode",
    "_rows",
    "_counts",
    "_families",
    "_gaussian",
    "_weighted",
    "_dag_moves",
    "_spanning",
    "_branching",
    "_edge_heap",
    "_belief",
    "_bethe",
    "_gibbs",
    "_pseudolikelihood",
    "_pair_tables",
    "_ranks",
    "_gram_lasso",
    "_clime",
]

# PGMX_DEBUG=1 builds the same kernels with bounds checks for the test run that wants them.
DEBUG = os.environ.get("PGMX_DEBUG", "0") == "1"

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
}

if sys.platform == "win32":
    COMPILE_ARGS = ["/O2", "/fp:precise"]
else:
    # -ffp-contract=off: a fused multiply-add would make scores differ between processors.
    COMPILE_ARGS = ["-O3", "-ffp-contract=off"]


def extensions() -> list[Extension]:
    """Return one extension per kernel, refusing to go on when a source is missing."""
    headers = sorted(str(p) for pattern in ("*.pxd", "*.h") for p in Path(SOURCE).glob(pattern))
    sources = {name: f"{SOURCE}/{name}.pyx" for name in KERNELS}
    missing = [path for path in sources.values() if not Path(path).is_file()]
    if missing:
        raise FileNotFoundError(f"kernel sources are missing: {', '.join(missing)}")
    depends = headers + sorted(sources.values())
    return [
        Extension(
            f"pgmx._ext.{name}",
            [path],
            include_dirs=[SOURCE],
            extra_compile_args=COMPILE_ARGS,
            depends=depends,
        )
        for name, path in sources.items()
    ]


setup(
    ext_modules=cythonize(
        extensions(),
        include_path=[SOURCE],
        compiler_directives=DIRECTIVES,
        build_dir="build/cython",
        force=DEBUG,
    )
)
