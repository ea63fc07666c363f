"""Graphs of integer ids: cycles, equivalence classes, consensus of many graphs.

- `consensus`: edge frequencies in many graphs over the same variables, and their averaged graph
- `cycles`: directed cycles
- `equivalence`: the graph of a Markov equivalence class (CPDAG), with or without background knowledge
- `partial_dag`: graphs with directed and undirected edges that represent a class of equivalent DAGs
"""
