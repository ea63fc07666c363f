/* Logarithms that give the same bits on every processor.
 *
 * The C library chooses log() by processor (with or without fused multiply-add), so its last bit varies; scores that
 * tie exactly on one machine would then not tie on another. These use IEEE additions, multiplications and divisions
 * only (built with -ffp-contract=off).
 *   pgmx_log(x)              ln x for finite x > 0 (normal numbers); error below 2 ulp
 *   pgmx_log_rising(a, n)    ln Gamma(a + n) - ln Gamma(a), a > 0: the log of the rising factorial a (a+1) ... (a+n-1)
 *   pgmx_log_rising_real     the same for a real n >= 0
 * Reference: Abramowitz & Stegun (1964), 4.1.27 (atanh series) and 6.1.41 (Stirling series).
 */
#ifndef PGMX_SPECIAL_H
#define PGMX_SPECIAL_H

#include <stdint.h>
#include <string.h>

/* 2 atanh(s) - 2 s for |s| < 0.172; the first term dropped is below 1e-18 of 2 s. */
static inline double pgmx_atanh_tail(double s) {
    double z = s * s;
    double tail = 2.0 / 23.0;
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
    return s * z * tail;
}

/* Without branches and without conversions of integers, which few processors have for vectors. */
static inline double pgmx_log(double x) {
    uint64_t bits, exponent;
    double m, s, e;
    int is_large;
    memcpy(&bits, &x, 8);
    exponent = bits >> 52 | 0x4330000000000000ULL; /* 2^52 and the exponent of x, biased by 1023 */
    bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
    memcpy(&m, &bits, 8); /* x = m 2^e, 1 <= m < 2 */
    memcpy(&e, &exponent, 8);
    is_large = m > 1.4142135623730951;
    m = is_large ? m * 0.5 : m;
    e = e - (is_large ? 4503599627371518.0 : 4503599627371519.0); /* 2^52 + 1022 or 1023 */
    s = (m - 1.0) / (m + 1.0);                                    /* ln m = 2 atanh(s) */
    /* ln 2 as a sum of two terms: the first is ln 2 rounded to 40 bits, so that e times it is exact */
    return e * 0.6931471805601177 + (2.0 * s + (pgmx_atanh_tail(s) + e * -1.7239444525614835e-13));
}

/* ln Gamma(z) minus Stirling's formula (z - 1/2) ln z - z + ln sqrt(2 pi), z >= 10; error below 1e-15. */
static inline double pgmx_stirling_rest(double z) {
    double i = 1.0 / z, i2 = i * i;
    double series = -691.0 / 360360.0;
    series = series * i2 + 1.0 / 1188.0;
    series = series * i2 - 1.0 / 1680.0;
    series = series * i2 + 1.0 / 1260.0;
    series = series * i2 - 1.0 / 360.0;
    series = series * i2 + 1.0 / 12.0;
    return series * i;
}

/* ln Gamma(z + n) - ln Gamma(z), z >= 10, arranged so that nearly equal values are never subtracted. */
static inline double pgmx_stirling_rise(double z, double n) {
    double s = n / (2.0 * z + n);
    double growth = s < 0.17 ? 2.0 * s + pgmx_atanh_tail(s) : pgmx_log((z + n) / z); /* ln(1 + n / z) */
    return n * pgmx_log(z + n) + ((z - 0.5) * growth - n) + (pgmx_stirling_rest(z + n) - pgmx_stirling_rest(z));
}

static inline double pgmx_log_rising(double a, uint32_t n) {
    double product = 1.0;
    uint32_t i, few = n < 10 ? n : 10;
    if (a >= 10.0 && n > 0) return pgmx_stirling_rise(a, (double)n);
    for (i = 0; i < few; i++) product *= a + (double)i; /* a (a+1) ... at most ten factors below 20 */
    if (n <= 10) return pgmx_log(product);
    return pgmx_log(product) + pgmx_stirling_rise(a + 10.0, (double)(n - 10));
}

static inline double pgmx_log_rising_real(double a, double n) {
    double product = 1.0, beyond = 1.0;
    int i;
    if (n <= 0.0) return 0.0;
    if (a >= 10.0) return pgmx_stirling_rise(a, n);
    for (i = 0; i < 10; i++) product *= a + (double)i;
    if (n >= 10.0) return pgmx_log(product) + pgmx_stirling_rise(a + 10.0, n - 10.0);
    for (i = 0; i < 10; i++) beyond *= a + n + (double)i;
    return pgmx_log(product / beyond) + pgmx_stirling_rise(a + 10.0, n);
}

#endif /* PGMX_SPECIAL_H */
