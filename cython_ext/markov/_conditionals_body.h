/* Vector bodies of _conditionals.h, included once per instruction set: no include guard, on purpose; it undefines the
 * macros of the includer.
 *
 * The includer defines NAME(f), TARGET, LANES, vec, ivec, mask and the operations LOAD, STORE, ZERO, SPLAT, ADD, SUB,
 * MUL, DIV, SQRT, MAX, CODES (LANES codes widened to 32 bits), IS (lanes whose code is b), ADD_IF, PICK (lanes of a table
 * of 16), EXPONENT, MANTISSA; for integers WHOLE, COUNT_IF, KEEP and count, their vector; for doubles wide, LOW, HIGH,
 * WIDE. Lanes are summed into doubles every PGMX_FLUSH vectors; the rows after the last whole vector are processed one
 * by one.
 */

TARGET PGMX_INLINE double NAME(pgmx_lanes)(count v) {
    uint32_t lane[LANES];
    uint64_t total = 0;
    KEEP(lane, v);
    for (int k = 0; k < LANES; k++) total += lane[k];
    return (double)total;
}

/* out[a * stride + b] += sum of p[a][m] over the rows with codes[m] == b, for A x B cells from (0, first). */
TARGET PGMX_INLINE void NAME(pgmx_tile)(const float *const *p, const uint8_t *codes, ptrdiff_t n_rows, int first,
                                        double *out, ptrdiff_t stride, const int A, const int B, const int U) {
    ptrdiff_t whole = n_rows - n_rows % (U * LANES), m = 0;
    while (m < whole) {
        ptrdiff_t stop = whole - m > PGMX_FLUSH * LANES ? m + PGMX_FLUSH * LANES : whole;
        count sums[4][4][4];
        for (int u = 0; u < U; u++)
            for (int a = 0; a < A; a++)
                for (int b = 0; b < B; b++) sums[u][a][b] = (count){0};
        for (; m < stop; m += U * LANES) {
            for (int u = 0; u < U; u++) {
                ivec x = CODES(codes + m + u * LANES);
                mask is[4];
                for (int b = 0; b < B; b++) is[b] = IS(x, first + b);
                for (int a = 0; a < A; a++) {
                    ivec v = WHOLE(LOAD(p[a] + m + u * LANES));
                    for (int b = 0; b < B; b++) sums[u][a][b] = COUNT_IF(sums[u][a][b], is[b], v);
                }
            }
        }
        for (int a = 0; a < A; a++)
            for (int b = 0; b < B; b++) {
                count total = sums[0][a][b];
                for (int u = 1; u < U; u++) total += sums[u][a][b];
                out[a * stride + b] += NAME(pgmx_lanes)(total);
            }
    }
    for (; m < n_rows; m++) {
        int b = (int)codes[m] - first;
        if (b >= 0 && b < B)
            for (int a = 0; a < A; a++) out[a * stride + b] += PGMX_WHOLE_float(p[a][m]);
    }
}

#define PGMX_TILE(A, B, U) \
    case 4 * A + B: NAME(pgmx_tile)(p + a, codes, n_rows, b, out + a * stride + b, stride, A, B, U); break;

/* out (n_states x stride, zeroed) gets the sums of all cells (a, b), a < n_states, b < n_codes. */
TARGET static void NAME(pgmx_moments)(const float *const *p, int n_states, const uint8_t *codes, int n_codes,
                                      ptrdiff_t n_rows, double *out, ptrdiff_t stride) {
    for (int a = 0; a < n_states; a += 4)
        for (int b = 0; b < n_codes; b += 4) {
            int high = n_states - a < 4 ? n_states - a : 4, wide = n_codes - b < 4 ? n_codes - b : 4;
            switch (4 * high + wide) {
                PGMX_TILE(1, 1, 4) PGMX_TILE(1, 2, 2) PGMX_TILE(1, 3, 2) PGMX_TILE(1, 4, 2)
                PGMX_TILE(2, 1, 2) PGMX_TILE(2, 2, 2) PGMX_TILE(2, 3, 1) PGMX_TILE(2, 4, 1)
                PGMX_TILE(3, 1, 2) PGMX_TILE(3, 2, 1) PGMX_TILE(3, 3, 1) PGMX_TILE(3, 4, 1)
                PGMX_TILE(4, 1, 2) PGMX_TILE(4, 2, 1) PGMX_TILE(4, 3, 1) PGMX_TILE(4, 4, 1)
                default: break;
            }
        }
}

#undef PGMX_TILE

/* p[a][m] *= table[16 a + codes[m]], then each row is scaled to its weight; see pgmx_shift of _conditionals.h. With few
 * states, `fixed` in number, the caller computes the total of the last. */
TARGET PGMX_INLINE void NAME(pgmx_shift_states)(float *const *p, const float *table, const uint8_t *codes,
                                                const float *weights, float unit, ptrdiff_t n_rows,
                                                double *totals, double *drift, const int S, const int fixed) {
    ptrdiff_t whole = n_rows - n_rows % LANES, m = 0;
    const vec one = SPLAT(unit), least = SPLAT(PGMX_LEAST), lowest = MUL(one, least);
    double moved = 0;
    /* pointers that no store of a float may change */
    float *const first[5] = {p[0], p[1 % S], p[2 % S], p[3 % S], p[4 % S]};
    float *const *at = fixed ? first : p;
    const int last = fixed ? S - 1 : S;
    while (m < whole) {
        ptrdiff_t stop = whole - m > PGMX_FLUSH * LANES ? m + PGMX_FLUSH * LANES : whole;
        count sums[PGMX_FEW], far = {0};
        for (int a = 0; a < S; a++) sums[a] = (count){0};
        for (; m < stop; m += LANES) {
            ivec x = CODES(codes + m);
            vec w = weights ? LOAD(weights + m) : one, all = ZERO(), squares = ZERO(), q[PGMX_FEW], fresh, step;
            vec floor = weights ? MUL(w, least) : lowest;
            for (int a = 0; a < S; a++) {
                q[a] = MAX(MUL(LOAD(at[a] + m), PICK(table + PGMX_FEW * a, x)), floor);
                all = fixed && !a ? q[a] : ADD(all, q[a]);
            }
            vec scale = DIV(w, all);
            for (int a = 0; a < S; a++) {
                fresh = MUL(q[a], scale);
                step = SUB(fresh, LOAD(at[a] + m));
                STORE(at[a] + m, fresh);
                squares = fixed && !a ? MUL(step, step) : ADD(squares, MUL(step, step));
                if (a < last) sums[a] += (count)WHOLE(fresh);
            }
            far += (count)WHOLE(SQRT(squares));
        }
        for (int a = 0; a < last; a++) totals[a] += NAME(pgmx_lanes)(sums[a]);
        moved += NAME(pgmx_lanes)(far);
    }
    *drift += moved;
}

TARGET static void NAME(pgmx_shift)(float *const *p, int n_states, const float *table, const uint8_t *codes,
                                    const float *weights, float one, ptrdiff_t n_rows, double *totals,
                                    double *drift) {
    switch (n_states) {
        case 2: NAME(pgmx_shift_states)(p, table, codes, weights, one, n_rows, totals, drift, 2, 1); break;
        case 3: NAME(pgmx_shift_states)(p, table, codes, weights, one, n_rows, totals, drift, 3, 1); break;
        case 4: NAME(pgmx_shift_states)(p, table, codes, weights, one, n_rows, totals, drift, 4, 1); break;
        case 5: NAME(pgmx_shift_states)(p, table, codes, weights, one, n_rows, totals, drift, 5, 1); break;
        default: NAME(pgmx_shift_states)(p, table, codes, weights, one, n_rows, totals, drift, n_states, 0); break;
    }
}

/* Sum of log p[codes[m]][m] over the whole vectors of rows, base 2: exponents are added, mantissas multiplied. */
TARGET static double NAME(pgmx_log2_sum)(const float *const *p, int n_states, const uint8_t *codes, ptrdiff_t n_rows) {
    ptrdiff_t whole = n_rows - n_rows % LANES, m = 0;
    double total = 0;
    while (m < whole) {
        ptrdiff_t stop = whole - m > 256 * LANES ? m + 256 * LANES : whole; /* 512 mantissas below 2 stay finite */
        wide product = WIDE(set1)(1.0);
        vec exponents = ZERO();
        for (; m < stop; m += LANES) {
            ivec x = CODES(codes + m);
            vec chosen = ZERO();
            for (int a = 0; a < n_states; a++) chosen = ADD_IF(chosen, IS(x, a), LOAD(p[a] + m));
            exponents = ADD(exponents, EXPONENT(chosen));
            chosen = MANTISSA(chosen);
            product = WIDE(mul)(product, WIDE(mul)(LOW(chosen), HIGH(chosen))); /* exact: each factor has 24 bits */
        }
        float lane[LANES];
        double half[LANES / 2];
        STORE(lane, exponents);
        WIDE(storeu)(half, product);
        for (int k = 0; k < LANES; k++) total += (double)lane[k];
        for (int k = 0; k < LANES / 2; k++) total += log2(half[k]);
    }
    return total;
}

#undef vec
#undef ivec
#undef count
#undef mask
#undef LANES
#undef TARGET
#undef NAME
#undef LOAD
#undef STORE
#undef ZERO
#undef SPLAT
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef SQRT
#undef MAX
#undef CODES
#undef IS
#undef ADD_IF
#undef PICK
#undef WHOLE
#undef COUNT_IF
#undef KEEP
#undef wide
#undef LOW
#undef HIGH
#undef WIDE
#undef EXPONENT
#undef MANTISSA
