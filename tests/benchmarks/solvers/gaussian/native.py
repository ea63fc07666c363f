"""glassoFast and QUIC, from sources outside the checkout: compiled when first met, called with ctypes.

The environment names the folders: GLASSOFAST (of glassofast.f90), QUIC (of QUIC.C and QUIC.h). Both get a threshold
that leaves a relative duality gap as small as ours or larger: glassoFast its own default 1e-4, and 1e-6 as "tight";
QUIC 1e-6.
"""

import ctypes
import os
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
import scipy.linalg.cython_lapack as lapack

FLAGS = {"glassoFast -O2": ["-O2"], "glassoFast native": ["-O3", "-march=native"]}
QUIC_FLAGS = ["-O3", "-march=native"]
#: glassoFast reports to R, if asked to.
STUB = "void intpr_(const char *a, int *b, int *c, int *d, long e) { (void)a; (void)b; (void)c; (void)d; (void)e; }"
#: QUIC calls LAPACK by name, with pointers to ptrdiff_t: here it is SciPy's, which takes int.
LAPACK = """
#include <stddef.h>
static void (*potrf)(char *, int *, double *, int *, int *);
static void (*potri)(char *, int *, double *, int *, int *);
void set_lapack(void *first, void *second) {
    potrf = (void (*)(char *, int *, double *, int *, int *))first;
    potri = (void (*)(char *, int *, double *, int *, int *))second;
}
void dpotrf_(char *uplo, ptrdiff_t *n, double *A, ptrdiff_t *lda, ptrdiff_t *info) {
    int size = (int)*n, stride = (int)*lda, found = 0;
    potrf(uplo, &size, A, &stride, &found);
    *info = found;
}
void dpotri_(char *uplo, ptrdiff_t *n, double *A, ptrdiff_t *lda, ptrdiff_t *info) {
    int size = (int)*n, stride = (int)*lda, found = 0;
    potri(uplo, &size, A, &stride, &found);
    *info = found;
}
"""


def compile_library(sources, extra, flags, compiler):
    """Return the library made of some files and a text in C."""
    folder = Path(tempfile.mkdtemp())
    (folder / "extra.c").write_text(extra)
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", folder / "extra.c", "-o", folder / "extra.o"], check=True)
    words = [compiler, *flags, "-w", "-fPIC", "-shared", *sources, folder / "extra.o", "-o", folder / "library.so"]
    subprocess.run(words, check=True)
    return ctypes.CDLL(str(folder / "library.so"))


@cache
def load_glassofast(method):
    source = Path(os.environ["GLASSOFAST"]) / "glassofast.f90"
    return compile_library([source], STUB, FLAGS[method], "gfortran").glassofast_


@cache
def load_quic():
    source = Path(os.environ["QUIC"]) / "QUIC.C"
    library = compile_library([source], LAPACK, QUIC_FLAGS, "g++")
    library.set_lapack(*(find_function(name) for name in ("dpotrf", "dpotri")))
    return library.QUIC


def find_function(name):
    """Return the address of a function of SciPy's LAPACK."""
    capsule = lapack.__pyx_capi__[name]
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p(get_pointer(capsule, get_name(capsule)))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def make_penalties(p, lam):
    """Return the matrix of penalties, none on the diagonal."""
    penalties = np.full((p, p), lam)
    np.fill_diagonal(penalties, 0.0)
    return penalties


def solve_by_glassofast(problem, lams, method, thr):
    """Solve one penalty after the other, each from the last solution."""
    solve, p, found = load_glassofast(method), problem.p, []
    S, warm = np.asfortranarray(problem.covariance), 0
    X, W = np.zeros((p, p), order="F"), np.zeros((p, p), order="F")
    work = np.zeros(p), np.zeros(p)
    for lam in lams:
        L = make_penalties(p, lam)
        numbers = [ctypes.c_int(value) for value in (p, 10_000, 0, warm, 0)]
        size, most, quiet, is_warm, info = map(ctypes.byref, numbers)
        threshold = ctypes.byref(ctypes.c_double(thr))
        solve(size, pointer(S), pointer(L), threshold, most, quiet, is_warm, *map(pointer, (X, W, *work)), info)
        found.append((X.copy(), W.copy()))
        warm = 1
    return found


def solve_by_quic(problem, lams, tol=1e-6):
    solve, p, found = load_quic(), problem.p, []
    X, W = np.eye(p), np.eye(p)
    for lam in lams:
        L, one = make_penalties(p, lam), np.ones(1)
        integers = [ctypes.c_uint32(p), ctypes.c_uint32(1), ctypes.c_int32(0), ctypes.c_uint32(1000)]
        size, length, quiet, most = map(ctypes.byref, integers)
        opt, seconds, gap, steps = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.uint32)
        threshold = ctypes.byref(ctypes.c_double(tol))
        matrices = pointer(problem.covariance), pointer(L)
        arrays = map(pointer, (X, W, opt, seconds, steps, gap))
        solve(ctypes.c_char(b"D"), size, *matrices, length, pointer(one), threshold, quiet, most, *arrays)
        found.append((X.copy(), W.copy()))
    return found


METHODS = {
    "glasso": {
        **{name: partial(solve_by_glassofast, method=name, thr=1e-4) for name in FLAGS},
        **{f"{name} tight": partial(solve_by_glassofast, method=name, thr=1e-6) for name in FLAGS},
        "QUIC": solve_by_quic,
    }
}


def answers(task, raw):
    return raw
