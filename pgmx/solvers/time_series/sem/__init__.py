"""Structural equations y = A y + B x from the second moments of windows with different powers of the inputs x.

- `moments`: second moments of windows, and known powers of the inputs
- `permutation`: assignment of separated inputs to series
- `likelihood`: maximum likelihood with all, some or no powers of the inputs known
- `accuracy`: coefficients, their standard errors, and which inputs the data can distinguish
- `factors`: the closed form and the alternating least squares of the thesis
- `tracking`: equations that change, by a likelihood with forgetting and restarts
- `recursive`: equations that change, by the recursive least squares of the thesis
"""
