"""The command ``pgmx learn``, one module per family of models.

- `query`: one question to the fitted network, asked only when exact inference is cheap
- `bayesian`: Bayesian networks: learn, report, ask, write
- `gaussian`: Gaussian graphs: learn, report, predict, write
- `markov`: Markov networks: learn, report, ask, write
- `series`: graphs of time series: learn, report, write
- `command`: the entry point: check the options, load the data, call one of these families
"""
