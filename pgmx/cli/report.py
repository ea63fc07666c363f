"""Lines of the reports."""

import click


def line(name: str, text: str) -> None:
    """Print one labelled line."""
    click.echo(f"{name:<8} {text}")


def edges_of(graph) -> list[tuple[str, str, str]]:
    """List the edges of a DAG or PDAG as (variable, mark, variable), sorted; ``--`` for undirected ones."""
    arcs = set(graph.edges())
    found = []
    for u, v in arcs:
        if (v, u) not in arcs:
            found.append((str(u), "->", str(v)))
        elif (str(u), repr(u)) < (str(v), repr(v)):
            found.append((str(u), "--", str(v)))
    return sorted(found, key=lambda edge: (edge[0], f" {edge[1]} ", edge[2]))


def edge_count(edges: list) -> str:
    """Say how many edges there are of each kind."""
    n_open = sum(mark == "--" for _, mark, _ in edges)
    return f"{len(edges)} ({len(edges) - n_open} directed, {n_open} undirected)"


def data_line(where, n_rows: int, n_variables: int, truth, random_state: int) -> None:
    """Print what is learned from."""
    sampled = f", sampled with random state {random_state}" if truth is not None else ""
    line("data", f"{where.name}: {n_rows} rows, {n_variables} variables{sampled}")
