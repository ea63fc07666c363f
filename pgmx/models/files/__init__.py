"""Networks in files.

- `archives`: archives of arrays (npz) whose array `names` is a document, as networks are saved in
- `safe_names`: names that every reader of a network file takes as one word, and the way back
- `documents`: the json form of graphs and fitted networks: a node-link graph with states and parameters beside it
- `gaussian`: gaussian Markov networks in files: npz and json without loss, graphml for other programs
- `markov`: markov networks in files: npz and json without loss, uai and graphml for other programs
- `any_model`: files: a graph or a fitted network written for other programs, or for reading back
"""
