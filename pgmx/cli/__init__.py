"""The command line: ``pgmx learn``, ``bootstrap``, ``score``, ``compare``, ``show``, ``infer`` and others.

- `commands`: the commands and their help; each calls one of the modules that do the work
- `methods`: the methods of learning, and the options and defaults of their learners
- `options`: options that several commands share, written once
- `learners`: create a learner from the options, and reject options that the method does not have
- `inputs`: the inputs of the user: files, tables, networks, knowledge
- `learn`: the work of ``pgmx learn``, one module per family of models
- `resample`: the work of ``pgmx bootstrap``: learn from resamples, report the confidence of the edges
- `evaluate`: the work of ``pgmx score`` and ``pgmx compare``
- `forecast`: the work of ``pgmx forecast``: the rows that follow a time series
- `convert`: the work of ``pgmx convert``: read a network in one format and write it in another
- `show`: the work of ``pgmx show``: show a network in the browser
- `stream`: the work of ``pgmx stream``: predict and learn rows one after the other
- `infer`: the work of ``pgmx infer``: the tasks of the UAI competitions
- `report`: steps that all families share: fit the learner, print the report, write the files
- `console`: errors: one line on standard error, exit status 2, no traceback
"""

from pgmx.cli.commands import main

__all__ = ["main"]
