"""Mean-field approximations of pairwise networks: independent variables, and trees.

Problem: maximise the lower bound E_q log f(x) + H(q) on the log-partition over distributions q that are products of
single variables, or Markov on a spanning tree. Algorithms: coordinate ascent for the former; for the latter a fixed
point of the natural gradient. With the tables of a tree as natural parameters and its marginals as mean parameters,
the derivatives of the bound are the network's own tables plus, for each pair outside the tree, the conditional means
E(W | ends) of each edge on the path between the pair, minus the conditional means at the inner variables of the path.
A step returns the bound at its parameters and the parameters given by these derivatives; the caller damps.
Cost of a step: per edge of a path three products of tables s x s.
Thread-safety: reads its inputs, writes its outputs and the scratch that it allocates.
References: Wiegerinck (2000), Variational approximations between mean field theory and the junction tree algorithm,
UAI, section 3; Wainwright & Jordan (2008), Graphical models, exponential families, and variational inference,
section 5.
"""

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int64_t

import numpy as np


def ascend(
    const int64_t[::1] node_at,         # in: (n + 1,)
    const double[::1] nodes,            # in: (cells,) finite log-potentials
    const int64_t[:, ::1] edges,        # in: (m, 2)
    const int64_t[::1] edge_at,         # in: (m + 1,)
    const double[::1] values,           # in: (edge cells,) finite
    const int64_t[::1] pointer,         # in: (n + 1,)
    const int64_t[::1] neighbour,       # in: (2m,)
    const int64_t[::1] edge,            # in: (2m,)
    double[::1] beliefs,                # in and out: (cells,) a distribution per variable
    Py_ssize_t n_sweeps,
    double tol,
):
    """Maximise the bound over one variable after the other, until no belief changes by more than `tol`."""
    cdef Py_ssize_t n = node_at.shape[0] - 1, v, u, k, a, b, r, q, step, stride, _
    cdef const double *table
    cdef double top, total, moved
    cdef double[::1] field = np.empty(np.diff(node_at).max())
    with nogil:
        for _ in range(n_sweeps):
            moved = 0.0
            for v in range(n):
                r, top, total = node_at[v + 1] - node_at[v], -INFINITY, 0.0
                for a in range(r):
                    field[a] = nodes[node_at[v] + a]
                for k in range(pointer[v], pointer[v + 1]):
                    u, table = neighbour[k], &values[edge_at[edge[k]]]
                    q = node_at[u + 1] - node_at[u]
                    step = q if edges[edge[k], 0] == v else 1
                    stride = 1 if edges[edge[k], 0] == v else r
                    for a in range(r):
                        for b in range(q):
                            field[a] += table[a * step + b * stride] * beliefs[node_at[u] + b]
                for a in range(r):
                    top = max(top, field[a])
                for a in range(r):
                    field[a] = exp(field[a] - top)
                    total += field[a]
                for a in range(r):
                    moved = max(moved, fabs(field[a] / total - beliefs[node_at[v] + a]))
                    beliefs[node_at[v] + a] = field[a] / total
            if moved <= tol:
                break


cdef struct Tree:
    const int64_t *node_at          # (n + 1,)
    const int64_t *parents          # (n,) -1 of the root
    const int64_t *parent_edges     # (n,) edge to the parent
    const int64_t *down_at          # (n,) first cell of the conditionals of a variable and its parent
    const double *down              # (s_parent, s) given the parent
    const double *up                # (s, s_parent) of the parent given the variable


cdef inline Py_ssize_t count_states(const Tree *tree, Py_ssize_t v) noexcept nogil:
    return tree.node_at[v + 1] - tree.node_at[v]


cdef inline const double *get_conditional(const Tree *tree, Py_ssize_t v, Py_ssize_t given) noexcept nogil:
    # Of v given a neighbour in the tree, a row per state of the latter.
    if tree.parents[v] == given:
        return tree.down + tree.down_at[v]
    return tree.up + tree.down_at[given]


cdef inline void multiply(
    const double *first, const double *second, Py_ssize_t r, Py_ssize_t q, Py_ssize_t s, double *out
) noexcept nogil:
    # (r, q) times (q, s)
    cdef Py_ssize_t a, b, c
    for a in range(r * s):
        out[a] = 0.0
    for a in range(r):
        for b in range(q):
            for c in range(s):
                out[a * s + c] += first[a * q + b] * second[b * s + c]


cdef double add_path(
    const Tree *tree, const int64_t *path, Py_ssize_t length, Py_ssize_t widest, double *means, double *ends,
    const double *marginal, double *fields, double *tables, const int64_t[:, ::1] edges, const int64_t *edge_at
) noexcept nogil:
    # Adds the derivatives of the mean of a table between the ends of a path; returns the mean. means[0] is the table.
    cdef Py_ssize_t i, a, b, c, r, q, e, s = count_states(tree, path[length - 1]), size = widest * widest
    cdef double mean = 0.0, value
    cdef double *last = ends + (length - 1) * size
    for a in range(s * s):
        last[a] = 0.0
    for a in range(s):
        last[a * s + a] = 1.0
    for i in range(length - 2, -1, -1):
        r, q = count_states(tree, path[i]), count_states(tree, path[i + 1])
        multiply(get_conditional(tree, path[i + 1], path[i]), ends + (i + 1) * size, r, q, s, ends + i * size)
    for i in range(1, length):
        r, q = count_states(tree, path[i]), count_states(tree, path[i - 1])
        multiply(get_conditional(tree, path[i - 1], path[i]), means + (i - 1) * size, r, q, s, means + i * size)
    for i in range(length - 1):
        r, q = count_states(tree, path[i]), count_states(tree, path[i + 1])
        e = tree.parent_edges[path[i]] if tree.parents[path[i]] == path[i + 1] else tree.parent_edges[path[i + 1]]
        for a in range(r):
            for b in range(q):
                value = 0.0
                for c in range(s):
                    value += means[i * size + a * s + c] * ends[(i + 1) * size + b * s + c]
                tables[edge_at[e] + (a * q + b if edges[e, 0] == path[i] else b * r + a)] += value
            value = 0.0
            for c in range(s):
                value += means[i * size + a * s + c] * ends[i * size + a * s + c]
            if i == 0:
                mean += marginal[a] * value
            else:
                fields[tree.node_at[path[i]] + a] -= value
    return mean


def step(
    const int64_t[::1] node_at,         # in: (n + 1,)
    const double[::1] nodes,            # in: (cells,) finite log-potentials
    const int64_t[:, ::1] edges,        # in: (m, 2)
    const int64_t[::1] edge_at,         # in: (m + 1,)
    const double[::1] values,           # in: (edge cells,) finite
    const int64_t[::1] order,           # in: (n,) the root first, parents before children
    const int64_t[::1] parents,         # in: (n,)
    const int64_t[::1] parent_edges,    # in: (n,) edges to the parents
    const int64_t[::1] depths,          # in: (n,)
    const double[::1] fields,           # in: (cells,) the tree's own logarithms
    const double[::1] tables,           # in: (edge cells,) its tables of pairs, read at the edges of the tree
    double[::1] new_fields,             # out: the derivatives of the bound
    double[::1] new_tables,             # out: at the edges of the tree
):
    """Return the bound of a tree distribution, and write the logarithms given by its derivatives."""
    cdef Py_ssize_t n = order.shape[0], m = edges.shape[0], i, v, u, p, a, b, e, r, q, length, back, widest
    cdef double value = 0.0, top, total, x
    cdef double *down
    sizes = np.diff(node_at)
    widest = sizes.max()
    cdef int64_t[::1] down_at = np.concatenate(
        [[0], np.cumsum(sizes * np.where(np.asarray(parents) < 0, 1, sizes[np.asarray(parents)]))]
    ).astype(np.int64)
    cdef double[::1] downs = np.empty(down_at[n]), ups = np.empty(down_at[n]), logs = np.array(fields)
    cdef double[::1] marginals = np.empty(node_at[n])
    cdef int64_t[::1] path = np.empty(n + 1, dtype=np.int64)
    cdef double[::1] means = np.empty((2 * np.max(depths) + 2) * widest**2), ends = np.empty(means.shape[0])
    cdef Tree tree
    tree.node_at, tree.parents, tree.parent_edges = &node_at[0], &parents[0], &parent_edges[0]
    tree.down_at, tree.down, tree.up = &down_at[0], &downs[0], &ups[0]
    new_fields[:] = nodes
    new_tables[:] = values
    with nogil:
        for i in range(n - 1, -1, -1):
            v, p = order[i], parents[order[i]]
            r, q = node_at[v + 1] - node_at[v], 1 if p < 0 else node_at[p + 1] - node_at[p]
            e = parent_edges[v]
            for b in range(q):
                down, top, total = &downs[down_at[v] + b * r], -INFINITY, 0.0
                for a in range(r):
                    down[a] = logs[node_at[v] + a]
                    if p >= 0:
                        down[a] += tables[edge_at[e] + (b * r + a if edges[e, 0] == p else a * q + b)]
                    top = max(top, down[a])
                for a in range(r):
                    down[a] = exp(down[a] - top)
                    total += down[a]
                for a in range(r):
                    down[a] /= total
                if p >= 0:
                    logs[node_at[p] + b] += top + log(total)
        for i in range(n):
            v, p = order[i], parents[order[i]]
            r, q = node_at[v + 1] - node_at[v], 1 if p < 0 else node_at[p + 1] - node_at[p]
            for a in range(r):
                marginals[node_at[v] + a] = 0.0
                for b in range(q):
                    x = downs[down_at[v] + b * r + a] * (1.0 if p < 0 else marginals[node_at[p] + b])
                    marginals[node_at[v] + a] += x
                    ups[down_at[v] + a * q + b] = x
                    if x > 0.0:
                        value -= x * log(downs[down_at[v] + b * r + a])
                    if p >= 0:
                        e = parent_edges[v]
                        value += x * values[edge_at[e] + (b * r + a if edges[e, 0] == p else a * q + b)]
                value += marginals[node_at[v] + a] * nodes[node_at[v] + a]
                for b in range(q):
                    if marginals[node_at[v] + a] > 0.0:
                        ups[down_at[v] + a * q + b] /= marginals[node_at[v] + a]
        for e in range(m):
            u, v = edges[e, 0], edges[e, 1]
            if parent_edges[u] == e or parent_edges[v] == e:
                continue
            r, q = node_at[u + 1] - node_at[u], node_at[v + 1] - node_at[v]
            for a in range(r * q):
                means[a] = values[edge_at[e] + a]
            # From u up to the common ancestor and down to v, which is filled in from the end.
            length, back = 0, n
            while u != v:
                if depths[u] >= depths[v]:
                    path[length] = u
                    length, u = length + 1, parents[u]
                else:
                    path[back] = v
                    back, v = back - 1, parents[v]
            path[length] = u
            length += 1
            while back < n:
                back += 1
                path[length] = path[back]
                length += 1
            value += add_path(
                &tree, &path[0], length, widest, &means[0], &ends[0], &marginals[node_at[edges[e, 0]]],
                &new_fields[0], &new_tables[0], edges, &edge_at[0]
            )
    return value
