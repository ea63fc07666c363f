"""The command ``pgmx learn``, one module per family of models.

- `query`: one question to the fitted network, asked only when exact inference is cheap
- `gaussian`: the work of ``pgmx learn`` for Gaussian graphs: learn, report, predict, write
- `markov`: the work of ``pgmx learn`` for Markov networks: learn, report, ask, write
- `command`: the work of ``pgmx learn``: load, learn, report, write
"""
