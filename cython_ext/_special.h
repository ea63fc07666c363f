/* Logarithms that give the same bits on every processor.
 *
 * The C library picks log() by processor (with or without fused multiply-add), so its last bit varies; scores that
 * tie exactly on one machine would then not tie on another. These use IEEE additions, multiplications and divisions
 * only (built with -ffp-contract=off).
 *   pgmx_log(x)              ln x for finite x > 0 (normal numbers); error below 2 ulp
 *   pgmx_log_rising(a, n)    ln Gamma(a + n) - ln Gamma(a), a > 0: the log of the rising factorial a (a+1) ... (a+n-1)
 * Reference: Abramowitz & Stegun (1964), 4.1.27 (atanh series) and 6.1.41 (Stirling series).
 */
#ifndef PGMX_SPECIAL_H
#define PGMX_SPECIAL_H

#include <stdint.h>
#include <string.h>

static inline double pgmx_log(double x) {
    uint64_t bits;
    double m, s, z, tail;
    int e;
    memcpy(&bits, &x, 8);
    e = (int)((bits >> 52) & 0x7ff) - 1023;
    bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
    memcpy(&m, &bits, 8); /* x = m 2^e, 1 <= m < 2 */
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e += 1;
    }
    /* ln m = 2 atanh(s), |s| < 0.172: the first term dropped is below 1e-18 of the sum */
    s = (m - 1.0) / (m + 1.0);
    z = s * s;
    tail = 2.0 / 23.0;
    tail = tail * z + 2.0 / 21.0;
    tail = tail * z + 2.0 / 19.0;
    tail = tail * z + 2.0 / 17.0;
    tail = tail * z + 2.0 / 15.0;
    tail = tail * z + 2.0 / 13.0;
    tail = tail * z + 2.0 / 11.0;
    tail = tail * z + 2.0 / 9.0;
    tail = tail * z + 2.0 / 7.0;
    tail = tail * z + 2.0 / 5.0;
    tail = tail * z + 2.0 / 3.0;
    /* ln 2 in two parts: the high one has trailing zeros, so that e times it is exact */
    return (double)e * 6.93147180369123816490e-01 +
           (2.0 * s + (s * z * tail + (double)e * 1.90821492927058770002e-10));
}

/* ln Gamma(z) for z >= 10 by Stirling's series; the first term dropped is below 1e-15. */
static inline double pgmx_stirling(double z) {
    double i = 1.0 / z, i2 = i * i;
    double series = -691.0 / 360360.0;
    series = series * i2 + 1.0 / 1188.0;
    series = series * i2 - 1.0 / 1680.0;
    series = series * i2 + 1.0 / 1260.0;
    series = series * i2 - 1.0 / 360.0;
    series = series * i2 + 1.0 / 12.0;
    return (z - 0.5) * pgmx_log(z) - z + 0.91893853320467274178 + series * i;
}

static inline double pgmx_log_rising(double a, uint32_t n) {
    double product = 1.0;
    uint32_t i;
    if (n <= 10) { /* a short product is exact where the difference of two large numbers is not */
        if (a < 1e20) {
            for (i = 0; i < n; i++) product *= a + (double)i;
            return pgmx_log(product);
        }
        return (double)n * pgmx_log(a);
    }
    if (a >= 10.0) return pgmx_stirling(a + (double)n) - pgmx_stirling(a);
    /* ln Gamma(a) = ln Gamma(a + 10) - ln(a (a+1) ... (a+9)) */
    for (i = 0; i < 10; i++) product *= a + (double)i;
    return pgmx_stirling(a + (double)n) - pgmx_stirling(a + 10.0) + pgmx_log(product);
}

#endif /* PGMX_SPECIAL_H */
