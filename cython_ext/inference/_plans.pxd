# Elimination plans of small networks, and passes through them: bucket trees that read the network's tables.
#
# A component is a set of hidden variables and the families that mention them. The observed variables of these families
# only shift the place at which a table is read, so one plan serves all rows that hide the same variables.

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from _plan_orders cimport MOST_TABLE_CELLS, find_order
from _simd cimport pgmx_lowest_bit


cdef inline bint is_extreme(double value) noexcept nogil:
    # Products are rescaled outside of these bounds only: a logarithm per bucket would cost more than the bucket.
    return value < 1e-60 or value > 1e60


cdef inline bint is_unsafe(double top) noexcept nogil:
    # Whether a product may have left the range of doubles, or lost all but a few digits below it.
    return not (1e-200 < top < 1e200)


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


cdef struct Bucket:
    int32_t variable                          # position in the plan's hidden variables; -1: the bucket of the query
    int32_t card                              # number of its states; 1 for the query
    int32_t n_rows                            # cells of the message
    int32_t n_scope, n_factors, n_children
    int32_t parent                            # the bucket that receives the message, or -1
    int32_t maximise
    int32_t *scope                            # hidden variables of the message, the first the slowest
    int32_t *factors                          # positions in the plan's families
    int32_t *strides                          # of the bucket's variable in each factor
    int32_t *factor_rows                      # (n_factors, n_rows): cell of the message -> cell of the factor
    int32_t *children
    int32_t *child_rows                       # (n_children, n_rows): cell -> cell of the child's message
    Py_ssize_t table, message                 # first cells in the scratch memory


cdef struct Plan:
    int32_t n_hidden, n_families, n_buckets
    int32_t *hidden
    int32_t *families
    Bucket *buckets
    int32_t *integers                         # the memory of all lists
    Py_ssize_t n_cells, n_messages, n_bytes


cdef struct Scratch:
    Py_ssize_t n_cells, n_messages, n_hidden, n_families
    double *tables
    double *up
    double *down
    double *scales
    int32_t *best                             # maximising state for each cell of a message
    int32_t *states                           # state of each hidden variable
    int64_t *bases                            # first cell of each family at the row's observed states


cdef inline void free_plan(Plan *plan) noexcept nogil:
    if plan != NULL:
        free(plan.buckets)
        free(plan.integers)
        free(plan)


cdef inline void list_cells(
    Py_ssize_t n, const int32_t *cards, const int64_t *strides, int32_t *cells
) noexcept nogil:
    """List sum_k x_k strides_k for all x, the last variable the fastest."""
    cdef Py_ssize_t k, i, x, count = 1
    cells[0] = 0
    for k in range(n - 1, -1, -1):
        for x in range(1, cards[k]):
            for i in range(count):
                cells[x * count + i] = cells[i] + <int32_t>(x * strides[k])
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
    # The variables of a message, the last to be eliminated first: the parent's variable is then the fastest.
    cdef Py_ssize_t q, n = 0, at
    cdef int32_t j
    cdef uint64_t word
    for q in range(n_words):
        word = row[q]
        while word:
            j = <int32_t>(q * 64 + pgmx_lowest_bit(word))
            word &= word - 1
            at = n
            while at > 0 and rank[scope[at - 1]] < rank[j]:
                scope[at] = scope[at - 1]
                at -= 1
            scope[at] = j
            n += 1
    return n


cdef inline Py_ssize_t place_buckets(
    const Network *network, Plan *plan, const int32_t *query, Py_ssize_t n_query, Kind kind,
    const uint64_t *near, const int32_t *rank, const int32_t *order, int32_t *scopes
) noexcept nogil:
    """Set variables, scopes (into `scopes`), sizes and parents of the buckets; returns the length of all scopes."""
    cdef Py_ssize_t m = plan.n_hidden, words = (m + 63) // 64, n_steps = m - n_query if kind == QUERY else m
    cdef Py_ssize_t s, k, used = 0
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
            b.parent = <int32_t>min(rank[b.scope[b.n_scope - 1]], n_steps)
        b.table = plan.n_cells
        b.message = plan.n_messages
        plan.n_cells += <Py_ssize_t>b.n_rows * b.card
        plan.n_messages += b.n_rows
        used += b.n_scope
        if b.parent >= 0:
            plan.buckets[b.parent].n_children += 1
    return used


cdef inline Py_ssize_t count_integers(const Network *network, const Plan *plan, const int32_t *home) noexcept nogil:
    # Sets the number of factors of each bucket; returns the integers of all lists but the scopes.
    cdef Py_ssize_t k, s, used = 0
    cdef Bucket *b
    for k in range(plan.n_families):
        plan.buckets[home[k]].n_factors += 1
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        used += b.n_factors * (2 + <Py_ssize_t>b.n_rows) + b.n_children * (1 + <Py_ssize_t>b.n_rows)
    return used


cdef inline void list_factors(
    const Network *network, Plan *plan, const int32_t *local, const int32_t *home, int32_t *cards, int64_t *strides,
    int32_t *memory
) noexcept nogil:
    """Fill the lists of factors and children of every bucket. `cards` and `strides` are scratch, one per variable."""
    cdef Py_ssize_t s, k, x, at, n
    cdef int32_t f, i
    cdef int64_t step
    cdef Bucket *b
    cdef Bucket *child
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        b.factors = memory
        b.strides = b.factors + b.n_factors
        b.factor_rows = b.strides + b.n_factors
        b.children = b.factor_rows + <Py_ssize_t>b.n_factors * b.n_rows
        b.child_rows = b.children + b.n_children
        memory = b.child_rows + <Py_ssize_t>b.n_children * b.n_rows
        b.n_factors = 0
        b.n_children = 0
    for k in range(plan.n_families):
        b = plan.buckets + home[k]
        b.factors[b.n_factors] = <int32_t>k
        b.n_factors += 1
    for s in range(plan.n_buckets):
        if plan.buckets[s].parent >= 0:
            b = plan.buckets + plan.buckets[s].parent
            b.children[b.n_children] = <int32_t>s
            b.n_children += 1
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        n = b.n_scope
        for at in range(n):
            cards[at] = network.cards[plan.hidden[b.scope[at]]]
        for k in range(b.n_factors):
            f = plan.families[b.factors[k]]
            memset(strides, 0, n * sizeof(int64_t))
            b.strides[k] = 0
            for x in range(network.starts[f], network.starts[f + 1]):
                i = local[network.scopes[x]]
                if i < 0:
                    continue
                if i == b.variable:
                    b.strides[k] = <int32_t>network.strides[x]
                for at in range(n):
                    if b.scope[at] == i:
                        strides[at] = network.strides[x]
            list_cells(n, cards, strides, b.factor_rows + k * b.n_rows)
        for k in range(b.n_children):
            child = plan.buckets + b.children[k]
            memset(strides, 0, n * sizeof(int64_t))
            step = 1
            for x in range(child.n_scope - 1, -1, -1):
                for at in range(n):
                    if b.scope[at] == child.scope[x]:
                        strides[at] = step
                step *= network.cards[plan.hidden[child.scope[x]]]
            list_cells(n, cards, strides, b.child_rows + k * b.n_rows)


cdef inline int fill_plan(
    const Network *network, Plan *plan, const int32_t *query, Py_ssize_t n_query, Kind kind, const int32_t *local,
    const uint64_t *near, const int32_t *rank, const int32_t *order, int32_t *home
) noexcept nogil:
    """Allocate and fill the buckets of an order; returns -1 if memory is exhausted. `home` (n_families,) is scratch."""
    cdef Py_ssize_t m = plan.n_hidden, k, s, x, n_scopes, n_integers
    cdef int32_t i
    cdef const int32_t *hidden = plan.hidden
    cdef const int32_t *families = plan.families
    cdef int32_t *scopes = <int32_t *>malloc(m * (m + 1) * sizeof(int32_t))
    cdef int64_t *strides = <int64_t *>malloc(m * sizeof(int64_t))
    plan.buckets = <Bucket *>calloc(plan.n_buckets, sizeof(Bucket))
    if scopes == NULL or strides == NULL or plan.buckets == NULL:
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
    n_integers = n_scopes + m + plan.n_families + count_integers(network, plan, home)
    plan.integers = <int32_t *>malloc(n_integers * sizeof(int32_t))
    if plan.integers != NULL:
        memcpy(plan.integers, scopes, n_scopes * sizeof(int32_t))
        for s in range(plan.n_buckets):
            plan.buckets[s].scope = plan.integers + (plan.buckets[s].scope - scopes)
        plan.hidden = plan.integers + n_scopes
        memcpy(plan.hidden, hidden, m * sizeof(int32_t))
        plan.families = plan.hidden + m
        memcpy(plan.families, families, plan.n_families * sizeof(int32_t))
        # the scopes have been copied: their memory now serves for the cards of one of them
        list_factors(network, plan, local, home, scopes, strides, plan.families + plan.n_families)
        plan.n_bytes = sizeof(Plan) + plan.n_buckets * sizeof(Bucket) + n_integers * sizeof(int32_t)
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


# ---- passes through a plan ----


cdef inline void find_bases(
    const Network *network, const Plan *plan, const int32_t *codes, int64_t *bases
) noexcept nogil:
    # The first cell of each family at the observed states of the row; hidden variables have the code -1.
    cdef Py_ssize_t k, x
    cdef int32_t f, code
    for k in range(plan.n_families):
        f = plan.families[k]
        bases[k] = network.tables[f]
        for x in range(network.starts[f], network.starts[f + 1]):
            code = codes[network.scopes[x]]
            if code > 0:
                bases[k] += network.strides[x] * code


cdef inline void multiply_factor(
    const double *values, const Bucket *b, Py_ssize_t k, const int64_t *bases, double *table
) noexcept nogil:
    # Multiplies a bucket's table by its factor k; the first factor is copied.
    cdef Py_ssize_t j, r, n = b.n_rows
    cdef double *out
    cdef const double *source
    cdef const int32_t *rows = b.factor_rows + k * n
    for j in range(b.card):
        source = values + bases[b.factors[k]] + <int64_t>j * b.strides[k]
        out = table + j * n
        if k == 0:
            for r in range(n):
                out[r] = source[rows[r]]
        else:
            for r in range(n):
                out[r] *= source[rows[r]]


cdef inline void multiply_message(const Bucket *b, Py_ssize_t k, const double *message, double *table) noexcept nogil:
    # Multiplies a bucket's table by the message of its child k, whose last variable is that of the bucket.
    cdef Py_ssize_t j, r, n = b.n_rows
    cdef double *out
    cdef const int32_t *rows = b.child_rows + k * n
    for j in range(b.card):
        out = table + j * n
        for r in range(n):
            out[r] *= message[rows[r] + j]


cdef inline void multiply_factors(
    const double *values, const Plan *plan, const Bucket *b, Scratch *scratch
) noexcept nogil:
    # The product of a bucket's factors and messages: (states of its variable, cells of its message).
    cdef Py_ssize_t k, r
    cdef double *table = scratch.tables + b.table
    if b.n_factors == 0:
        for r in range(<Py_ssize_t>b.n_rows * b.card):
            table[r] = 1.0
    for k in range(b.n_factors):
        multiply_factor(values, b, k, scratch.bases, table)
    for k in range(b.n_children):
        multiply_message(b, k, scratch.up + plan.buckets[b.children[k]].message, table)


cdef inline double scale_to_one(double *table, Py_ssize_t n, Py_ssize_t step) noexcept nogil:
    # Divides n values by the largest; returns its logarithm, and 0 if all are zero.
    cdef Py_ssize_t r
    cdef double total = 0.0, top = 0.0, inverse
    for r in range(n):
        if table[r * step] > top:
            top = table[r * step]
    if top == 0.0:
        return 0.0
    if top < 1e-300:                              # whose inverse may be infinite
        for r in range(n):
            table[r * step] *= 1e300
        top *= 1e300
        total = log(1e-300)
    inverse = 1.0 / top
    for r in range(n):
        table[r * step] *= inverse
    return total + log(top)


cdef inline double multiply_carefully(
    const double *values, const Plan *plan, const Bucket *b, Scratch *scratch
) noexcept nogil:
    # As `multiply_factors`, scaled after every factor; returns the logarithm of what was divided out. A variable with
    # hundreds of observed children has factors whose plain product is below all doubles.
    cdef Py_ssize_t k, r, n = <Py_ssize_t>b.n_rows * b.card
    cdef double *table = scratch.tables + b.table
    cdef double total = 0.0
    if b.n_factors == 0:
        for r in range(n):
            table[r] = 1.0
    for k in range(b.n_factors):
        multiply_factor(values, b, k, scratch.bases, table)
        total += scale_to_one(table, n, 1)
    for k in range(b.n_children):
        multiply_message(b, k, scratch.up + plan.buckets[b.children[k]].message, table)
        total += scale_to_one(table, n, 1)
    return total


cdef inline double find_largest(const double *values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r
    cdef double top = values[0]
    for r in range(1, n):
        if values[r] > top:
            top = values[r]
    return top


cdef inline void find_message(const Bucket *b, Scratch *scratch) noexcept nogil:
    # Sums or maxima over the states of the bucket's variable; of equal maxima the first state is kept.
    cdef Py_ssize_t j, r, n = b.n_rows
    cdef double *up = scratch.up + b.message
    cdef const double *table = scratch.tables + b.table
    cdef const double *line
    cdef int32_t *best = scratch.best + b.message
    memcpy(up, table, n * sizeof(double))
    if b.maximise:
        memset(best, 0, n * sizeof(int32_t))
        for j in range(1, b.card):
            line = table + j * n
            for r in range(n):
                if line[r] > up[r]:
                    up[r] = line[r]
                    best[r] = <int32_t>j
    else:
        for j in range(1, b.card):
            line = table + j * n
            for r in range(n):
                up[r] += line[r]


cdef inline double pass_up(
    const Network *network, const Plan *plan, const int32_t *codes, Scratch *scratch
) noexcept nogil:
    """Return the logarithm of the product of all messages without a receiver, -inf if the row is impossible.

    The table of the query's bucket, scaled to a maximum of 1, is in its message, and its scale is included.
    """
    cdef Py_ssize_t s, r
    cdef double top, inverse, total = 0.0, product = 1.0
    cdef Bucket *b
    cdef double *up
    find_bases(network, plan, codes, scratch.bases)
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        up = scratch.up + b.message
        multiply_factors(network.values, plan, b, scratch)
        find_message(b, scratch)
        top = find_largest(up, b.n_rows)
        if is_unsafe(top):
            total += multiply_carefully(network.values, plan, b, scratch)
            find_message(b, scratch)
            top = find_largest(up, b.n_rows)
        scratch.scales[s] = 1.0
        if b.parent < 0:
            product *= top
            if b.variable < 0 and top > 0.0:
                for r in range(b.n_rows):
                    up[r] /= top
            if is_extreme(product):
                total += log(product)
                product = 1.0
        elif is_extreme(top):
            if top == 0.0:
                return log(0.0)
            inverse = 1.0 / top
            for r in range(b.n_rows):
                up[r] *= inverse
            scratch.scales[s] = inverse
            total += log(top)
    return total + log(product)


cdef inline void pass_down(const Network *network, const Plan *plan, Scratch *scratch) noexcept nogil:
    """Turn the tables of the buckets into joint probabilities, after a pass up of a possible row."""
    cdef Py_ssize_t s, k, j, r
    cdef double factor
    cdef Bucket *b
    cdef double *up
    cdef double *down
    cdef double *line
    cdef double *target
    cdef const int32_t *rows
    for s in range(plan.n_buckets - 1, -1, -1):
        b = plan.buckets + s
        up = scratch.up + b.message
        down = scratch.down + b.message
        if b.parent < 0:
            down[0] = 1.0
        for r in range(b.n_rows):
            # 0 / 0 belongs to states of the neighbours that are impossible
            factor = down[r] / up[r] * scratch.scales[s] if up[r] > 0.0 else 0.0
            down[r] = factor
        for j in range(b.card):
            line = scratch.tables + b.table + j * b.n_rows
            for r in range(b.n_rows):
                line[r] *= down[r]
        for k in range(b.n_children):
            target = scratch.down + plan.buckets[b.children[k]].message
            memset(target, 0, plan.buckets[b.children[k]].n_rows * sizeof(double))
            rows = b.child_rows + k * b.n_rows
            for j in range(b.card):
                line = scratch.tables + b.table + j * b.n_rows
                for r in range(b.n_rows):
                    target[rows[r] + j] += line[r]


cdef inline Py_ssize_t draw_state(
    const double *weights, Py_ssize_t n, Py_ssize_t step, double left
) noexcept nogil:
    # The state at which the cumulative weight passes `left`; states of weight 0 are never drawn.
    cdef Py_ssize_t j = 0
    while j < n - 1 and (left >= weights[j * step] or weights[j * step] == 0.0):
        left -= weights[j * step]
        j += 1
    while j > 0 and weights[j * step] == 0.0:     # rounding led beyond the last possible state
        j -= 1
    return j


cdef inline void trace_states(
    const Network *network, const Plan *plan, const double *uniforms, Scratch *scratch
) noexcept nogil:
    """Set the most probable states of the maximised variables, or draw all states, after a pass up.

    `uniforms` holds one random number in [0, 1) per variable of the network, or is NULL for the most probable states.
    """
    cdef Py_ssize_t s, k, j
    cdef int64_t at
    cdef double left
    cdef Bucket *b
    cdef const double *table
    for s in range(plan.n_buckets - 1, -1, -1):
        b = plan.buckets + s
        if uniforms == NULL and not b.maximise:
            return                                # variables that are summed out come first
        at = 0
        for k in range(b.n_scope):
            at = at * network.cards[plan.hidden[b.scope[k]]] + scratch.states[b.scope[k]]
        if uniforms == NULL:
            scratch.states[b.variable] = scratch.best[b.message + at]
            continue
        table = scratch.tables + b.table + at
        left = 0.0
        for j in range(b.card):
            left += table[j * b.n_rows]
        left *= uniforms[plan.hidden[b.variable]]
        scratch.states[b.variable] = <int32_t>draw_state(table, b.card, b.n_rows, left)
