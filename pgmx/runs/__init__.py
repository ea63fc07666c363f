"""One run of a learner: its clock, limits, callback, progress and checkpoint.

- `checkpoint`: snapshots of a running search in a file, from which a killed run goes on
- `progress`: a progress bar that appears only when a run takes long
- `run`: what goes on beside the solving of a Gaussian learner: its clock, its callback, its history
"""
