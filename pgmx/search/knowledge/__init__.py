"""What the user knows about edges, as arrays of ids.

- `knowledge`: what a user says about edges between named variables, read into integer ids
- `pairs`: what is known of the edges of an undirected graph, from names to ids
- `constraints`: what a user knows about the edges, as the integer arrays that a search reads
"""
