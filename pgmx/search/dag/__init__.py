"""Searches over directed acyclic graphs.

Every search works on a `state.DagState` (a graph with the gains of its moves) and a `tracker.SearchTracker` (limits,
stages, best graph so far, checkpoints). The other modules are one search each, or one step that several searches use.
"""
