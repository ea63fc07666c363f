"""The command line: ``pgmx learn``, ``bootstrap``, ``score``, ``compare``, ``show``, ``infer`` and others.

- `commands`: the commands and their help; each calls one of the modules that do the work
- `methods`: the methods of learning, and the options and defaults of their learners
- `options`: options that several commands share, written once
- `learners`: from options to a learner, and the options that a method does not take
- `inputs`: what the user names on the command line: files, tables, networks, knowledge
- `learn`: the work of ``pgmx learn``, one module per family of models
- `resample`: the work of ``pgmx bootstrap``: learn from resamples, report how sure the edges are
- `evaluate`: the work of ``pgmx score`` and ``pgmx compare``
- `forecast`: the work of ``pgmx forecast``: the rows that follow a time series
- `convert`: the work of ``pgmx convert``: a network read from one format and written in another
- `show`: the work of ``pgmx show``: the page of a network in the browser
- `stream`: the work of ``pgmx stream``: rows predicted and learned one after the other
- `infer`: the work of ``pgmx infer``: the tasks of the UAI competitions
- `report`: what all families share once a learner is made: fitting it, lines of the report, writing files
- `console`: what the user sees when something is wrong: one line on standard error, exit status 2, no traceback
"""

from pgmx.cli.commands import main

__all__ = ["main"]
