/* Vector bodies of _pivots.h, included once per instruction set (without an include guard, on purpose). It undefines
 * the macros of the includer: NAME(f), TARGET, LANES, vec and the operations LOAD, SPLAT, ADD, SUB, MUL, SIGN (sign
 * bits), FLIP (xor with sign bits) and LESS (any lane of a below that of b, false for NaN).
 */

TARGET static double NAME(pgmx_first_bound)(const double *g, const double *v, const double *reach, ptrdiff_t n,
                                            double least, ptrdiff_t *who) {
    double best = INFINITY;
    vec bar = SPLAT(best);
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec x = LOAD(v + i), sign = SIGN(x);
        if (LESS(SUB(LOAD(reach + i), FLIP(LOAD(g + i), sign)), MUL(bar, FLIP(x, sign)))) {
            for (ptrdiff_t l = i; l < i + LANES; l++) pgmx_try_bound(g[l], v[l], reach[l], least, l, &best, who);
            bar = SPLAT(best);
        }
    }
    for (; i < n; i++) pgmx_try_bound(g[i], v[i], reach[i], least, i, &best, who);
    return best;
}

TARGET static double NAME(pgmx_first_breach)(const double *r, const double *v, const double *slack, ptrdiff_t n,
                                             double lam, double least, ptrdiff_t *who, int *side) {
    const vec one = SPLAT(1.0), radius = SPLAT(lam);
    double best = INFINITY;
    vec bar = SPLAT(best);
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec x = LOAD(v + i), y = LOAD(r + i), bound = ADD(radius, LOAD(slack + i));
        if (LESS(SUB(bound, y), MUL(bar, SUB(one, x))) | LESS(ADD(bound, y), MUL(bar, ADD(one, x)))) {
            for (ptrdiff_t l = i; l < i + LANES; l++)
                pgmx_try_breach(r[l], v[l], lam + slack[l], least, l, &best, who, side);
            bar = SPLAT(best);
        }
    }
    for (; i < n; i++) pgmx_try_breach(r[i], v[i], lam + slack[i], least, i, &best, who, side);
    return best;
}

#undef vec
#undef LANES
#undef TARGET
#undef NAME
#undef LOAD
#undef SPLAT
#undef ADD
#undef SUB
#undef MUL
#undef SIGN
#undef FLIP
#undef LESS
