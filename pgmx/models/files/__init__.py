"""Bytes of networks: every format written from the parts of a network, and read into parts.

- `formats`: what all formats share: the choice by suffix, the check of a target, marks, damaged files, safe names
- `archives`: archives of arrays (npz) whose array `names` is a document, as networks are saved in
- `documents`: the json form of graphs and fitted networks: a node-link graph with states and parameters beside it
- `bif`: BIF and XMLBIF, written by pgmpy and read by our own readers
- `graphml`: graphs in GraphML, for other programs
- `gaussian`: Gaussian Markov networks in files: npz and json without loss, graphml for other programs
- `mixed`: conditional linear Gaussian networks in json, in the terms of R's bnlearn
- `time_series`: graphs over (variable, lag) in json and graphml, linear dynamical systems in npz
- `uai`: the text formats of the UAI competitions: networks of factors of any order, and evidence
- `markov`: pairwise Markov networks in files: npz and json without loss, uai and graphml for other programs
"""
