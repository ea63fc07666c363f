"""Structural equations y = A y + B x from the second moments of windows over which the powers of the inputs x change.

- `moments`: second moments of windows, and what is known of the inputs
- `permutation`: which separated input belongs to which series
- `likelihood`: maximum likelihood, inputs known, partly or not
- `accuracy`: coefficients, their standard errors, and which inputs the data can tell apart
- `factors`: the closed form and the alternating least squares of the source
- `tracking`: equations that change, by a forgetting likelihood with restarts
- `recursive`: equations that change, by the source's recursive least squares
"""
