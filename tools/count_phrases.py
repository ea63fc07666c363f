"""Count phrases in the prose of pgmx that have a better word in the field; tests/test_words.py bounds the counts.

Usage: python tools/count_phrases.py [FOLDER]

Prose is every docstring, comment and message of `pgmx/`, the comments of `cython_ext/`, and the pages of `docs/`,
`tutorials/`, README.md, CONTRIBUTING.md and CHANGELOG.md. A table of three columns is printed: package, kernels, pages.
With --show PHRASE the sentences that hold it are printed with their files.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

#: Calls whose texts a user reads.
MESSAGES = {"argument", "debug", "echo", "info", "line", "option", "warn", "warning"}


class Phrase(NamedTuple):
    """A phrase, what to write in its place, how often the package had it when counting began, and its plain uses."""

    pattern: str
    instead: str
    before: int
    #: Words that are also plain English elsewhere: a third of `before` may stay, of other phrases a fifth.
    is_common: bool = False
    #: Uses that are right, with the reason: they do not count.
    exceptions: str | None = None


PHRASES = {
    "floats beside states": Phrase(r"\bfloats beside|states beside floats", "mixed data", 22),
    # states are the values of a discrete variable: their number, pairs and sequences are what the words say
    "of states": Phrase(
        r"\bof states\b",
        "discrete variables; discrete scores",
        150,
        exceptions=r"\b(?:numbers?|sequence|pairs?|indicators|codes|tuple|sum|probabilities|lists?) of states",
    ),
    "floats": Phrase(r"\bfloats\b", "continuous variables", 314),
    "numbers": Phrase(r"\bnumbers\b", "numeric columns; values", 447, True),
    "missing cells": Phrase(r"\bmissing cells?\b|\bholes?\b", "missing values", 236),
    "parts": Phrase(r"\bparts?\b", "partitions", 437, True),
    "pieces": Phrase(r"\bpieces?\b", "chunks", 134),
    "beside": Phrase(r"\bbeside\b", "and; next to; in addition to; compared with", 111),
    "what is": Phrase(r"\bwhat (?:is|was|it|they|a|the|all|each|every)\b", "a noun", 527, True),
    # "there is no X" is plain
    "is no": Phrase(
        r"\b(?:is no|has not)\b", "is not a; there is none; does not have", 169, True, exceptions=r"\bthere is no\b"
    ),
    "those of": Phrase(r"\b(?:those|that) of\b", "the noun again", 428, True),
    "where": Phrase(r"\bwhere\b", "if; when", 1101, True),
    "stands": Phrase(r"\bstands?\b", "is; occurs; represents", 90),
    "go on, anew": Phrase(r"\bgo(?:es)? on\b|\banew\b", "continue; resume; again; restart", 83),
    "tells": Phrase(r"\btold\b|\btells?\b", "estimates; reports; returns", 45),
    "less the": Phrase(r"\bless the\b", "minus", 27),
    "so many": Phrase(r"\bso many \w+s\b", "the number of; at most n", 31),
    "a row, a cell, a move": Phrase(
        r"\b(?:bytes?|bits?|seconds?|nats|operations?|products?|pairs?|arrays?) a (?:row|cell|move)\b", "per row", 8
    ),
    "ahead": Phrase(r"\bahead\b", "prefetch", 18, True),
    # "so far" and "as far as" are plain
    "far": Phrase(r"\bfar\b", "remote", 127, True, exceptions=r"\b(?:so|as|how) far\b"),
    # the turning phase of greedy equivalence search, and "in turn"
    "turn": Phrase(r"(?<!in )\bturn(?:s|ed|ing)?\b", "reverse an edge", 74, exceptions=r"\bturning\b"),
}


def count_phrase(phrase: Phrase, text: str) -> int:
    """Return how often a phrase occurs in a text in lower case, its exceptions left out."""
    plain = len(re.findall(phrase.exceptions, text)) if phrase.exceptions else 0
    return len(re.findall(phrase.pattern, text)) - plain


def _read_text(node: ast.AST) -> str | None:
    """Return the text of a string or f-string, a name in place of each value."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_message(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise):
        return True
    name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
    return name in MESSAGES


def list_python_prose(source: str) -> Iterator[str]:
    """Yield docstrings, messages of errors, warnings and commands, and comments of a module."""
    nodes = list(ast.walk(ast.parse(source)))
    seen = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                seen.add(id(node.body[0].value))
                yield text
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            seen.update(id(part) for part in ast.walk(node) if part is not node)
    for node in filter(_is_message, nodes):
        for part in ast.walk(node):
            text = _read_text(part)
            if text and " " in text and id(part) not in seen:
                seen.add(id(part))
                yield text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("#: ")


def list_kernel_prose(source: str) -> Iterator[str]:
    """Yield docstrings and comments of a kernel."""
    yield from re.findall(r'"""(.*?)"""', source, flags=re.DOTALL)
    yield from (comment for line in source.splitlines() for comment in re.findall(r"#\s(.*)$", line))


def list_page_prose(path: Path) -> Iterator[str]:
    """Yield a page of Markdown, the text of a notebook, or the prose of an example."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        yield from ("".join(cell["source"]) for cell in json.loads(source)["cells"])
    elif path.suffix == ".py":
        yield from list_python_prose(source)
    else:
        yield source


PARTS = ("package", "kernels", "pages")


def list_prose(root: Path, part: str) -> list[tuple[Path, str]]:
    """Return texts with their files, of one of PARTS."""
    if part == "package":
        files = sorted((root / "pgmx").rglob("*.py"))
        return [(path, text) for path in files for text in list_python_prose(path.read_text(encoding="utf-8"))]
    if part == "kernels":
        files = sorted((root / "cython_ext").rglob("*.pyx"))
        return [(path, text) for path in files for text in list_kernel_prose(path.read_text(encoding="utf-8"))]
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages += [
        *(root / "docs").glob("*.md"),
        *(root / "docs" / "examples").rglob("*.py"),
        *(root / "tutorials").glob("*.ipynb"),
    ]
    return [(path, text) for path in sorted(pages) for text in list_page_prose(path)]


def count_phrases(root: Path = ROOT, parts: Sequence[str] = PARTS) -> dict[str, dict[str, int]]:
    """Return how often each phrase occurs in each part of the project."""
    prose = {
        part: " | ".join(re.sub(r"\s+", " ", text) for _, text in list_prose(root, part)).lower() for part in parts
    }
    return {
        name: {part: count_phrase(phrase, text) for part, text in prose.items()} for name, phrase in PHRASES.items()
    }


def show(name: str, root: Path) -> None:
    """Print the sentences that hold a phrase."""
    for part in PARTS:
        for path, text in list_prose(root, part):
            for sentence in re.split(r"(?<=[.:;])\s+", re.sub(r"\s+", " ", text)):
                if re.search(PHRASES[name].pattern, sentence.lower()):
                    print(f"{path.relative_to(root)}: {sentence.strip()}")


def main(words: list[str]) -> None:
    """Print the table, or the sentences of a phrase."""
    if words[:1] == ["--show"]:
        show(words[1], ROOT)
        return
    root = Path(words[0]) if words else ROOT
    print(f"{'phrase':24s}{'package':>9s}{'kernels':>9s}{'pages':>9s}  write")
    for name, counts in count_phrases(root).items():
        print(f"{name:24s}{counts['package']:9d}{counts['kernels']:9d}{counts['pages']:9d}  {PHRASES[name].instead}")


if __name__ == "__main__":
    main(sys.argv[1:])
