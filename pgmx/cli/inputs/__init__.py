"""What the user names on the command line: files, tables, networks, knowledge.

- `knowledge`: what the user knows of the edges: files of edges and tiers, and names of variables
- `paths`: checks of what the user gave, before any work: the source, and the files to write
- `networks`: networks that the user names: files, or those bundled with pgmpy
- `tables`: tables in files as the options of reading say, and numbers as categories
- `sources`: the data of a command: a table in files, or rows sampled from a bundled network
"""
