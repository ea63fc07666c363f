"""The command line: ``pgmx learn``, ``bootstrap``, ``score``, ``compare``, ``show``, ``infer`` and others.

- `commands`: the commands and their help; each calls one of the modules that do the work
- `methods`: the methods of learning, the options of their learners, and the learner that the options describe
- `options`: options that several commands share, written once
- `paths`, `tables`, `networks`, `knowledge`: the inputs of the user, and the work of ``convert`` and ``show``
- `learn`: the work of ``pgmx learn``, one module per family of models, and of ``pgmx bootstrap``
- `evaluate`: the work of ``pgmx score`` and ``pgmx compare``
- `forecast`: the work of ``pgmx forecast``: the rows that follow a time series
- `stream`: the work of ``pgmx stream``: predict and learn rows one after the other
- `infer`: the work of ``pgmx infer``: the tasks of the UAI competitions
- `report`: steps that all families share: fit the learner, print the report, write the files
- `console`: errors: one line on standard error, exit status 2, no traceback
"""

from pgmx.cli.commands import main

__all__ = ["main"]
