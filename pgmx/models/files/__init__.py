"""File formats of networks: functions that convert between the fields of a network and bytes.

- `formats`: rules of all formats: suffixes, compressed files, encodings, XML, marks, damaged files, safe names
- `archives`: archives of arrays (npz) whose array `names` is a json document
- `documents`: the json form of graphs and fitted networks: a node-link graph with states and parameters
- `discrete`: discrete Bayesian networks as states and tables; BIF and XMLBIF, written by pgmpy and read by our readers
- `net`, `xdsl`: the formats of Hugin and GeNIe
- `graphml`: graphs in GraphML, for other programs
- `gaussian`: Gaussian Markov networks in files: npz and json without loss, graphml for other programs
- `mixed`: conditional linear Gaussian networks in json, in the terms of R's bnlearn
- `time_series`: graphs over (variable, lag) in json and graphml, linear dynamical systems in npz
- `uai`: the text formats of the UAI competitions: networks of factors of any order, and evidence
- `markov`: pairwise Markov networks in files: npz and json without loss, uai and graphml for other programs
"""
