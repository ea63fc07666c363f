"""The dynamic Bayesian network: a network of each row given the rows before it, and one of the first rows.

- `columns`: names of lagged columns, and the two networks as families over them, checked
- `network`: the class, its conversions and files
- `two_slices`: families over the nodes of pgmpy's class, and the Bayesian network of the first rows
- `two_slice_network`: the class for one lag and discrete variables, a subclass of pgmpy's
- `forecasts`: methods on tables of series: forecasts, likelihoods, one-step predictions, simulation
- `panel`: series of a table in the codes of a network
- `exact_rows`: exact answers for the rows of a panel, by one of the next two modules
- `discrete_filter`: probabilities of discrete series, row by row
- `gaussian_filter`: means and covariances of linear Gaussian series, row by row
- `simulation`: draws of series
"""
