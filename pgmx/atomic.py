"""Files that are written completely or not at all; every file that pgmx leaves behind is written here.

Errors about temporary files say which disk is full.
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
    """Yield an empty file next to `path` to write to; it replaces `path` after the block, or is deleted on an error.

    Its name cannot be guessed and it is created exclusively; it is on the disk before it is moved. If `path` is a link,
    the link is replaced. A non-regular file (a pipe, a terminal) is yielded itself. A process that is killed meanwhile
    leaves a file ``.pgmx-*`` behind.
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
        with suppress(OSError):  # a file system without modes
            if target.is_file() and not target.is_symlink():
                os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part), part):
            raise
        raise OSError(error.errno, f"{os.strerror(error.errno)}; the old file is unchanged", str(target)) from error
    finally:
        part.unlink(missing_ok=True)
    _sync(target.parent)


def _check_target(target: Path) -> bool:
    """Refuse a path that cannot be written, by its name; return whether it is an existing non-regular file.

    Other processes may create, replace or delete the file at any moment, so each property is read once.
    """
    if "\0" in str(target):
        raise ValueError(f"the path {str(target)!r} holds a NUL character: give another name")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(target.parent)!r}: make it first", str(target))
    try:
        mode = target.stat().st_mode
    except OSError:  # no file, or a link without a target
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder: name a file in it", str(target))
    if not stat.S_ISREG(mode):
        return True
    try:
        os.close(os.open(target, os.O_WRONLY))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            text = "the existing file is read-only"
            raise PermissionError(errno.EACCES, text, str(target)) from None
    return False


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # some systems cannot open folders
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
    """Reserve disk space for all of a file: a mapped page without space would end the process (SIGBUS)."""
    if not hasattr(os, "posix_fallocate"):
        return
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # a file system without this call
                raise


@contextmanager
def name_temporary(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path of the file, and the folder of temporary files, to errors of the disk that lack them."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or errno.ENOSPC  # errors of numpy have no errno
        text = f"{os.strerror(number)}; temporary files are in the folder that the variable TMPDIR names"
        raise OSError(number, text, str(path)) from error
