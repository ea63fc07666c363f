"""Raker and AdaRaker: online regression on random features of several kernels, with adaptive step sizes.

Problem: predict y_t from x_t by f(x) = sum_j h_j sum_p w_jp theta_jp' z_p(x), then learn it. z_p are the sines and
cosines of the frequencies of kernel p, for a linear kernel x / sqrt(d), for a polynomial products of Fourier transforms
of the first q of the count sketches of all polynomials; j are experts of different step sizes, one for Raker.
Algorithm, for each output k and row t:
    f_jp = theta_jp' z_p,  f_j = sum_p w_jp f_jp,  f = sum_j h_j f_j                              (3.14), (3.33)
    theta_jp <- (1 - 2 s_j penalty) theta_jp - s_j c'(f_jp, y) z_p                                  (3.19)
    log w_jp <- log w_jp - weight_step c(f_jp, y)                                                   (3.21)
    log h_j <- log h_j + r_j (c(f, y) - c(f_j, y))                 (3.31) with the sign of (3.32) corrected
    expert j is renewed for t + 1 if base^j divides t + 1: log h_j = b_j and, with `restart`, theta_j = 0 and equal w_j.
The source has r_j = s_j, b_j = log s_j and base 2. Features longer than 1 divide s_j by their squared length.
Losses c: (f - y)^2; log(1 + exp(-y f)); max(0, 1 - y f); y is -1 or 1 in the last two.
Reference: Shen, Chen & Giannakis (2019), "Random feature-based online multi-kernel learning in environments with
unknown dynamics", JMLR 20, algorithms 2 and 3; equations are numbered as in chapter 3 of Shen's thesis.
Intervals f +- q m: m is the running mean of |y - f|. log q rises by RATE coverage at a miss and otherwise falls by
RATE (1 - coverage), so that over T rows the share of misses is 1 - coverage within O(1 / T) (Gibbs & Candes 2021).
Changes: a sum max(0, S + log likelihood ratio) for one expert (Page 1954) is flagged beyond a limit, then restarts.
Square loss: -log r + u^2 / 2 (1 - 1 / r^2) for errors r times as large, u = |error| over its scale, truncated.
Labels: log(q / p) at a mistake, else log((1 - q) / (1 - p)), for the rate p of mistakes and q = min(r p, (1 + p) / 2).
Cost per row: P D (d + a sine and a cosine) + 8 K J P D; state K J P 2 D. Features are computed for a block of rows at a
time, all else row by row: the result has the same bits for all chunks of rows.
Exact kernels (`learn_supports`): theta_p' z_p is replaced by sum_s a_sp k_p(x_s, x) over all rows or the last B ones; a
row joins with a = -step c'(f_p, y) and multiplies the others by 1 - 2 step penalty (OMKL and OMKL-B of the thesis).
Cost per row: (supports) (d + P exponentials).
Thread-safety: rows, targets, frequencies and step sizes are read only; state and outputs belong to the caller; the GIL
is released.
"""

from libc.math cimport INFINITY, exp, fabs, log, log1p, sqrt
from libc.stdlib cimport free, malloc

from _sincos cimport PGMX_TILE, pgmx_dot, pgmx_project, pgmx_shift, pgmx_sincos, select_feature_level

SQUARE, LOGISTIC, HINGE = 0, 1, 2
LEVEL = select_feature_level()

cdef enum:
    BLOCK = 16  # rows whose features are computed together

cdef double LARGEST = 1e300  # keeps losses and logs of weights finite, so that their differences are not NaN
cdef double RATE = 0.05, MEMORY = 0.05, LEAST_LOG = -50.0, MOST_LOG = 50.0  # of intervals
cdef double RATIO = 1.5, LIMIT = 14.0, CUT = 3.5, FORGETTING = 0.005        # of changes
cdef double MISTAKES_RATIO = 2.0, MISTAKES_LIMIT = 7.0                      # of changes of labels
cdef double LATE = 0.01                                                     # weight of a row in recent losses
cdef double NORMAL_SCALE = 1.2533141373155001                               # normal: s.d. over mean absolute value
cdef double SETTLING = 100.0                                                # rows that only measure the scale

# positions of the running statistics
LOG_RATIO, MEAN_ERROR, SUM, SCALE, ROWS, N_FIGURES = range(6)


cdef inline double compute_loss(double f, double y, int loss) noexcept nogil:
    cdef double c
    if loss == 0:
        c = (f - y) * (f - y)
    elif loss == 1:
        c = y * f
        c = log1p(exp(-c)) if c > 0.0 else log1p(exp(c)) - c
    else:
        c = 1.0 - y * f
        c = c if c > 0.0 else 0.0
    return c if c < LARGEST else LARGEST


cdef inline double compute_slope(double f, double y, int loss) noexcept nogil:
    if loss == 0:  # avoids overflow for targets near the largest double
        return min(max(2.0 * (f - y), -LARGEST), LARGEST)
    if loss == 1:
        return -y / (1.0 + exp(y * f))
    return -y if y * f < 1.0 else 0.0


cdef inline void compute_weights(const double* logs, double* weights, Py_ssize_t n) noexcept nogil:
    """Compute the exponentials of logs, divided by their sum."""
    cdef double top = logs[0], total = 0.0
    cdef Py_ssize_t i
    for i in range(1, n):
        if logs[i] > top:
            top = logs[i]
    for i in range(n):
        weights[i] = exp(logs[i] - top)
        total += weights[i]
    for i in range(n):
        weights[i] /= total


cdef inline void lower_logs(double* logs, const double* losses, double step, Py_ssize_t n) noexcept nogil:
    """Subtract the losses times `step`, then make the largest log 0."""
    cdef double top = -LARGEST
    cdef Py_ssize_t i
    for i in range(n):
        logs[i] -= step * losses[i]
        if logs[i] > top:
            top = logs[i]
    for i in range(n):
        logs[i] = logs[i] - top if logs[i] - top > -LARGEST else -LARGEST


cdef void multiply_sketches(const double* sketches, Py_ssize_t degree, Py_ssize_t D, double* z) noexcept nogil:
    """Write the products of transforms: real parts 0 to D - 1, the real part D, and imaginary parts 1 to D - 1."""
    cdef Py_ssize_t _k, i
    cdef double real
    for i in range(2 * D):
        z[i] = sketches[i]
    for _k in range(1, degree):
        sketches += 2 * D
        z[0] *= sketches[0]
        z[D] *= sketches[D]
        for i in range(1, D):
            real = z[i] * sketches[i] - z[D + i] * sketches[D + i]
            z[D + i] = z[i] * sketches[D + i] + z[D + i] * sketches[i]
            z[i] = real


cdef void compute_features(
    const double* rows, Py_ssize_t n_rows, Py_ssize_t d, const double* frequencies, Py_ssize_t width,
    const int* kinds, Py_ssize_t n_kernels, Py_ssize_t n_components, Py_ssize_t length, double* angles,
    double* features, double* shares,
) noexcept nogil:
    """Write the features (n_rows, P, length) and the shares (n_rows, P) of the step size, 1 / max(1, |z|^2)."""
    cdef double scale = n_components ** -0.5, root
    cdef Py_ssize_t r, p, i, n_waves = 0, first, wave, n_columns = d
    cdef double* sines = angles + BLOCK * width
    cdef double* cosines = sines + width
    cdef double* z
    cdef double* angle
    for p in range(n_kernels):
        n_waves += kinds == NULL or kinds[p] == 0
        if kinds != NULL and kinds[p] > 1:
            n_columns = d - 1  # the last one is 1
    root = n_columns ** -0.5
    first = (n_waves * n_components + PGMX_TILE - 1) // PGMX_TILE * PGMX_TILE
    pgmx_project(rows, n_rows, d, frequencies, width, angles)
    for r in range(n_rows):
        angle = angles + r * width
        pgmx_sincos(angle, sines, cosines, first)
        wave = 0
        for p in range(n_kernels):
            z = features + (r * n_kernels + p) * length
            if kinds == NULL or kinds[p] == 0:
                for i in range(n_components):
                    z[i] = sines[wave + i] * scale
                    z[n_components + i] = cosines[wave + i] * scale
                wave += n_components
                i = 2 * n_components
            elif kinds[p] == 1:
                for i in range(n_columns):
                    z[i] = rows[r * d + i] * root
                i = n_columns
            else:
                multiply_sketches(angle + first, kinds[p], n_components, z)
                i = 2 * n_components
            for i in range(i, length):
                z[i] = 0.0
            shares[r * n_kernels + p] = 1.0
            if kinds != NULL and kinds[p] > 0:
                shares[r * n_kernels + p] = 1.0 / max(1.0, pgmx_dot(z, z, length))


cdef inline Py_ssize_t count_experts(long long t, int base, Py_ssize_t most) noexcept nogil:
    """Return floor(log t) + 1 to the base, the experts whose first interval has begun by row t >= 1, or `most`."""
    cdef Py_ssize_t n = 0
    while t > 0 and n < most:
        n += 1
        t //= base
    return n


cdef double compute_output(
    const double* features, const double* coefficients, const double* kernel_logs, const double* expert_logs,
    Py_ssize_t n_experts, Py_ssize_t n_kernels, Py_ssize_t length, double* work,
) noexcept nogil:
    """Return f of one output; work holds (J, P) f_jp, (J) f_j, then (J) and (P) of weights."""
    cdef double* parts = work
    cdef double* experts = work + n_experts * n_kernels
    cdef double* weights = experts + n_experts
    cdef double* shares = weights + n_experts
    cdef double total = 0.0
    cdef Py_ssize_t j, p
    for j in range(n_experts):
        compute_weights(kernel_logs + j * n_kernels, shares, n_kernels)
        experts[j] = 0.0
        for p in range(n_kernels):
            parts[j * n_kernels + p] = pgmx_dot(
                coefficients + (j * n_kernels + p) * length, features + p * length, length
            )
            experts[j] += shares[p] * parts[j * n_kernels + p]
    compute_weights(expert_logs, weights, n_experts)
    for j in range(n_experts):
        total += weights[j] * experts[j]
    return total


cdef double update_output(
    const double* features, double y, double f, double* coefficients, double* kernel_logs, double* expert_logs,
    const double* steps, double factor, const double* shares, const double* rates,
    Py_ssize_t n_experts, Py_ssize_t n_kernels, Py_ssize_t length,
    int loss, double weight_step, double penalty, double* work, double* losses, Py_ssize_t monitored,
) noexcept nogil:
    """Learn one output from `work` of `compute_output` (losses replace f_jp); return f_j of the monitored expert."""
    cdef double* parts = work
    cdef double* experts = work + n_experts * n_kernels
    cdef double total = compute_loss(f, y, loss), slope, part, answer = 0.0, step
    cdef Py_ssize_t j, p, i
    for j in range(n_experts):
        for p in range(n_kernels):
            i = j * n_kernels + p
            slope = compute_slope(parts[i], y, loss)
            step = steps[j] * factor * shares[p]
            pgmx_shift(
                coefficients + i * length, features + p * length, 1.0 - 2.0 * step * penalty, -step * slope, length
            )
            parts[i] = compute_loss(parts[i], y, loss)
        lower_logs(kernel_logs + j * n_kernels, parts + j * n_kernels, weight_step, n_kernels)
        part = compute_loss(experts[j], y, loss)
        expert_logs[j] = min(max(expert_logs[j] + rates[j] * (total - part), -LARGEST), LARGEST)
        losses[j] = part if losses[j] < 0.0 else losses[j] + LATE * (part - losses[j])
        if j == monitored:
            answer = experts[j]
    return answer


cdef void renew_experts(
    double* coefficients, double* kernel_logs, double* expert_logs, const double* starts, long long t, int base,
    bint restart, Py_ssize_t n_experts, Py_ssize_t n_kernels, Py_ssize_t length,
) noexcept nogil:
    """Renew the experts with an interval that begins at row t."""
    cdef Py_ssize_t j, i
    cdef long long size = 1
    for j in range(n_experts):
        if t % size:
            break
        size *= base
        expert_logs[j] = starts[j]
        if restart:
            for i in range(j * n_kernels, (j + 1) * n_kernels):
                kernel_logs[i] = 0.0
            for i in range(j * n_kernels * length, (j + 1) * n_kernels * length):
                coefficients[i] = 0.0


cdef inline double get_half_width(const double* figures) noexcept nogil:
    """Return q m, infinity before the first row."""
    return exp(figures[0]) * figures[1] if figures[1] >= 0.0 else INFINITY


cdef inline void update_interval(double* figures, double error, double coverage, long long n_seen) noexcept nogil:
    cdef double share = 1.0 / <double> (n_seen + 1)
    error = min(fabs(error), LARGEST)
    if n_seen == 0:
        figures[1] = error
        return
    figures[0] += RATE * (coverage if error > get_half_width(figures) else coverage - 1.0)
    figures[0] = min(max(figures[0], LEAST_LOG), MOST_LOG)
    figures[1] += max(share, MEMORY) * (error - figures[1])


cdef inline double compare_errors(double error, double scale) noexcept nogil:
    """Return the log likelihood ratio of normal errors RATIO times as large; `scale` is the mean size so far."""
    cdef double u = CUT if error > 0.0 else 0.0
    if error < CUT * NORMAL_SCALE * scale:
        u = error / (NORMAL_SCALE * scale)
    return 0.5 * u * u * (1.0 - 1.0 / (RATIO * RATIO)) - log(RATIO)


cdef inline double compare_mistakes(double mistake, double share, double n_rows) noexcept nogil:
    """Return the log likelihood ratio of mistakes MISTAKES_RATIO times as frequent; `share` is of n rows so far."""
    cdef double n = min(n_rows, 1.0 / FORGETTING)
    cdef double p = (n * share + 1.0) / (n + 2.0)
    cdef double q = min(MISTAKES_RATIO * p, 0.5 * (1.0 + p))
    return log(q / p) if mistake > 0.0 else log((1.0 - q) / (1.0 - p))


cdef inline void update_changes(
    double* figures, long long* flags, Py_ssize_t room, double error, bint is_label, long long t
) noexcept nogil:
    """Add up the evidence of larger errors; flags: their number, then the rows of the last `room` changes."""
    cdef double ratio
    if figures[4] >= SETTLING:
        if is_label:
            ratio = compare_mistakes(error, figures[3], figures[4])
        else:
            ratio = compare_errors(error, figures[3])
        figures[2] = max(0.0, figures[2] + ratio)
        if figures[2] > (MISTAKES_LIMIT if is_label else LIMIT):
            flags[1 + flags[0] % room] = t
            flags[0] += 1
            figures[2] = figures[3] = figures[4] = 0.0
    figures[4] += 1.0
    figures[3] += max(1.0 / figures[4], FORGETTING) * (error - figures[3])


cdef double* allocate(
    Py_ssize_t width, Py_ssize_t n_experts, Py_ssize_t n_kernels, Py_ssize_t length
) except NULL:
    """Allocate features of a block, its angles with sines and cosines of a row, its shares, the work of an output."""
    cdef Py_ssize_t n = BLOCK * n_kernels * (length + 1) + (BLOCK + 2) * width + (n_experts + 1) * (n_kernels + 2)
    cdef double* room = <double*> malloc(n * sizeof(double))
    if room == NULL:
        raise MemoryError("no memory for the features of a block of rows")
    return room


def update(
    const double[:, ::1] rows,            # in: (m, d)
    const double[:, ::1] targets,         # in: (m, K)
    const double[:, ::1] frequencies,     # in: (d, width), kernel p from column p D on
    const double[::1] steps,              # in: (J) step sizes
    const double[::1] rates,              # in: (J) step sizes of the experts' weights
    const double[::1] starts,             # in: (J) logs of the weights of renewed experts
    double[:, :, :, ::1] coefficients,    # in and out: (K, J, P, length), sines, cosines, zeros
    double[:, :, ::1] kernel_logs,        # in and out: (K, J, P)
    double[:, ::1] expert_logs,           # in and out: (K, J)
    double[:, ::1] losses,                # in and out: (K, J) recent mean losses, -1 before the first row of an expert
    double[::1] figures,                  # in and out: (N_FIGURES) statistics of intervals and changes
    long long[::1] flags,                 # in and out: (1 + room) number of changes, and rows of the last ones
    double[:, ::1] predictions,           # out: (m, K or K + 1 with half-widths) before each row; or no rows
    *, Py_ssize_t n_components, int loss, double weight_step, double penalty, bint adaptive, bint restart,
    double coverage, Py_ssize_t monitored, long long n_seen,
    int base=2,                           # interval j has base^j rows
    const int[::1] kinds=None,            # in: (P) 0 for a shift-invariant kernel, else the degree; None: all 0
    const double[::1] factors=None,       # in: (m) factors of the step sizes by row; None: all 1
):
    """Learn the rows in their order."""
    cdef Py_ssize_t m = rows.shape[0], d = rows.shape[1], width = frequencies.shape[1]
    cdef Py_ssize_t n_outputs = coefficients.shape[0], most = coefficients.shape[1], n_kernels = coefficients.shape[2]
    cdef Py_ssize_t length = coefficients.shape[3], block, first, t, k, n_rows, n_experts
    cdef bint wanted = predictions.shape[0] > 0, with_widths = predictions.shape[1] > n_outputs
    cdef double f = 0.0, output, own, other, error, factor = 1.0
    cdef const int* kind = NULL if kinds is None else &kinds[0]
    cdef bint varying = factors is not None
    cdef double* features = allocate(width, most, n_kernels, length)
    cdef double* angles = features + BLOCK * n_kernels * length
    cdef double* shares = angles + (BLOCK + 2) * width
    cdef double* work = shares + BLOCK * n_kernels
    cdef double* z
    with nogil:
        for block in range((m + BLOCK - 1) // BLOCK):
            first = block * BLOCK
            n_rows = min(m - first, <Py_ssize_t> BLOCK)
            compute_features(
                &rows[first, 0], n_rows, d, &frequencies[0, 0], width, kind, n_kernels, n_components, length, angles,
                features, shares,
            )
            for t in range(first, first + n_rows):
                if varying:
                    factor = factors[t]
                z = features + (t - first) * n_kernels * length
                n_experts = count_experts(n_seen + t + 1, base, most)
                own = 0.0
                other = -INFINITY if n_outputs > 1 else 0.0
                if wanted and with_widths:
                    predictions[t, n_outputs] = get_half_width(&figures[0])
                for k in range(n_outputs):
                    f = compute_output(
                        z, &coefficients[k, 0, 0, 0], &kernel_logs[k, 0, 0], &expert_logs[k, 0],
                        n_experts, n_kernels, length, work,
                    )
                    if wanted:
                        predictions[t, k] = f
                    output = update_output(
                        z, targets[t, k], f, &coefficients[k, 0, 0, 0], &kernel_logs[k, 0, 0], &expert_logs[k, 0],
                        &steps[0], factor, shares + (t - first) * n_kernels, &rates[0], n_experts, n_kernels, length,
                        loss, weight_step, penalty, work,
                        &losses[k, 0], monitored,
                    )
                    if loss == 0 or targets[t, k] > 0.0:
                        own = output
                    elif n_outputs > 1:
                        other = max(other, output)
                    else:
                        own = -output
                    if adaptive:
                        renew_experts(
                            &coefficients[k, 0, 0, 0], &kernel_logs[k, 0, 0], &expert_logs[k, 0], &starts[0],
                            n_seen + t + 2, base, restart, most, n_kernels, length,
                        )
                if coverage > 0.0:
                    update_interval(&figures[0], targets[t, 0] - f, coverage, n_seen + t)
                if adaptive and n_experts > monitored:
                    error = sqrt(compute_loss(own, targets[t, 0], loss)) if loss == 0 else (own <= other)
                    update_changes(&figures[0], &flags[0], flags.shape[0] - 1, error, loss != 0, n_seen + t)
    free(features)


def predict(
    const double[:, ::1] rows,                  # in: (m, d)
    const double[:, ::1] frequencies,           # in: (d, width)
    const double[:, :, :, ::1] coefficients,    # in: (K, J, P, length)
    const double[:, :, ::1] kernel_logs,        # in: (K, J, P)
    const double[:, ::1] expert_logs,           # in: (K, J)
    const double[::1] figures,                  # in: (N_FIGURES)
    double[:, ::1] predictions,                 # out: (m, K or K + 1 with half-widths)
    *, Py_ssize_t n_components, long long n_seen, int base=2, const int[::1] kinds=None,
):
    """Compute the outputs of rows."""
    cdef Py_ssize_t m = rows.shape[0], d = rows.shape[1], width = frequencies.shape[1]
    cdef Py_ssize_t n_outputs = coefficients.shape[0], most = coefficients.shape[1], n_kernels = coefficients.shape[2]
    cdef Py_ssize_t length = coefficients.shape[3], block, first, t, k, n_rows
    cdef Py_ssize_t n_experts = count_experts(n_seen + 1, base, most)
    cdef const int* kind = NULL if kinds is None else &kinds[0]
    cdef double* features = allocate(width, most, n_kernels, length)
    cdef double* angles = features + BLOCK * n_kernels * length
    cdef double* shares = angles + (BLOCK + 2) * width
    cdef double* work = shares + BLOCK * n_kernels
    with nogil:
        for block in range((m + BLOCK - 1) // BLOCK):
            first = block * BLOCK
            n_rows = min(m - first, <Py_ssize_t> BLOCK)
            compute_features(
                &rows[first, 0], n_rows, d, &frequencies[0, 0], width, kind, n_kernels, n_components, length, angles,
                features, shares,
            )
            for t in range(first, first + n_rows):
                if predictions.shape[1] > n_outputs:
                    predictions[t, n_outputs] = get_half_width(&figures[0])
                for k in range(n_outputs):
                    predictions[t, k] = compute_output(
                        features + (t - first) * n_kernels * length, &coefficients[k, 0, 0, 0], &kernel_logs[k, 0, 0],
                        &expert_logs[k, 0], n_experts, n_kernels, length, work,
                    )
    free(features)


# ---- exact kernels ----

cdef enum:
    GAUSSIAN
    LAPLACIAN
    CAUCHY
    LAPLACIAN_L1
    LINEAR
    POLYNOMIAL


cdef struct Supports:
    const double* rows      # (n, length), padded with zeros
    const double* squares   # (n,) squared lengths of the rows
    const int* kinds        # (P,)
    const double* scales    # (P,) factor of the squared distance or the distance, or of x'z; degree of a polynomial
    Py_ssize_t P, K, d, length


cdef void compute_kernels(
    Supports* m, const double* x, double square, const double* other, double other_square, double* values
) noexcept nogil:
    """Write the kernels (P,) of two rows."""
    cdef double product = pgmx_dot(x, other, m.length), far, total, base
    cdef Py_ssize_t p, i, _i
    far = max(square + other_square - 2.0 * product, 0.0)
    for p in range(m.P):
        if m.kinds[p] == GAUSSIAN:
            values[p] = exp(-far * m.scales[p])
        elif m.kinds[p] == LAPLACIAN:
            values[p] = exp(-sqrt(far) * m.scales[p])
        elif m.kinds[p] == CAUCHY:
            values[p] = 1.0 / (1.0 + far * m.scales[p])
        elif m.kinds[p] == LAPLACIAN_L1:
            total = 0.0
            for i in range(m.d):
                total += fabs(x[i] - other[i])
            values[p] = exp(-total * m.scales[p])
        elif m.kinds[p] == LINEAR:
            values[p] = product * m.scales[p]
        else:
            base = (1.0 + product) / (1.0 + m.d)
            values[p] = base
            for _i in range(1, <Py_ssize_t> m.scales[p]):
                values[p] *= base


cdef void sum_kernels(
    Supports* m, const double* x, double square, const double* coefficients, Py_ssize_t n, double* values, double* parts
) noexcept nogil:
    """Write the outputs (K, P) of a row; coefficients (n, K, P)."""
    cdef Py_ssize_t s, k, p, size = m.K * m.P
    for k in range(size):
        parts[k] = 0.0
    for s in range(n):
        compute_kernels(m, x, square, m.rows + s * m.length, m.squares[s], values)
        for k in range(m.K):
            for p in range(m.P):
                parts[k * m.P + p] += coefficients[s * size + k * m.P + p] * values[p]


cdef inline double mix_parts(const double* parts, const double* logs, double* weights, Py_ssize_t n) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t p
    compute_weights(logs, weights, n)
    for p in range(n):
        total += weights[p] * parts[p]
    return total


def learn_supports(
    const double[:, ::1] rows,            # in: (m, length), padded with zeros to a multiple of 8
    const double[:, ::1] targets,         # in: (m, K)
    double[:, ::1] supports,              # in and out: (room, length) rows learned
    double[::1] squares,                  # in and out: (room) their squared lengths
    double[:, :, ::1] coefficients,       # in and out: (room, K, P)
    double[:, ::1] kernel_logs,           # in and out: (K, P)
    const int[::1] kinds,                 # in: (P)
    const double[::1] scales,             # in: (P)
    double[:, ::1] predictions,           # out: (m, K) before each row; or (with `learn` false) the only result
    *, Py_ssize_t d, Py_ssize_t budget, int loss, double step, double weight_step, double penalty, long long n_seen,
    bint learn,
):
    """Learn or predict rows by kernels with all earlier rows, or with the last `budget` ones (0: all)."""
    cdef Supports m
    cdef Py_ssize_t t, k, p, s, n, slot, size = coefficients.shape[1] * coefficients.shape[2]
    cdef bint wanted = predictions.shape[0] > 0
    cdef double square, share, f, y, slope, keep
    cdef double* values = <double*> malloc((size + 3 * kinds.shape[0]) * sizeof(double))
    cdef double* own = values + kinds.shape[0]
    cdef double* weights = own + kinds.shape[0]
    cdef double* parts = weights + kinds.shape[0]
    if values == NULL:
        raise MemoryError("no memory for the kernels of a row")
    m.rows, m.squares, m.kinds, m.scales = &supports[0, 0], &squares[0], &kinds[0], &scales[0]
    m.P, m.K, m.d, m.length = kinds.shape[0], coefficients.shape[1], d, rows.shape[1]
    with nogil:
        for t in range(rows.shape[0]):
            n = n_seen + (t if learn else 0)
            slot = n
            if budget > 0:
                slot = n % budget
                n = min(n, budget)
            square = pgmx_dot(&rows[t, 0], &rows[t, 0], m.length)
            sum_kernels(&m, &rows[t, 0], square, &coefficients[0, 0, 0], n, values, parts)
            for k in range(m.K):
                f = mix_parts(parts + k * m.P, &kernel_logs[k, 0], weights, m.P)
                if wanted:
                    predictions[t, k] = f
            if not learn:
                continue
            compute_kernels(&m, &rows[t, 0], square, &rows[t, 0], square, own)
            for p in range(m.P):
                share = step / max(1.0, own[p])
                keep = 1.0 - 2.0 * share * penalty
                for k in range(m.K):
                    y = targets[t, k]
                    slope = compute_slope(parts[k * m.P + p], y, loss)
                    if penalty > 0.0:
                        for s in range(n):
                            coefficients[s, k, p] *= keep
                    coefficients[slot, k, p] = -share * slope
                    parts[k * m.P + p] = compute_loss(parts[k * m.P + p], y, loss)
            for k in range(m.K):
                lower_logs(&kernel_logs[k, 0], parts + k * m.P, weight_step, m.P)
            for s in range(m.length):
                supports[slot, s] = rows[t, s]
            squares[slot] = square
    free(values)
