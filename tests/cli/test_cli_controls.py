"""Control characters of names and states are escaped in everything that commands print."""

import re
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

import pgmx.cli
from helpers.command_line import pgmx as run
from pgmx.cli.console import BadInput, escape_controls, user_errors

#: Escape sequences, line breaks, other control characters, and marks that turn the direction of writing.
RED, BREAK, TURNED, BELL = "a\x1b[31m", "b\nline\r", "c\u202e\u2028\x85", "d\x07\x9b\t"
SHOWN = ["a\\x1b[31m", "b\\nline\\r", "c\\u202e\\u2028\\x85", "d\\x07\\x9b\\t"]


@pytest.fixture
def tables():
    """A discrete table in states.csv, one of numbers in numbers.csv, both with such names."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 400)
    states = pd.DataFrame({RED: a, BREAK: np.where(rng.random(400) < 0.9, a, 1 - a), TURNED: rng.integers(0, 2, 400)})
    states = states.replace({0: "no\x1b[2J", 1: "yes\x08"}).assign(**{BELL: states[BREAK].to_numpy()})
    numbers = pd.DataFrame(rng.normal(size=(400, 3)), columns=[RED, BREAK, TURNED])
    numbers[BREAK] += numbers[RED]
    states.to_csv("states.csv", index=False)
    numbers.to_csv("numbers.csv", index=False)
    return states, numbers


def shown(*arguments, status=0):
    """Return what was printed, once it is seen to be clean."""
    result = run(*arguments)
    assert result.exit_code == status, result.output
    text = result.stdout + result.stderr
    assert all(character.isprintable() or character == "\n" for character in text), text
    return text


def test_learned_networks(tables):
    text = shown("learn", "states.csv", "--out", "net.json")
    assert f"{SHOWN[0]} -- {SHOWN[1]}\n" in text or f"{SHOWN[0]} -> {SHOWN[1]}\n" in text
    assert re.search(r"\n  (no\\x1b\[2J|0) +0\.\d{4}", text)
    shown("score", "net.json", "states.csv")
    shown("learn", "states.csv", "--method", "group-lasso", "--out", "markov.json")
    assert f"  {SHOWN[0]} -- {SHOWN[3]}\n" in shown("compare", "net.json", "markov.json")
    table = shown("bootstrap", "states.csv", "--resamples", 3).split("\n\n")[1].splitlines()
    assert any(line.startswith(f"{SHOWN[0]} -") for line in table)
    assert len({len(line) for line in table}) == 1  # the columns are aligned as they are printed
    assert SHOWN[0] in shown("learn", "numbers.csv", "--method", "glasso", "--lam-ratio", 0.1)
    assert SHOWN[0] in shown("learn", "numbers.csv")
    for task in ("MAR", "MAP"):
        text = shown("infer", "net.json", "--task", task)
        assert SHOWN[3] in text
        assert shown("infer", "net.json", "--task", task, "--out", "answer.txt") == ""
        assert Path("answer.txt").read_text(encoding="utf-8") == text


def test_series(tables):
    text = shown("learn", "numbers.csv", "--method", "dense-lds", "--out", "m.npz")
    assert f"{SHOWN[0]}@t-1" in text
    assert shown("forecast", "m.npz", "numbers.csv").splitlines()[0] == ",".join(["row", *SHOWN[:3]])
    done = shown("forecast", "m.npz", "numbers.csv", "--out", "later.csv")
    assert done == "wrote later.csv\n"
    assert list(pd.read_csv("later.csv"))[1:] == [RED, BREAK, TURNED]


def test_errors_and_warnings(tables):
    states, _ = tables
    for arguments in (
        ("learn", "states.csv", "--roots", RED + "x"),
        ("learn", "numbers.csv", "--method", "group-lasso"),
        ("learn", "none\x1b[31m.csv"),
        ("learn", "states.csv", "--no\x1b[31m"),
        ("infer", "asia", "--task", "MAR", "--given", "asia\x1b=yes"),
        ("stream", "states.csv", "--target", BREAK),
    ):
        assert "\\x1b" in shown(*arguments, status=2)
    states.assign(**{RED: [f"id{k}" for k in range(400)]}).to_csv("ids.csv", index=False)
    assert "Warning: implausibly many states for 400 rows in column(s) 'a\\x1b[31m'" in shown("learn", "ids.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain: ü, 中, \u00a0, \u200d", "plain: ü, 中, \u00a0, \u200d"),
        ("".join([RED, BREAK, TURNED, BELL]), "".join(SHOWN)),
        ("\x00\x7f\x80\u061c\u2066\udc80", "\\x00\\x7f\\x80\\u061c\\u2066\\udc80"),
    ],
)
def test_what_is_escaped(text, expected):
    assert escape_controls(text) == expected


def test_messages_of_several_lines_are_one_line():
    with pytest.raises(BadInput, match=r"^first second, third \\x1b$"), click.Context(pgmx.cli.main), user_errors():
        raise ValueError("first\n  second,\tthird \x1b\n")


def test_commands_print_through_one_function():
    folder = Path(pgmx.cli.__file__).parent
    calls = {
        file.name: len(re.findall(r"click\.s?echo\(|\bprint\(|std(?:out|err)\.write", file.read_text(encoding="utf-8")))
        for file in folder.rglob("*.py")
    }
    # Help and the script of completion hold nothing of files.
    assert {name: n for name, n in calls.items() if n} == {"console.py": 1, "commands.py": 2}
