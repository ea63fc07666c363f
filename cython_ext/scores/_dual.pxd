# Cholesky factors of R + D to first order in D = noise I, for a singular R.
#
# An entry is its value in R and its derivative along D. With the pivot (d, d') of a column and its entries (a, a') and
# (b, b') with two others, elimination subtracts
#
#     a b / d,  (a b' + a' b) / d - a b d' / d^2     if d > 0,
#     0,        a' b' / d'                           if d = 0: a and b are 0, as R is positive semidefinite.
#
# The first order that does not vanish is exact in both cases. The column's own noise is always left: d' >= noise.
# Reference: Griewank & Walther (2008), Evaluating Derivatives, section 3.1 (the forward mode).

cdef struct Dual:
    double value, slope


cdef struct Pivot:
    double of_values, of_values_in_slope, of_slopes     # factors of a b, of a b in the slope, and of a' b'


cdef inline double begin_pivot(const Dual *entry, bint is_determined, double noise, Pivot *pivot) noexcept nogil:
    # Returns d + d'. The value of a determined column is taken for 0: it is rounding.
    cdef double slope = max(entry.slope, noise)
    if is_determined:
        pivot.of_values = pivot.of_values_in_slope = 0.0
        pivot.of_slopes = 1.0 / slope
        return slope
    pivot.of_values = 1.0 / entry.value
    pivot.of_values_in_slope = slope * pivot.of_values * pivot.of_values
    pivot.of_slopes = 0.0
    return entry.value + slope


cdef inline void eliminate(const Pivot *pivot, const Dual *a, const Dual *b, Dual *target) noexcept nogil:
    target.value -= pivot.of_values * a.value * b.value
    target.slope -= pivot.of_values * (a.value * b.slope + a.slope * b.value) \
        - pivot.of_values_in_slope * a.value * b.value + pivot.of_slopes * a.slope * b.slope
