# Scores of families whose parents have nearly as many configurations as there are rows, by groups of rows.
#
# Rows with equal parents are a group. Groups are split by one parent at a time and kept for each parent of the family,
# so that a family with the same first parents as the last family splits by its other parents only. The child and one
# more parent are counted within the groups. A group of one row is not split further. Rows that are equal in all
# variables are one row with a weight; for groups of one row, the number of rows of each weight is counted.
# Cost: a few operations per row that is not alone, for each parent that is new and for each family; 12 bytes per row
# and parent.

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from _buffers cimport Buffer, release, reserve
from _cells cimport Columns, code_of
from _terms cimport TermTable, Terms, cell_terms, config_terms, term
from _workspace cimport Workspace


cdef enum:
    DEEPEST = 64
    ROWS_PER_CONFIG = 8             # if configurations have fewer rows on average, planes are slower
    MOST_ROWS = 1 << 17             # of a table: 12 bytes per row and parent


cdef struct Groups:                 # of the rows that are equal in some parents
    Buffer rows                     # uint32: distinct rows, group after group
    Buffer ends                     # int64: exclusive end of each group
    Buffer alone                    # int64: groups of one distinct row, by class of weight
    Py_ssize_t n_rows, n_groups


cdef struct RowGroups:
    Groups[DEEPEST] levels          # number k: by the first k parents of the path
    int[DEEPEST] path
    Py_ssize_t depth, n_classes     # no class: the distinct rows are not known yet
    Buffer weights                  # uint32: rows that are equal to a distinct one
    Buffer classes                  # uint32: the class of the weight of a row
    Buffer class_weights            # uint32: the weight of each class
    Buffer scratch, ordered


cdef inline void free_groups(RowGroups *groups) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(DEEPEST):
        release(&groups.levels[i].rows)
        release(&groups.levels[i].ends)
        release(&groups.levels[i].alone)
    release(&groups.weights)
    release(&groups.classes)
    release(&groups.class_weights)
    release(&groups.scratch)
    release(&groups.ordered)


cdef inline int split_groups(
    RowGroups *all, const Columns *table, Groups *now, int parent, Groups *wider
) except -1 nogil:
    # Splits groups by the states of a parent; rows that are alone in their group are removed.
    cdef Py_ssize_t r = table.cards[parent], g, i, begin = 0, end, m = 0, n_groups = 0, s
    cdef const uint32_t *rows = <const uint32_t *>now.rows.data
    cdef const int64_t *ends = <const int64_t *>now.ends.data
    cdef const uint32_t *classes = <const uint32_t *>all.classes.data
    cdef uint32_t *target = <uint32_t *>reserve(&wider.rows, (now.n_rows + 1) * sizeof(uint32_t))
    cdef int64_t *new_ends = <int64_t *>reserve(&wider.ends, (now.n_rows + 1) * sizeof(int64_t))
    cdef int64_t *alone = <int64_t *>reserve(&wider.alone, (all.n_classes + 1) * sizeof(int64_t))
    cdef uint32_t *sizes = <uint32_t *>reserve(&all.scratch, (r + now.n_rows + 1) * sizeof(uint32_t))
    cdef uint32_t *states = sizes + r
    cdef uint32_t place, size
    memcpy(alone, now.alone.data, all.n_classes * sizeof(int64_t))
    memset(sizes, 0, r * sizeof(uint32_t))
    for g in range(now.n_groups):
        end = ends[g]
        for i in range(begin, end):
            states[i] = code_of(table, parent, rows[i])
            sizes[states[i]] += 1
        place = <uint32_t>m
        for s in range(r):          # target of the rows of each state; end of the rows that stay
            size = sizes[s]
            sizes[s] = place
            if size > 1:
                place += size
                new_ends[n_groups] = place
                n_groups += 1
            elif size == 1:
                sizes[s] = <uint32_t>-1
        for i in range(begin, end):
            if sizes[states[i]] == <uint32_t>-1:
                alone[classes[rows[i]]] += 1
            else:
                target[sizes[states[i]]] = rows[i]
                sizes[states[i]] += 1
        memset(sizes, 0, r * sizeof(uint32_t))
        m = place
        begin = end
    wider.n_rows, wider.n_groups = m, n_groups
    return 0


cdef inline int find_distinct_rows(RowGroups *all, const Columns *table, Py_ssize_t n) except -1 nogil:
    # Fills level 0 with one row of each kind, all in one group, and finds the weights.
    cdef Py_ssize_t n_rows = table.n_rows, v, g, i, begin = 0, m = 0
    cdef uint32_t *rows
    cdef uint32_t *weights = <uint32_t *>reserve(&all.weights, (n_rows + 1) * sizeof(uint32_t))
    cdef uint32_t *classes = <uint32_t *>reserve(&all.classes, (n_rows + 1) * sizeof(uint32_t))
    cdef uint32_t *values = <uint32_t *>reserve(&all.class_weights, (n_rows + 1) * sizeof(uint32_t))
    cdef uint32_t *class_of = <uint32_t *>calloc(n_rows + 1, sizeof(uint32_t))
    cdef Groups *first = &all.levels[0]
    cdef Groups *other = &all.levels[1]
    cdef Groups *swap
    if class_of == NULL:
        with gil:
            raise MemoryError("cannot allocate the weights of equal rows")
    all.n_classes = 1
    memset(classes, 0, n_rows * sizeof(uint32_t))
    rows = <uint32_t *>reserve(&first.rows, (n_rows + 1) * sizeof(uint32_t))
    (<int64_t *>reserve(&first.ends, (n_rows + 1) * sizeof(int64_t)))[0] = n_rows
    (<int64_t *>reserve(&first.alone, (n_rows + 2) * sizeof(int64_t)))[0] = 0
    first.n_rows, first.n_groups = n_rows, 1 if n_rows > 1 else 0
    for i in range(n_rows):
        rows[i] = <uint32_t>i
        weights[i] = 1
    for v in range(n):
        split_groups(all, table, first, <int>v, other)
        swap = first
        first = other
        other = swap
    for g in range(first.n_groups):     # the first row of a group represents all of them
        rows = <uint32_t *>first.rows.data
        weights[rows[begin]] = <uint32_t>((<int64_t *>first.ends.data)[g] - begin)
        for i in range(begin + 1, (<int64_t *>first.ends.data)[g]):
            weights[rows[i]] = 0
        begin = (<int64_t *>first.ends.data)[g]
    all.n_classes = 0
    rows = <uint32_t *>reserve(&all.levels[0].rows, (n_rows + 1) * sizeof(uint32_t))
    for i in range(n_rows):
        if weights[i] == 0:
            continue
        if class_of[weights[i]] == 0:
            values[all.n_classes] = weights[i]
            all.n_classes += 1
            class_of[weights[i]] = <uint32_t>all.n_classes
        classes[i] = class_of[weights[i]] - 1
        rows[m] = <uint32_t>i
        m += 1
    free(class_of)
    all.levels[0].n_rows = m
    all.levels[0].n_groups = 1 if m > 1 else 0
    (<int64_t *>reserve(&all.levels[0].ends, (n_rows + 1) * sizeof(int64_t)))[0] = m
    memset(reserve(&all.levels[0].alone, (n_rows + 2) * sizeof(int64_t)), 0, (n_rows + 2) * sizeof(int64_t))
    if m == 1:
        (<int64_t *>all.levels[0].alone.data)[classes[0]] = 1
    all.depth = 0
    return 0


cdef inline Groups *group_rows(
    RowGroups *all, const Columns *table, const int *parents, Py_ssize_t k
) except NULL nogil:
    # The groups of k parents, k below DEEPEST; groups of first parents in common with the last family are kept.
    cdef Py_ssize_t i = 0
    while i < k and i < all.depth and all.path[i] == parents[i]:
        i += 1
    all.depth = i
    while all.depth < k:
        i = all.depth
        split_groups(all, table, &all.levels[i], parents[i], &all.levels[i + 1])
        all.path[i] = parents[i]
        all.depth += 1
    return &all.levels[k]


cdef inline int order_child(RowGroups *all, const Columns *table, Groups *groups, Py_ssize_t child) except -1 nogil:
    # Writes the states of the child and the weights of the rows, group after group, for `score_in_groups`.
    cdef Py_ssize_t i
    cdef const uint32_t *rows = <const uint32_t *>groups.rows.data
    cdef const uint32_t *weights = <const uint32_t *>all.weights.data
    cdef uint32_t *ordered = <uint32_t *>reserve(&all.ordered, (2 * groups.n_rows + 1) * sizeof(uint32_t))
    for i in range(groups.n_rows):
        ordered[2 * i] = code_of(table, child, rows[i])
        ordered[2 * i + 1] = weights[rows[i]]
    return 0


cdef inline int score_in_groups(
    RowGroups *all, const Columns *table, Terms *terms, Groups *groups, Py_ssize_t child, Py_ssize_t u, double q,
    double *score, double *n_cells
) except -1 nogil:
    # The score of the child with the parents of the groups, of q configurations, and u; the number of cells that occur.
    cdef Py_ssize_t r = table.cards[child], ru = table.cards[u], g, i, begin = 0, end, n = 0, n_touched
    cdef TermTable *cell = cell_terms(terms, q * ru, r)
    cdef TermTable *config = config_terms(terms, q * ru, r)
    cdef const uint32_t *rows = <const uint32_t *>groups.rows.data
    cdef const int64_t *ends = <const int64_t *>groups.ends.data
    cdef const int64_t *alone = <const int64_t *>groups.alone.data
    cdef const uint32_t *values = <const uint32_t *>all.class_weights.data
    cdef const uint32_t *child_of = <const uint32_t *>all.ordered.data      # state and weight of each row
    cdef uint32_t *counts = <uint32_t *>reserve(&all.scratch, (2 * (ru * r + ru) + 2) * sizeof(uint32_t))
    cdef uint32_t *configs = counts + ru * r
    cdef uint32_t *touched = configs + ru       # cells, from the front; configurations, from the back
    cdef uint32_t c, s, w
    cdef Py_ssize_t n_configs, back = ru * r + ru + 1
    cdef double total = 0.0
    memset(counts, 0, (ru * r + ru) * sizeof(uint32_t))
    for g in range(groups.n_groups):
        end = ends[g]
        if end == begin + 2:        # most groups: two rows
            i = 2 * begin
            w = child_of[i + 1] + child_of[i + 3]
            if code_of(table, u, rows[begin]) != code_of(table, u, rows[begin + 1]):
                total += term(cell, child_of[i + 1]) - term(config, child_of[i + 1])
                total += term(cell, child_of[i + 3]) - term(config, child_of[i + 3])
                n += 2
            elif child_of[i] == child_of[i + 2]:
                total += term(cell, w) - term(config, w)
                n += 1
            else:
                total += term(cell, child_of[i + 1]) + term(cell, child_of[i + 3]) - term(config, w)
                n += 2
            begin = end
            continue
        n_touched = n_configs = 0
        for i in range(begin, end):
            s = code_of(table, u, rows[i])
            c = <uint32_t>(s * r) + child_of[2 * i]
            w = child_of[2 * i + 1]
            touched[n_touched] = c          # overwritten if the cell is not new
            n_touched += counts[c] == 0
            counts[c] += w
            touched[back - n_configs] = s
            n_configs += configs[s] == 0
            configs[s] += w
        begin = end
        for i in range(n_touched):
            total += term(cell, counts[touched[i]])
            counts[touched[i]] = 0
        for i in range(n_configs):
            total -= term(config, configs[touched[back - i]])
            configs[touched[back - i]] = 0
        n += n_touched
    for i in range(all.n_classes):
        if alone[i] > 0:
            total += alone[i] * (term(cell, values[i]) - term(config, values[i]))
            n += alone[i]
    score[0] = total - terms.penalty * q * ru * (r - 1)
    n_cells[0] = n
    return 0


cdef inline double count_declared(const Columns *table, const int *parents, Py_ssize_t k) noexcept nogil:
    # Configurations of the parents, whether they occur or not.
    cdef double q = 1.0
    cdef Py_ssize_t i
    for i in range(k):
        q *= table.cards[parents[i]]
    return q


cdef inline bint fits_groups(const Workspace *work, const int *parents, Py_ssize_t k) noexcept nogil:
    # Whether groups of rows are faster than planes; BDs needs the configurations that occur before any term.
    return 0 < k < DEEPEST and not work.terms.observed and work.table.n_rows <= MOST_ROWS \
        and count_declared(&work.table, parents, k) * ROWS_PER_CONFIG > work.table.n_rows


cdef inline int score_by_groups(
    RowGroups *all, Workspace *work, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *wanted,
    Py_ssize_t n, double *scores, double *n_cells
) except -1 nogil:
    # The scores of the child with each of the wanted parents added, and the cells that occur, by id of the parent.
    cdef Py_ssize_t i
    cdef double q = count_declared(&work.table, parents, k)
    cdef Groups *groups
    if all.n_classes == 0:
        find_distinct_rows(all, &work.table, work.n)
    groups = group_rows(all, &work.table, parents, k)
    order_child(all, &work.table, groups, child)
    for i in range(n):
        score_in_groups(
            all, &work.table, &work.terms, groups, child, wanted[i], q, &scores[wanted[i]], &n_cells[wanted[i]]
        )
    return 0
