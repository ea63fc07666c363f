# Cholesky factors of R + D, D = noise I, for a singular R whose zeros are known to rounding only.
#
# An entry is a pair: `value` is the entry after elimination in R, and `slope` is the difference due to D, which is so
# small that it would be lost in a sum. With the pivot (d, d') of a column and its entries (a, a') and (b, b') with two
# others, elimination subtracts
#
#     a b / d,  (a b' + a' b + a' b' - a b d' / d) / (d + d')  if d > 0: in all (a + a') (b + b') / (d + d'),
#     0,        a' b' / d'                                     if d = 0: a and b are 0, as R is positive semidefinite.
#
# Both are exact up to rounding. With the coefficients c of a column on the preceding columns, d' is noise (1 + |c|^2),
# and rounding leaves about 1e-16 (1 + |c|^2) of a d that is 0. A column is determined by the preceding columns if d is
# less than d' / INVERSE_OF_DETERMINED. The noise of the column itself always remains: d' >= noise.
# Reference: Golub & Van Loan (2013), Matrix Computations, section 4.2.5.

cdef enum:
    INVERSE_OF_DETERMINED = 32


cdef struct Dual:
    double value, slope


cdef struct Pivot:
    double of_values, of_mixed, of_slopes, ratio        # 1 / d or 0, 1 / (d + d') or 0, 1 / (d + d'), d' / d


cdef inline bint is_determined(const Dual *entry, double noise) noexcept nogil:
    return entry.value * INVERSE_OF_DETERMINED < max(entry.slope, noise)


cdef inline double begin_pivot(const Dual *entry, bint determined, double noise, Pivot *pivot) noexcept nogil:
    # Returns d + d'. The value of a determined column is treated as 0.
    cdef double slope = max(entry.slope, noise)
    if determined:
        pivot.of_values = pivot.of_mixed = pivot.ratio = 0.0
        pivot.of_slopes = 1.0 / slope
        return slope
    pivot.of_values = 1.0 / entry.value
    pivot.of_mixed = pivot.of_slopes = 1.0 / (entry.value + slope)
    pivot.ratio = slope / entry.value
    return entry.value + slope


cdef inline void eliminate(const Pivot *pivot, const Dual *a, const Dual *b, Dual *target) noexcept nogil:
    target.value -= pivot.of_values * a.value * b.value
    target.slope -= pivot.of_mixed * (a.value * b.slope + a.slope * b.value - pivot.ratio * a.value * b.value) \
        + pivot.of_slopes * a.slope * b.slope
