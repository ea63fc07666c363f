"""One run of a learner: its clock, limits, callback, progress bar, history and checkpoint."""
