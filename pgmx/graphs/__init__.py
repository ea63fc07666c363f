"""Graphs of integer ids: cycles, equivalence classes, consensus of many graphs.

- `consensus`: what many graphs over the same variables have in common: how often edges occur, and the graph they
  agree on
- `cycles`: directed cycles
- `equivalence`: the graph of a Markov equivalence class: what data and knowledge can say about the directions of a
  DAG
- `partial_dag`: graphs with directed and undirected edges that stand for a class of equivalent DAGs
"""
