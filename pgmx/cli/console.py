"""Errors (one line on standard error, exit status 2, no traceback) and signals."""

import re
import signal
import sys
import threading
import warnings
from contextlib import contextmanager

import click

#: Exit statuses of shells for a program that was ended by Ctrl-C or SIGTERM.
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM

#: Key of the context: the reported result was interrupted.
_NOTE = "pgmx.interrupted"

#: Key of the context: the reader of standard output has closed it.
_CLOSED = "pgmx.closed"

#: Key of the context: the warnings that were shown.
_WARNINGS = "pgmx.warnings"


class BadInput(click.ClickException):
    """Bad usage or bad data."""

    exit_code = 2


#: Control characters, line breaks of Unicode, marks that change the direction of writing, and lone surrogates.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text):
    """Return a text with its control characters escaped as in Python; names and states come from files."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def say(text="", *, err=False):
    """Print one line, its control characters escaped.

    If the reader of standard output has closed it, as ``head`` does, nothing more is printed there, and the command
    continues and writes its files.
    """
    context = click.get_current_context(silent=True)
    meta = {} if context is None else context.meta
    if not err and _CLOSED in meta:
        return
    try:
        click.echo(escape_controls(text), err=err)
    except BrokenPipeError as error:
        if err or context is None:
            raise
        meta[_CLOSED] = error


def _one_line(text):
    return escape_controls(re.sub(r"[ \t\r\n]+", " ", str(text)).strip())


@contextmanager
def user_errors(missing=()):
    """Report errors and warnings in one line each on standard error; `missing` has the choices of --missing."""
    with warnings.catch_warnings():
        # Only warnings for users: deprecation warnings of other packages are for programmers.
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.filterwarnings("default", "checkpoint=|loopy belief propagation", RuntimeWarning)  # of pgmx itself
        warnings.showwarning = lambda message, *_, **__: _show_warning(_one_line(message))
        context = click.get_current_context()
        try:
            with _ending_on_request():
                yield
            if context.meta.get(_NOTE):
                context.exit(INTERRUPTED)
            if _CLOSED in context.meta:
                raise context.meta[_CLOSED]
        except KeyboardInterrupt:
            say("Interrupted" if context.meta.get(_NOTE) else "Interrupted before there was a result", err=True)
            context.exit(INTERRUPTED)
        except BrokenPipeError:  # the reader of the output has closed it; click ends without a message
            raise
        except (ValueError, TypeError, OSError, ImportError) as error:
            raise BadInput(_one_line(_spell_option(error, missing)) or type(error).__name__) from error


def _show_warning(text):
    shown = click.get_current_context().meta.setdefault(_WARNINGS, [])
    if text not in shown:  # a file is opened more than once
        say(f"Warning: {text}", err=True)
        shown.append(text)


def list_warnings():
    """Return the warnings that the command has shown."""
    return list(click.get_current_context().meta.get(_WARNINGS, ()))


@contextmanager
def _ending_on_request():
    """Exit on SIGTERM, so that worker processes and unfinished files are removed."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def note_interrupt():
    """Print that the best result so far follows, and set the exit status of an interrupted command."""
    say("Interrupted: the best result so far is reported and written", err=True)
    click.get_current_context().meta[_NOTE] = True


def _spell_option(error, missing):
    """Return an error about missing values with the option of the command; other errors unchanged."""
    if hasattr(error, "with_option"):  # a ChoiceError; importing its module would import pandas
        return error.among(missing).with_option("--missing {}")
    return error


class OneLineCommand(click.Command):
    """A command whose usage errors are one line; those of click include the usage text."""

    def parse_args(self, context, arguments):
        """Read the arguments."""
        try:
            return super().parse_args(context, arguments)
        except click.UsageError as error:
            raise _shorten_error(error, context) from error


class OneLineGroup(OneLineCommand, click.Group):
    """A group of such commands."""

    def resolve_command(self, context, arguments):
        """Find the command, or raise an error."""
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as error:
            raise _shorten_error(error, context) from error


def _shorten_error(error, context):
    message = _one_line(error.format_message()).rstrip(".")
    return BadInput(f"{message} (see '{context.command_path} --help')")
