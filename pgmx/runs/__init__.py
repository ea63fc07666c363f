"""One run of a learner: its clock, limits, callback, history and checkpoint.

- `progress`: what a callback receives, a named tuple per family of learners
- `fingerprint`: a text that stands for the data and the options of a run
- `checkpoint`: snapshots of a run in a file, from which a killed run goes on
- `run`: the run itself, and the progress bar
"""
