"""The command line as the tests call it."""

import re

from click.testing import CliRunner

from pgmx.cli import main


def pgmx(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="pgmx")


def done(*arguments):
    """Run, expect exit status 0 and nothing on standard error; return what was printed."""
    result = pgmx(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def refused(*arguments):
    """Run, expect exit status 2 with nothing printed and one line on standard error; return that line."""
    result = pgmx(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert re.fullmatch(r"Error: [^\n]+\n", result.stderr), result.stderr
    return result.stderr


def warned(words, *arguments):
    """Run, expect exit status 0 and warnings on standard error, each with these words; return what was printed."""
    result = pgmx(*arguments)
    lines = result.stderr.splitlines()
    assert result.exit_code == 0, result.output
    assert lines and all(line.startswith("Warning: ") and words in line for line in lines), result.stderr
    return result.stdout
