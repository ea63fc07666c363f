"""Learners of structural equation models from windows over which the powers of the inputs change.

- `identifiability`: the warning about inputs that the data cannot tell apart
- `inputs`: what a user gives: windows, powers of the inputs
- `equations`: what the learners share: edges at lag 0 by a threshold
- `tensor_sem`: one set of equations for all windows
- `tensor_sem_tracker`: equations that change from window to window
"""
