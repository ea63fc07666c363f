"""Searches over graphs by integer ids: DAGs, undirected edges and forests, and background knowledge about edges."""
