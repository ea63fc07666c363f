"""Rewrites any field of a plane file, a checkpoint or a model file of any format, with valid checksums where asked.

python -m tests.fuzz.tamper FILE --list
python -m tests.fuzz.tamper FILE --set FIELD=VALUE --sign --out FILE2
"""

import argparse
import ast
import math
from pathlib import Path
from typing import Any

from tests.fuzz.array_fields import ArrayFields, DocumentFields, TextFields
from tests.fuzz.plane_fields import PlaneFields


def read_fields(raw: bytes) -> Any:
    """Return the fields of a file, by what it begins with."""
    if raw.startswith(b"PK"):
        return ArrayFields(raw)
    if raw.startswith(b"PGMX"):
        return PlaneFields(raw)
    return DocumentFields(raw) if raw.lstrip().startswith((b"{", b"[")) else TextFields(raw)


def tamper(raw: bytes, changes: dict[str, Any], *, sign: bool) -> bytes:
    """Return a file with some fields changed."""
    fields = read_fields(raw)
    for field, value in changes.items():
        fields.set_value(field, value)
    return fields.to_bytes(sign=sign, changed=next(iter(changes), ""))


def read_value(text: str) -> Any:
    """Return a value written as in Python, nan and inf among them; other text as it is."""
    if text.lstrip("+-") in ("nan", "inf"):
        return -math.inf if text == "-inf" else float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.tamper", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--list", action="store_true", help="print the fields and their values")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="'delete' takes an array out")
    parser.add_argument("--sign", action="store_true", help="make checksums and digest valid")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    raw = options.file.read_bytes()
    if options.list:
        fields = read_fields(raw)
        for field in fields.list_fields():
            print(f"{field} = {' '.join(repr(fields.value(field)).split()):.100}")
    changes = dict(text.split("=", 1) for text in options.set)
    if options.out is not None:
        options.out.write_bytes(tamper(raw, {f: read_value(v) for f, v in changes.items()}, sign=options.sign))
    elif changes:
        parser.error("--set needs --out FILE2")


if __name__ == "__main__":
    main()
