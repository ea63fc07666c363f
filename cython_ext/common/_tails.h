/* Upper tail of the chi-square distribution, with the same bits on every processor (IEEE operations only).
 *   pgmx_exp(x)             e^x; error below 2 ulp
 *   pgmx_chi2_tail(t, dof)  P(chi-square with dof > 0 degrees of freedom, not necessarily whole, > t); absolute error
 *                           below 1e-10, relative error below 1e-9 up to 200,000 degrees of freedom
 * The tail is the regularised incomplete gamma function Q(a, x) with a = dof / 2, x = t / 2: a power series of 1 - Q
 * below the mean, a continued fraction above it, both of O(sqrt(a)) terms, and the first term of Temme's uniform
 * expansion for very large a. The two-sided tail of a normal z is pgmx_chi2_tail(z * z, 1).
 * References: Press et al. (2007), Numerical Recipes, section 6.2; DLMF 8.12.3, 8.12.8 (Temme).
 */
#ifndef PGMX_TAILS_H
#define PGMX_TAILS_H

#include <math.h>

#include "_special.h"

static inline double pgmx_exp(double x) {
    double k, r, sum = 1.0;
    int i;
    if (!(x > -746.0)) return 0.0;
    if (x > 709.7) return INFINITY;
    k = floor(x * 1.4426950408889634 + 0.5);
    r = (x - k * 0.6931471805601177) + k * 1.7239444525614835e-13; /* ln 2 as in pgmx_log */
    for (i = 13; i > 0; i--) sum = 1.0 + r * sum / (double)i;
    return ldexp(sum, (int)k);
}

/* x / a - 1 - ln(x / a) >= 0, without cancellation near x = a */
static inline double pgmx_half_square(double a, double x) {
    double s = (x - a) / (x + a), mu = (x - a) / a;
    if (s < -0.17 || s > 0.17) return mu - pgmx_log(x / a);
    return mu * s - pgmx_atanh_tail(s); /* mu - 2 s = mu s */
}

/* x^a e^-x / Gamma(a + 1) */
static inline double pgmx_gamma_density(double a, double x) {
    double log_density;
    if (a < 10.0) {
        /* ln Gamma(a + 1) from ln Gamma(a + 11) */
        double z = a + 11.0, log_gamma = (z - 0.5) * pgmx_log(z) - z + 0.91893853320467274178 + pgmx_stirling_rest(z);
        log_density = a * pgmx_log(x) - x - (log_gamma - pgmx_log_rising(a + 1.0, 10));
    } else {
        log_density = -a * pgmx_half_square(a, x) - pgmx_stirling_rest(a) - 0.5 * pgmx_log(6.283185307179586 * a);
    }
    return pgmx_exp(log_density);
}

static inline double pgmx_gamma_tail(double a, double x) {
    double density, sum, step, n, b, c, d;
    if (!(x > 0.0)) return 1.0;
    if (x < 1e-290 || a > 1e300) return x < a ? 1.0 : 0.0;
    if (a > 1e5 && x > 0.7 * a && x < 1.3 * a) {
        double half = pgmx_half_square(a, x), eta = sqrt(2.0 * half), first;
        if (x < a) eta = -eta;
        first = fabs(eta) < 1e-3 ? eta / 12.0 - 1.0 / 3.0 : a / (x - a) - 1.0 / eta;
        sum = 0.5 * pgmx_gamma_tail(0.5, a * half);
        if (x < a) sum = 1.0 - sum;
        return sum + pgmx_exp(-a * half) / sqrt(6.283185307179586 * a) * first;
    }
    density = pgmx_gamma_density(a, x);
    if (density == 0.0) return x < a ? 1.0 : 0.0;
    if (x < a + 1.0) {
        sum = step = 1.0;
        for (n = a + 1.0; step > sum * 1e-17; n += 1.0) {
            step *= x / n;
            sum += step;
        }
        sum = 1.0 - density * sum;
        return sum > 0.0 ? sum : 0.0;
    }
    /* modified Lentz algorithm */
    b = x + 1.0 - a;
    c = 1e300;
    d = sum = 1.0 / b;
    for (n = 1.0; n < 1e8; n += 1.0) {
        double an = n * (a - n);
        b += 2.0;
        d = 1.0 / (b + an * d);
        c = b + an / c;
        step = c * d;
        sum *= step;
        if (fabs(step - 1.0) < 1e-15) break;
    }
    return density * a * sum;
}

static inline double pgmx_chi2_tail(double t, double dof) { return pgmx_gamma_tail(0.5 * dof, 0.5 * t); }

#endif /* PGMX_TAILS_H */
