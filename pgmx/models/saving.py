"""Models that are saved to files and loaded from them, as tuples of their fields."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pgmx.atomic import replace_file
from pgmx.models.files.formats import check_target, choose_format, explain_unreadable, pack_content, read_content

Saved = TypeVar("Saved", bound="SavedByParts")  # of Self jedi returns the base class


class SavedByParts:
    """A model that is saved to files and loaded from them, as a tuple of its fields."""

    #: Writers and readers of the fields by format, and the description of the model in messages.
    _writers: Mapping[str, Callable[[Any], bytes]]
    _readers: Mapping[str, Callable[[bytes], Any]]
    _description: str

    @classmethod
    @abstractmethod
    def from_parts(cls: type[Saved], parts: Any) -> Saved:
        """Make a model from the fields that files hold."""

    @abstractmethod
    def parts(self) -> Any:
        """Return the fields that files hold."""

    def _parts_for(self, format: str) -> Any:
        """Return the fields in the form that a format needs."""
        return self.parts()

    def save(self, path: str | os.PathLike, format: str | None = None) -> Path:
        """Write the model to a file and return its path; `format` is the suffix of ``path`` by default.

        :func:`pgmx.models.save_model` says what each format keeps.
        """
        path, format = check_target(path, format, self._writers)
        raw = pack_content(path, self._writers[format](self._parts_for(format)))
        with replace_file(path) as part:
            part.write_bytes(raw)
        return path

    @classmethod
    def load(cls: type[Saved], path: str | os.PathLike, format: str | None = None) -> Saved:
        """Read a model of this class from a file; `format` as for `save`."""
        path, format = choose_format(path, format, cls._readers)
        raw = read_content(path)
        with explain_unreadable(path, f"{cls._description} in {format} form"):
            return cls.from_parts(cls._readers[format](raw))
