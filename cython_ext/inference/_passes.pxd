# Passes through elimination plans: up for sums and maxima, down for marginals and draws (``_plans.pxd``).
#
# Messages are sums of plain products of doubles, scaled only when they leave a wide range. A bucket whose products
# leave even the range of doubles is computed once more, scaled after every operand.

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from _plans cimport CONSTANT, CONTIGUOUS, Bucket, Network, Operand, Plan, Scratch


cdef inline bint is_extreme(double value) noexcept nogil:
    # Products are rescaled outside of these bounds only: a logarithm per bucket would cost more than the bucket.
    return value < 1e-60 or value > 1e60


cdef inline bint is_unsafe(double top) noexcept nogil:
    # Whether a product may have left the range of doubles, or lost all but a few digits below it.
    return not (1e-200 < top < 1e200)


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


cdef inline const double **find_sources(
    const double *values, const Plan *plan, const Bucket *b, Scratch *s
) noexcept nogil:
    # The first cell of each operand of a bucket.
    cdef Py_ssize_t k
    for k in range(b.n_operands):
        if k < b.n_factors:
            s.sources[k] = values + s.bases[b.operands[k].source]
        else:
            s.sources[k] = s.up + plan.buckets[b.operands[k].source].message
    return s.sources


cdef inline void multiply_cells(
    const Operand *operand, const double *source, Py_ssize_t n, double factor, bint is_first, double *out
) noexcept nogil:
    # Multiplies a block by an operand, or sets it to a multiple of the first one.
    cdef Py_ssize_t i
    cdef const int32_t *inner = operand.inner
    if operand.pattern == CONTIGUOUS:
        if is_first:
            for i in range(n):
                out[i] = factor * source[i]
        else:
            for i in range(n):
                out[i] *= source[i]
    elif is_first:
        for i in range(n):
            out[i] = factor * source[inner[i]]
    else:
        for i in range(n):
            out[i] *= source[inner[i]]


cdef inline bint multiply_block(
    const Bucket *b, bint with_messages, const double **sources, Py_ssize_t block, Py_ssize_t state, double *out
) noexcept nogil:
    # The product of a bucket's tables, and messages, in a block at a state of its variable; returns whether not 0.
    cdef Py_ssize_t k, i, n = b.n_inner
    cdef const Operand *operand
    cdef double factor = 1.0
    cdef bint is_first = True
    for k in range(b.n_constant_factors):
        operand = b.operands + k
        factor *= sources[k][operand.outer[block] + state * operand.step]
    if with_messages:
        for k in range(b.n_factors, b.n_factors + b.n_constant_messages):
            operand = b.operands + k
            factor *= sources[k][operand.outer[block] + state * operand.step]
    if factor == 0.0:
        memset(out, 0, n * sizeof(double))
        return False
    for k in range(b.n_constant_factors, b.n_factors):
        operand = b.operands + k
        multiply_cells(operand, sources[k] + operand.outer[block] + state * operand.step, n, factor, is_first, out)
        is_first = False
    if with_messages:
        for k in range(b.n_factors + b.n_constant_messages, b.n_operands):
            operand = b.operands + k
            multiply_cells(operand, sources[k] + operand.outer[block] + state * operand.step, n, factor, is_first, out)
            is_first = False
    if is_first:
        for i in range(n):
            out[i] = factor
    return True


cdef inline void reduce_block(
    const double *kept, const double *line, Py_ssize_t n, int32_t state, bint maximise, double *up, int32_t *best
) noexcept nogil:
    # Adds a block to the sums in `kept`, or compares it with the maxima in `up`; of equal maxima the first is kept.
    cdef Py_ssize_t i
    if maximise:
        for i in range(n):
            if line[i] > up[i]:
                up[i] = line[i]
                best[i] = state
    else:
        for i in range(n):
            up[i] = kept[i] + line[i]


cdef inline void fill_single_cell(
    const Plan *plan, const Bucket *b, const double **sources, Scratch *scratch
) noexcept nogil:
    # The message of one cell, the most frequent one of small components.
    cdef Py_ssize_t j, k
    cdef double product, message = 0.0
    cdef int32_t best = 0
    cdef const Operand *operand
    for j in range(b.card):
        product = 1.0
        operand = b.operands
        for k in range(b.n_operands):
            product *= sources[k][operand.outer[0] + j * operand.step]
            operand += 1
        if plan.keeps_tables:
            scratch.tables[b.table + j] = product
        if not b.maximise:
            message += product
        elif product > message:
            message = product
            best = <int32_t>j
    scratch.up[b.message] = message
    scratch.best[b.message] = best


cdef inline void fill_bucket(
    const double *values, const Plan *plan, const Bucket *b, Scratch *scratch
) noexcept nogil:
    """Compute the message of a bucket, and its table (states of its variable, cells of the message) if it is kept."""
    cdef Py_ssize_t o, j, n = b.n_inner
    cdef const double **sources = find_sources(values, plan, b, scratch)
    cdef double *first
    cdef double *line
    cdef double *up
    cdef int32_t *best
    if b.n_rows == 1:
        fill_single_cell(plan, b, sources, scratch)
        return
    for o in range(b.n_outer):
        up = scratch.up + b.message + o * n
        best = scratch.best + b.message + o * n
        line = scratch.tables + b.table
        if plan.keeps_tables:
            line += o * n
        first = line if plan.keeps_tables else up
        if b.maximise:
            memset(best, 0, n * sizeof(int32_t))
        multiply_block(b, True, sources, o, 0, first)
        for j in range(1, b.card):
            if plan.keeps_tables:
                line += b.n_rows
            # a block of zeros changes nothing
            if multiply_block(b, True, sources, o, j, line) or j == 1:
                reduce_block(first if j == 1 else up, line, n, <int32_t>j, b.maximise, up, best)
        if b.card == 1 and plan.keeps_tables:
            memcpy(up, first, n * sizeof(double))


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


cdef inline void multiply_operand(
    const Bucket *b, const Operand *operand, const double *source, double *table
) noexcept nogil:
    # Multiplies a whole table by an operand.
    cdef Py_ssize_t o, j, i, n = b.n_inner
    cdef const double *first
    cdef double *line
    for j in range(b.card):
        for o in range(b.n_outer):
            line = table + j * b.n_rows + o * n
            first = source + operand.outer[o] + j * operand.step
            if operand.pattern == CONSTANT:
                for i in range(n):
                    line[i] *= first[0]
            else:
                multiply_cells(operand, first, n, 1.0, False, line)


cdef inline double multiply_carefully(
    const double *values, const Plan *plan, const Bucket *b, Py_ssize_t n_operands, Scratch *scratch
) noexcept nogil:
    # The table of a bucket, scaled after every operand; returns the logarithm of what was divided out. A variable with
    # hundreds of observed children has factors whose plain product is below all doubles.
    cdef Py_ssize_t k, r, n = <Py_ssize_t>b.n_rows * b.card
    cdef const double **sources = find_sources(values, plan, b, scratch)
    cdef double *table = scratch.tables + b.table
    cdef double total = 0.0
    for r in range(n):
        table[r] = 1.0
    for k in range(n_operands):
        multiply_operand(b, b.operands + k, sources[k], table)
        total += scale_to_one(table, n, 1)
    return total


cdef inline double fill_carefully(
    const double *values, const Plan *plan, const Bucket *b, Scratch *scratch
) noexcept nogil:
    # As `fill_bucket`; returns the logarithm of what was divided out.
    cdef Py_ssize_t j
    cdef double *up = scratch.up + b.message
    cdef int32_t *best = scratch.best + b.message
    cdef const double *table = scratch.tables + b.table
    cdef double total = multiply_carefully(values, plan, b, b.n_operands, scratch)
    memcpy(up, table, b.n_rows * sizeof(double))
    if b.maximise:
        memset(best, 0, b.n_rows * sizeof(int32_t))
    for j in range(1, b.card):
        reduce_block(up, table + j * b.n_rows, b.n_rows, <int32_t>j, b.maximise, up, best)
    return total


cdef inline double find_largest(const double *values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r
    cdef double top = values[0]
    for r in range(1, n):
        if values[r] > top:
            top = values[r]
    return top


cdef inline double pass_up_from(const Network *network, const Plan *plan, Scratch *scratch) noexcept nogil:
    """As `pass_up`, from the first cells of the families in `scratch.bases` on."""
    cdef Py_ssize_t s, r
    cdef double top, inverse, total = 0.0, product = 1.0
    cdef Bucket *b
    cdef double *up
    for s in range(plan.n_buckets):
        b = plan.buckets + s
        up = scratch.up + b.message
        fill_bucket(network.values, plan, b, scratch)
        top = find_largest(up, b.n_rows)
        if is_unsafe(top):
            total += fill_carefully(network.values, plan, b, scratch)
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


cdef inline double pass_up(
    const Network *network, const Plan *plan, const int32_t *codes, Scratch *scratch
) noexcept nogil:
    """Return the logarithm of the product of all messages without a receiver, -inf if the row is impossible.

    The table of the query's bucket, scaled to a maximum of 1, is in its message, and its scale is included.
    """
    find_bases(network, plan, codes, scratch.bases)
    return pass_up_from(network, plan, scratch)


cdef inline void add_cells(
    const Bucket *b, const Operand *operand, const double *table, double weight, double *target
) noexcept nogil:
    """Add the weighted cells of a bucket's table to the cells of an operand from which they came."""
    cdef Py_ssize_t o, j, i, n = b.n_inner
    cdef const double *line
    cdef double *first
    for j in range(b.card):
        for o in range(b.n_outer):
            line = table + j * b.n_rows + o * n
            first = target + operand.outer[o] + j * operand.step
            for i in range(n):
                first[operand.inner[i]] += weight * line[i]


cdef inline void pass_down(const Network *network, const Plan *plan, Scratch *scratch) noexcept nogil:
    """Turn the tables of the buckets into joint probabilities, after a pass up of a possible row."""
    cdef Py_ssize_t s, k, j, r
    cdef double factor
    cdef Bucket *b
    cdef double *up
    cdef double *down
    cdef double *line
    cdef double *target
    cdef Bucket *child
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
        for k in range(b.n_factors, b.n_operands):
            child = plan.buckets + b.operands[k].source
            target = scratch.down + child.message
            memset(target, 0, child.n_rows * sizeof(double))
            add_cells(b, b.operands + k, scratch.tables + b.table, 1.0, target)


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
