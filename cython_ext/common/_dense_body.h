/* Vector bodies of _dense.h, included once per instruction set: no include guard, on purpose; it undefines the macros
 * of the includer.
 *
 * The includer defines NAME(f), TARGET, vec of WIDTH doubles, and LOAD, STORE, ZERO, SPLAT, ADD, SUB, MUL, MAX, MIN,
 * ABS, ABOVE (bits of the lanes greater than the bound). Elements beyond whole vectors are handled one by one. MAX and
 * MIN keep their second operand if the first is NaN.
 */

#define PARTS (PGMX_LANES / WIDTH)

TARGET PGMX_UNUSED static double NAME(pgmx_dot)(const double *x, const double *y, ptrdiff_t n) {
    double lane[PGMX_LANES];
    vec sums[PARTS];
    ptrdiff_t whole = n - n % PGMX_LANES, i = 0;
    for (int c = 0; c < PARTS; c++) sums[c] = ZERO();
    for (; i < whole; i += PGMX_LANES)
        for (int c = 0; c < PARTS; c++)
            sums[c] = ADD(sums[c], MUL(LOAD(x + i + c * WIDTH), LOAD(y + i + c * WIDTH)));
    for (int c = 0; c < PARTS; c++) STORE(lane + c * WIDTH, sums[c]);
    for (; i < n; i++) lane[i - whole] += x[i] * y[i];
    return pgmx_fold_lanes(lane);
}

TARGET PGMX_UNUSED static void NAME(pgmx_axpy)(double a, const double *x, double *y, ptrdiff_t n) {
    const vec factor = SPLAT(a);
    ptrdiff_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) STORE(y + i, ADD(LOAD(y + i), MUL(factor, LOAD(x + i))));
    for (; i < n; i++) y[i] += a * x[i];
}

TARGET PGMX_INLINE void NAME(pgmx_rows)(const double *const *row, const double *w, ptrdiff_t first, ptrdiff_t n,
                                        double *out, const int keep, const int G) {
    vec factor[8];
    ptrdiff_t i = first;
    for (int g = 0; g < G; g++) factor[g] = SPLAT(w[g]);
    for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
        vec even = MUL(factor[0], LOAD(row[0] + i)), odd = MUL(factor[0], LOAD(row[0] + i + WIDTH));
        if (keep) {
            even = ADD(LOAD(out + i), even);
            odd = ADD(LOAD(out + i + WIDTH), odd);
        }
        for (int g = 1; g < G; g++) {
            even = ADD(even, MUL(factor[g], LOAD(row[g] + i)));
            odd = ADD(odd, MUL(factor[g], LOAD(row[g] + i + WIDTH)));
        }
        STORE(out + i, even);
        STORE(out + i + WIDTH, odd);
    }
    pgmx_rows_plain(row, w, i, n, out, keep, G);
}

TARGET PGMX_UNUSED static double NAME(pgmx_abs_max)(const double *x, ptrdiff_t n) {
    double lane[4 * WIDTH], most = 0;
    vec high[4];
    ptrdiff_t i = 0;
    for (int c = 0; c < 4; c++) high[c] = ZERO();
    for (; i + 4 * WIDTH <= n; i += 4 * WIDTH)
        for (int c = 0; c < 4; c++) high[c] = MAX(ABS(LOAD(x + i + c * WIDTH)), high[c]);
    for (int c = 0; c < 4; c++) STORE(lane + c * WIDTH, high[c]);
    for (int c = 0; c < 4 * WIDTH; c++) most = lane[c] > most ? lane[c] : most;
    for (; i < n; i++) {
        double v = fabs(x[i]);
        most = v > most ? v : most;
    }
    return most;
}

TARGET PGMX_UNUSED static ptrdiff_t NAME(pgmx_beyond)(const double *x, const double *y, double bound, ptrdiff_t n,
                                                      int *out) {
    const vec limit = SPLAT(bound);
    ptrdiff_t found = 0, i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        unsigned bits = ABOVE(ABS(SUB(LOAD(x + i), LOAD(y + i))), limit);
        for (; bits; bits &= bits - 1) out[found++] = (int)i + pgmx_lowest_bit(bits);
    }
    for (; i < n; i++)
        if (fabs(x[i] - y[i]) > bound) out[found++] = (int)i;
    return found;
}

TARGET PGMX_UNUSED static double NAME(pgmx_move_into_box)(const double *x, const double *centre, double radius,
                                                          const double *weight, double *row, ptrdiff_t n) {
    const vec reach = SPLAT(radius);
    double lane[PGMX_LANES];
    vec sums[PARTS];
    ptrdiff_t whole = n - n % PGMX_LANES, i = 0;
    for (int c = 0; c < PARTS; c++) sums[c] = ZERO();
    for (; i < whole; i += PGMX_LANES)
        for (int c = 0; c < PARTS; c++) {
            ptrdiff_t at = i + c * WIDTH;
            vec middle = LOAD(centre + at), fresh = LOAD(x + at), step;
            fresh = MIN(MAX(fresh, SUB(middle, reach)), ADD(middle, reach));
            step = SUB(fresh, LOAD(row + at));
            sums[c] = ADD(sums[c], MUL(MUL(LOAD(weight + at), step), step));
            STORE(row + at, fresh);
        }
    for (int c = 0; c < PARTS; c++) STORE(lane + c * WIDTH, sums[c]);
    for (; i < n; i++) {
        double fresh = pgmx_boxed(x[i], centre[i], radius), step = fresh - row[i];
        lane[i - whole] += weight[i] * step * step;
        row[i] = fresh;
    }
    return pgmx_fold_lanes(lane);
}

#undef PARTS
#undef vec
#undef WIDTH
#undef TARGET
#undef NAME
#undef LOAD
#undef STORE
#undef ZERO
#undef SPLAT
#undef ADD
#undef SUB
#undef MUL
#undef MAX
#undef MIN
#undef ABS
#undef ABOVE
