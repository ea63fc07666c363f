"""Python with kernels that were built with AddressSanitizer and UBSan: what is preloaded, and how they report."""

import shutil
import subprocess
from pathlib import Path

#: Leaks are not looked for, since Python never frees everything; a lack of memory is an error of numpy's.
ADDRESS_OPTIONS = "detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=32:abort_on_error=1"
UNDEFINED_OPTIONS = "halt_on_error=1:print_stacktrace=1:abort_on_error=1"


def find_sanitizers() -> list[str]:
    """Return the paths of the libraries of gcc to preload, none where one of them is missing."""
    if shutil.which("gcc") is None:
        return []
    paths = []
    for name in ("libasan.so", "libubsan.so", "libstdc++.so.6"):  # the last one: for exceptions of other libraries
        command = ["gcc", f"-print-file-name={name}"]
        paths.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    return paths if all(Path(path).is_absolute() and Path(path).exists() for path in paths) else []


def sanitizer_environment(libraries: list[str]) -> dict[str, str]:
    """Return the variables of a process that imports such kernels."""
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": ADDRESS_OPTIONS,
        "UBSAN_OPTIONS": UNDEFINED_OPTIONS,
    }
