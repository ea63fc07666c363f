"""One run of a learner: its clock, limits, callback, history and checkpoint.

- `progress`: what a callback receives, a named tuple per family of learners
- `snapshot`: the values of a snapshot, each checked as it is read back
- `checkpoint`: snapshots of a run in a file, from which a killed run goes on, and the fingerprint of a run
- `run`: the run itself, its tasks in several threads, and the progress bar
- `store`: where solvers keep their state: the checkpoint of a run, or a part of it
"""
