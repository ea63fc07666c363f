"""Learners of structural equation models from windows with different powers of the inputs.

- `identifiability`: the warning about inputs that the data cannot distinguish
- `inputs`: the user's input: windows, powers of the inputs
- `equations`: the common base class: edges at lag 0 by a threshold
- `tensor_sem`: one set of equations for all windows
- `tensor_sem_tracker`: equations that change from window to window
"""
