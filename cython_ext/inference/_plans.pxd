# Elimination plans of small networks: bucket trees that read the network's tables.
#
# A component is a set of hidden variables and the families that mention them. The observed variables of these families
# only shift the place at which a table is read, so one plan serves all rows that hide the same variables.
#
# A bucket multiplies the tables of its families and the messages of its children, its operands. Which cell of an
# operand belongs to a cell of the bucket's message is the sum of two listed numbers: one for the block of cells, one
# for the place in the block. So the lists are short, and a block stays in the nearest cache while its operands are
# multiplied.

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from _plan_orders cimport MOST_TABLE_CELLS, find_order
from _simd cimport pgmx_lowest_bit


cdef enum:
    LEAST_BLOCK = 32                          # cells of a block, unless the message has fewer


cdef enum Kind:
    SUM                                       # sum out all hidden variables
    MAXIMISE                                  # the most probable states of all hidden variables
    QUERY                                     # sum out all but the query, whose joint is the table of the last bucket
    MARGINAL_MAP                              # sum out all but the query, then its most probable states


cdef struct Network:
    Py_ssize_t n, n_families
    const int32_t *cards
    const int64_t *starts                     # (n_families + 1,) of the scopes of the families
    const int32_t *scopes
    const int64_t *strides                    # of each variable of a scope in the table of its family
    const int64_t *tables                     # (n_families,) first cell of each table
    const double *values
    const int64_t *holder_starts              # (n + 1,)
    const int32_t *holders                    # families that mention a variable
    const uint8_t *active                     # families that take part


cdef enum Pattern:
    CONSTANT                                  # all cells of a block read the same cell of an operand
    CONTIGUOUS                                # they read as many cells one after the other
    SCATTERED                                 # they read the listed cells


cdef struct Operand:
    int32_t source                            # position in the plan's families, or a child: the bucket of a message
    int32_t step                              # cells from a state of the bucket's variable to the next
    Pattern pattern
    int32_t *outer                            # (n_outer,) cell that a block begins at
    int32_t *inner                            # (n_inner,) cells in a block


cdef struct Bucket:
    int32_t variable                          # position in the plan's hidden variables; -1: the bucket of the query
    int32_t card                              # number of its states; 1 for the query
    int32_t n_rows                            # cells of the message: n_outer blocks of n_inner
    int32_t n_outer, n_inner
    int32_t n_scope, n_factors, n_operands
    int32_t parent                            # the bucket that receives the message, or -1
    int32_t maximise
    int32_t *scope                            # hidden variables of the message, the first the slowest
    Operand *operands                         # the families, then the messages of the children; constant ones first
    int32_t n_constant_factors, n_constant_messages
    Py_ssize_t table, message                 # first cells in the scratch memory


cdef struct Plan:
    int32_t n_hidden, n_families, n_buckets, keeps_tables
    int32_t *hidden
    int32_t *families
    Bucket *buckets
    Operand *operands
    int32_t *integers                         # the memory of all lists
    Py_ssize_t n_cells, n_kept, n_messages, n_bytes      # n_kept: cells of the tables that are kept


cdef struct Scratch:
    Py_ssize_t n_kept, n_messages, n_hidden, n_families, n_sources
    double *tables
    double *up
    double *down
    double *scales
    const double **sources                    # first cells of a bucket's operands
    int32_t *best                             # maximising state for each cell of a message
    int32_t *states                           # state of each hidden variable
    int64_t *bases                            # first cell of each family at the row's observed states


cdef inline void free_plan(Plan *plan) noexcept nogil:
    if plan != NULL:
        free(plan.buckets)
        free(plan.operands)
        free(plan.integers)
        free(plan)


cdef inline void list_cells(
    Py_ssize_t n, const int32_t *cards, const int32_t *strides, int32_t *cells
) noexcept nogil:
    """List sum_k x_k strides_k for all x, the last variable the fastest."""
    cdef Py_ssize_t k, i, x, count = 1
    cells[0] = 0
    for k in range(n - 1, -1, -1):
        for x in range(1, cards[k]):
            for i in range(count):
                cells[x * count + i] = cells[i] + <int32_t>x * strides[k]
        count *= cards[k]


cdef inline double order_hidden(
    const Network *network, const Plan *plan, const int32_t *query, Py_ssize_t n_query, Kind kind,
    const int32_t *local, uint64_t *near, int32_t *rank, int32_t *order
) noexcept nogil:
    """Order the hidden variables, the query last, or follow `order` if it is given; returns the number of cells.

    The query comes as one table in the order asked, or for the marginal MAP variable by variable. `near` (zeros)
    becomes the neighbours of each variable when it is eliminated, `rank` its place. Infinity if a table has too many
    cells to number, -1 if memory is exhausted.
    """
    cdef Py_ssize_t m = plan.n_hidden, words = (m + 63) // 64, n_steps = m - n_query if kind == QUERY else m
    cdef Py_ssize_t i, j, k, x, y
    cdef int64_t a, e
    cdef double total, cells
    cdef double *cards = <double *>malloc(m * sizeof(double))
    if cards == NULL:
        return -1.0
    for i in range(m):
        cards[i] = network.cards[plan.hidden[i]]
    for k in range(plan.n_families):
        a = network.starts[plan.families[k]]
        e = network.starts[plan.families[k] + 1]
        for x in range(a, e):
            i = local[network.scopes[x]]
            if i < 0:
                continue
            for y in range(x + 1, e):
                j = local[network.scopes[y]]
                if j >= 0 and j != i:
                    near[i * words + j // 64] |= (<uint64_t>1) << (j % 64)
                    near[j * words + i // 64] |= (<uint64_t>1) << (i % 64)
    total = find_order(m, cards, near, query, n_query, n_steps, order)
    if total == INFINITY:                     # the search stopped at the first table: there is no order
        free(cards)
        return total
    for i in range(n_steps):
        rank[order[i]] = <int32_t>i
    if kind == QUERY and n_query > 0:
        cells = 1.0
        for i in range(n_query):
            rank[query[i]] = <int32_t>(n_steps + i)
            cells *= cards[query[i]]
        if total >= 0.0:
            total += INFINITY if cells > MOST_TABLE_CELLS else cells
    free(cards)
    return total


cdef inline Py_ssize_t list_scope(
    const uint64_t *row, Py_ssize_t n_words, const int32_t *rank, int32_t *scope
) noexcept nogil:
    # The variables of a message by their ranks. So the cells of a message at one state of its parent's variable, the
    # first of them, follow each other in the order of the parent's message.
    cdef Py_ssize_t q, n = 0, at
    cdef int32_t j
    cdef uint64_t word
    for q in range(n_words):
        word = row[q]
        while word:
            j = <int32_t>(q * 64 + pgmx_lowest_bit(word))
            word &= word - 1
            at = n
            while at > 0 and rank[scope[at - 1]] > rank[j]:
                scope[at] = scope[at - 1]
                at -= 1
            scope[at] = j
            n += 1
    return n


cdef inline Py_ssize_t count_scopes(const uint64_t *near, const int32_t *order, const Plan *plan) noexcept nogil:
    # The length of the scopes of all messages of hidden variables.
    cdef Py_ssize_t words = (plan.n_hidden + 63) // 64, s, q, n = 0
    cdef uint64_t word
    for s in range(min(plan.n_buckets, plan.n_hidden)):
        for q in range(words):
            word = near[order[s] * words + q] if order[s] >= 0 else 0
            while word:
                n += 1
                word &= word - 1
    return n


cdef inline Py_ssize_t place_buckets(
    const Network *network, Plan *plan, const int32_t *query, Py_ssize_t n_query, Kind kind,
    const uint64_t *near, const int32_t *rank, const int32_t *order, int32_t *scopes
) noexcept nogil:
    """Set variables, scopes (into `scopes`), sizes and parents of the buckets; returns the length of all scopes."""
    cdef Py_ssize_t m = plan.n_hidden, words = (m + 63) // 64, n_steps = m - n_query if kind == QUERY else m
    cdef Py_ssize_t s, k, n_table, used = 0
    cdef Bucket *b
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        b.scope = scopes + used
        if s < n_steps:
            b.variable = order[s]
            b.card = network.cards[plan.hidden[order[s]]]
            b.n_scope = <int32_t>list_scope(near + order[s] * words, words, rank, b.scope)
            b.maximise = kind == MAXIMISE or (kind == MARGINAL_MAP and s >= m - n_query)
        else:
            b.variable = -1
            b.card = 1
            b.n_scope = <int32_t>n_query
            memcpy(b.scope, query, n_query * sizeof(int32_t))
            b.maximise = 0
        b.n_rows = 1
        for k in range(b.n_scope):
            b.n_rows *= network.cards[plan.hidden[b.scope[k]]]
        b.parent = -1
        if s < n_steps and b.n_scope > 0:
            # the first of the scope to be eliminated; the query is eliminated in its one bucket
            b.parent = <int32_t>min(rank[b.scope[0]], n_steps)
            plan.buckets[b.parent].n_operands += 1
        b.n_inner = 1
        k = b.n_scope - 1
        while k >= 0 and b.n_inner < LEAST_BLOCK:
            b.n_inner *= network.cards[plan.hidden[b.scope[k]]]
            k -= 1
        b.n_outer = b.n_rows // b.n_inner
        n_table = <Py_ssize_t>b.n_rows * b.card
        b.message = plan.n_messages
        plan.n_messages += b.n_rows
        plan.n_cells += n_table
        # a table that is not kept has the place of all others
        b.table = plan.n_kept if plan.keeps_tables else 0
        plan.n_kept = plan.n_kept + n_table if plan.keeps_tables else max(plan.n_kept, n_table)
        used += b.n_scope
    return used


cdef inline Py_ssize_t place_operands(Plan *plan, const int32_t *home) noexcept nogil:
    # Sets the sources of the operands of each bucket; returns the integers of their lists.
    cdef Py_ssize_t k, s, n_integers = 0
    cdef Operand *operands = plan.operands
    cdef Bucket *b
    for k in range(plan.n_families):
        plan.buckets[home[k]].n_operands += 1
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        b.operands = operands
        operands += b.n_operands
        n_integers += <Py_ssize_t>b.n_operands * (b.n_outer + b.n_inner)
        b.n_operands = 0
    for k in range(plan.n_families):
        b = plan.buckets + home[k]
        b.operands[b.n_operands].source = <int32_t>k
        b.n_operands += 1
        b.n_factors += 1
    for s in range(plan.n_buckets):
        if plan.buckets[s].parent >= 0:
            b = plan.buckets + plan.buckets[s].parent
            b.operands[b.n_operands].source = <int32_t>s
            b.n_operands += 1
    return n_integers


cdef inline int32_t *list_operand(
    const Network *network, const Plan *plan, const Bucket *b, Operand *operand, const int64_t *strides, int32_t *cards,
    int32_t *memory
) noexcept nogil:
    # Lists the cells of an operand with a stride for each hidden variable; returns the memory behind the lists.
    cdef Py_ssize_t at, n_outer = b.n_scope, count = 1
    cdef bint is_constant = True, is_contiguous = True
    cdef int64_t stride
    operand.step = <int32_t>(strides[b.variable] if b.variable >= 0 else 0)
    operand.outer = memory
    operand.inner = memory + b.n_outer
    while count < b.n_inner:
        n_outer -= 1
        stride = strides[b.scope[n_outer]]
        is_constant &= stride == 0
        is_contiguous &= stride == count
        count *= network.cards[plan.hidden[b.scope[n_outer]]]
    operand.pattern = CONSTANT if is_constant else CONTIGUOUS if is_contiguous else SCATTERED
    for at in range(b.n_scope):
        cards[at] = network.cards[plan.hidden[b.scope[at]]]
        cards[b.n_scope + at] = <int32_t>strides[b.scope[at]]
    list_cells(n_outer, cards, cards + b.n_scope, operand.outer)
    list_cells(b.n_scope - n_outer, cards + n_outer, cards + b.n_scope + n_outer, operand.inner)
    return operand.inner + b.n_inner


cdef inline int32_t bring_constants_forward(Operand *operands, Py_ssize_t n) noexcept nogil:
    # Returns the number of operands that are constant in a block, after exchanges with others.
    cdef Py_ssize_t k
    cdef int32_t n_constant = 0
    cdef Operand other
    for k in range(n):
        if operands[k].pattern == CONSTANT:
            other = operands[n_constant]
            operands[n_constant] = operands[k]
            operands[k] = other
            n_constant += 1
    return n_constant


cdef inline void list_operands(
    const Network *network, Plan *plan, const int32_t *local, int32_t *cards, int64_t *strides, int32_t *memory
) noexcept nogil:
    """List the cells of all operands. Scratch: `strides` (n_hidden,), zeros; `cards`, twice as many."""
    cdef Py_ssize_t s, k, x
    cdef int32_t f, i
    cdef int64_t step
    cdef Bucket *b
    cdef Bucket *child
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        for k in range(b.n_factors):
            f = plan.families[b.operands[k].source]
            for x in range(network.starts[f], network.starts[f + 1]):
                i = local[network.scopes[x]]
                if i >= 0:
                    strides[i] = network.strides[x]
            memory = list_operand(network, plan, b, b.operands + k, strides, cards, memory)
            for x in range(network.starts[f], network.starts[f + 1]):
                i = local[network.scopes[x]]
                if i >= 0:
                    strides[i] = 0
        for k in range(b.n_factors, b.n_operands):
            child = plan.buckets + b.operands[k].source
            step = 1
            for x in range(child.n_scope - 1, -1, -1):
                strides[child.scope[x]] = step
                step *= network.cards[plan.hidden[child.scope[x]]]
            memory = list_operand(network, plan, b, b.operands + k, strides, cards, memory)
            for x in range(child.n_scope):
                strides[child.scope[x]] = 0
        b.n_constant_factors = bring_constants_forward(b.operands, b.n_factors)
        b.n_constant_messages = bring_constants_forward(b.operands + b.n_factors, b.n_operands - b.n_factors)


cdef inline int fill_plan(
    const Network *network, Plan *plan, const int32_t *query, Py_ssize_t n_query, Kind kind, const int32_t *local,
    const uint64_t *near, const int32_t *rank, const int32_t *order, int32_t *home
) noexcept nogil:
    """Allocate and fill the buckets of an order; returns -1 if memory is exhausted. `home` (n_families,) is scratch."""
    cdef Py_ssize_t m = plan.n_hidden, k, s, x, n_scopes, n_integers
    cdef int32_t i
    cdef const int32_t *hidden = plan.hidden
    cdef const int32_t *families = plan.families
    cdef int32_t *scopes = <int32_t *>malloc((count_scopes(near, order, plan) + n_query + 2 * m) * sizeof(int32_t))
    cdef int64_t *strides = <int64_t *>calloc(m, sizeof(int64_t))
    plan.buckets = <Bucket *>calloc(plan.n_buckets, sizeof(Bucket))
    plan.operands = <Operand *>malloc((plan.n_families + plan.n_buckets) * sizeof(Operand))
    if scopes == NULL or strides == NULL or plan.buckets == NULL or plan.operands == NULL:
        free(scopes)
        free(strides)
        return -1
    for k in range(plan.n_families):
        # a family belongs to the first of its variables that is eliminated; without one to the query
        home[k] = plan.n_buckets - 1
        for x in range(network.starts[families[k]], network.starts[families[k] + 1]):
            i = local[network.scopes[x]]
            if i >= 0 and rank[i] < home[k]:
                home[k] = rank[i]
    n_scopes = place_buckets(network, plan, query, n_query, kind, near, rank, order, scopes)
    n_integers = n_scopes + m + plan.n_families + place_operands(plan, home)
    plan.integers = <int32_t *>malloc(n_integers * sizeof(int32_t))
    if plan.integers != NULL:
        memcpy(plan.integers, scopes, n_scopes * sizeof(int32_t))
        for s in range(plan.n_buckets):
            plan.buckets[s].scope = plan.integers + (plan.buckets[s].scope - scopes)
        plan.hidden = plan.integers + n_scopes
        memcpy(plan.hidden, hidden, m * sizeof(int32_t))
        plan.families = plan.hidden + m
        memcpy(plan.families, families, plan.n_families * sizeof(int32_t))
        # the scopes have been copied: their memory now serves for the cards and strides of one of them
        list_operands(network, plan, local, scopes, strides, plan.families + plan.n_families)
        plan.n_bytes = sizeof(Plan) + plan.n_buckets * sizeof(Bucket) + n_integers * sizeof(int32_t)
        plan.n_bytes += (plan.n_families + plan.n_buckets) * sizeof(Operand)
    free(strides)
    free(scopes)
    return 0 if plan.integers != NULL else -1


cdef inline Plan *make_plan(
    const Network *network, const int32_t *hidden, Py_ssize_t m, const int32_t *families, Py_ssize_t n_families,
    const int32_t *query, Py_ssize_t n_query, Kind kind, int32_t *local, int32_t *order, double limit, double *cells
) noexcept nogil:
    """Return the plan of a component, or NULL if it has more cells than the limit; `cells` is their number.

    `local` holds the position of each hidden variable, -1 for all others. `query` has positions in `hidden`. `order`
    (m,) begins with -1, and then receives an order, or is followed. If memory is exhausted, returns NULL, `cells` -1.
    """
    cdef Py_ssize_t words = (m + 63) // 64
    cdef Plan *plan = <Plan *>calloc(1, sizeof(Plan))
    cdef uint64_t *near = <uint64_t *>calloc(m * words, sizeof(uint64_t))
    cdef int32_t *rank = <int32_t *>malloc((m + n_families) * sizeof(int32_t))
    cells[0] = -1.0
    if plan != NULL and near != NULL and rank != NULL:
        plan.n_hidden = <int32_t>m
        plan.n_families = <int32_t>n_families
        plan.n_buckets = <int32_t>(m - n_query + 1 if kind == QUERY else m)
        plan.hidden = <int32_t *>hidden
        plan.families = <int32_t *>families
        plan.keeps_tables = kind == SUM
        cells[0] = order_hidden(network, plan, query, n_query, kind, local, near, rank, order)
        # the lists of cells are made only if the tables fit
        if 0.0 <= cells[0] <= limit:
            if fill_plan(network, plan, query, n_query, kind, local, near, rank, order, rank + m) == 0:
                free(near)
                free(rank)
                return plan
            cells[0] = -1.0
    free_plan(plan)
    free(near)
    free(rank)
    return NULL
