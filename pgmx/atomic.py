"""Files that are written whole or not at all; every file that pgmx leaves behind is written here.

Of temporary files, errors say which disk is full.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty file beside `path` to write to; move it over `path` when the block ends, delete it on an error.

    Its name cannot be guessed and it is created exclusively; the disk has it when it is moved. A link under `path` is
    replaced itself; what is no regular file (a pipe, a terminal) is yielded as it is. A process that is killed
    meanwhile leaves a file ``.pgmx-*`` behind.
    """
    target = Path(path)
    if _check_target(target):
        yield target
        return
    part = target.with_name(f".pgmx-{secrets.token_hex(16)}{target.suffix}")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # the mode that `open` would give
        yield part
        _sync(part)
        with suppress(OSError):  # a folder that knows no modes
            if target.is_file() and not target.is_symlink():
                os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part), part):
            raise
        raise OSError(error.errno, f"{os.strerror(error.errno)}; what was there is unchanged", str(target)) from error
    finally:
        part.unlink(missing_ok=True)
    _sync(target.parent)


def _check_target(target: Path) -> bool:
    """Refuse what cannot be written, by its name; return whether there is something that is no regular file.

    Other processes may make, replace or delete the file at any moment: each question is asked once.
    """
    if "\0" in str(target):
        raise ValueError(f"the path {str(target)!r} holds a NUL character: give another name")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(target.parent)!r}: make it first", str(target))
    try:
        mode = target.stat().st_mode
    except OSError:  # nothing is there, or a link to nothing
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder: name a file in it", str(target))
    if not stat.S_ISREG(mode):
        return True
    try:
        os.close(os.open(target, os.O_WRONLY))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            text = "the file that is there is read-only"
            raise PermissionError(errno.EACCES, text, str(target)) from None
    return False


def _sync(path: Path) -> None:
    """Wait until the disk holds a file, or the entries of a folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # folders cannot be opened everywhere
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot sync this
            raise
    finally:
        os.close(descriptor)


# ---- temporary files ----


def write_all(file: Any, rest: memoryview, path: str | os.PathLike[str]) -> None:
    """Write bytes to an unbuffered file; errors name `path`."""
    with name_temporary(path):
        while rest:
            rest = rest[file.write(rest) :]


def reserve_file(path: str | os.PathLike[str]) -> None:
    """Make the disk hold all of a file: one without room for a page that is mapped would end the process (SIGBUS)."""
    if not hasattr(os, "posix_fallocate"):
        return
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # a file system that cannot
                raise


@contextmanager
def name_temporary(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name a file in the errors of a disk that do not, and say where temporary files are."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or errno.ENOSPC  # numpy tells no reason
        text = f"{os.strerror(number)}; temporary files are in the folder that the variable TMPDIR names"
        raise OSError(number, text, str(path)) from error
