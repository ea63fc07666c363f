"""The inputs of the user on the command line: files, tables, networks, knowledge.

- `knowledge`: prior knowledge of the edges: files of edges and tiers, and names of variables
- `paths`: checks of the source and of the output files before any work
- `networks`: networks from files, or bundled with pgmpy
- `tables`: tables in files, read according to the options, and discretisation
- `sources`: the data of a command: a table in files, or rows sampled from a bundled network
"""
