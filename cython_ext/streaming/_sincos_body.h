/* Bodies of one level of _sincos.h, which defines PGMX_SUFFIX, PGMX_LEVEL_TARGET and PGMX_VECTOR_BYTES.
 *
 * Sums have PGMX_LANES partial sums in every level, in vectors of the level's width: the same bits.
 */
#define PGMX_WIDTH (PGMX_VECTOR_BYTES / 8)
#define PGMX_VECTORS (PGMX_LANES / PGMX_WIDTH)
#define PGMX_VEC PGMX_NAME(pgmx_vec, PGMX_SUFFIX)
#define PGMX_TILE_OF PGMX_NAME(pgmx_tile, PGMX_SUFFIX)
#define PGMX_ROWS (PGMX_VECTOR_BYTES / 16) /* rows whose sums stay in registers together */

#if defined(__GNUC__) || defined(__clang__)
typedef double PGMX_VEC __attribute__((vector_size(PGMX_VECTOR_BYTES)));
#define PGMX_ADD_PRODUCT(sum, a, b) ((sum) += (a) * (b))
#define PGMX_ADD_SCALED(sum, x, b) ((sum) += (x) * (b))
#else
typedef struct {
    double at[PGMX_WIDTH];
} PGMX_VEC;
#define PGMX_ADD_PRODUCT(sum, a, b)                                                                                    \
    for (int lane = 0; lane < PGMX_WIDTH; lane++) (sum).at[lane] += (a).at[lane] * (b).at[lane]
#define PGMX_ADD_SCALED(sum, x, b)                                                                                     \
    for (int lane = 0; lane < PGMX_WIDTH; lane++) (sum).at[lane] += (x) * (b).at[lane]
#endif

PGMX_LEVEL_TARGET PGMX_UNUSED static void PGMX_NAME(pgmx_sincos, PGMX_SUFFIX)(const double *restrict a,
                                                                              double *restrict s, double *restrict c,
                                                                              ptrdiff_t n) {
    pgmx_sincos_body(a, s, c, n);
}

/* R rows against one tile of columns. */
PGMX_LEVEL_TARGET PGMX_INLINE void PGMX_TILE_OF(const double *x, ptrdiff_t d, const double *v, ptrdiff_t width,
                                                double *a, const int R) {
    PGMX_VEC sums[PGMX_ROWS][PGMX_TILE / PGMX_WIDTH], column;
    memset(sums, 0, sizeof(sums));
    for (ptrdiff_t k = 0; k < d; k++)
        for (int j = 0; j < PGMX_TILE / PGMX_WIDTH; j++) {
            memcpy(&column, v + k * width + j * PGMX_WIDTH, sizeof(column));
            for (int r = 0; r < R; r++) {
                PGMX_ADD_SCALED(sums[r][j], x[r * d + k], column);
            }
        }
    for (int r = 0; r < R; r++) memcpy(a + r * width, sums[r], sizeof(sums[r]));
}

PGMX_LEVEL_TARGET PGMX_UNUSED static void PGMX_NAME(pgmx_project, PGMX_SUFFIX)(const double *x, ptrdiff_t n_rows,
                                                                               ptrdiff_t d, const double *v,
                                                                               ptrdiff_t width, double *a) {
    for (ptrdiff_t i = 0; i < width; i += PGMX_TILE) { /* a tile stays in the cache while the rows pass */
        ptrdiff_t r = 0;
        for (; r + PGMX_ROWS <= n_rows; r += PGMX_ROWS)
            PGMX_TILE_OF(x + r * d, d, v + i, width, a + r * width + i, PGMX_ROWS);
        for (; r < n_rows; r++) PGMX_TILE_OF(x + r * d, d, v + i, width, a + r * width + i, 1);
    }
}

PGMX_LEVEL_TARGET PGMX_UNUSED static double PGMX_NAME(pgmx_dot, PGMX_SUFFIX)(const double *a, const double *b,
                                                                             ptrdiff_t n) {
    double sums[PGMX_LANES];
    PGMX_VEC totals[PGMX_VECTORS], first, second;
    memset(totals, 0, sizeof(totals));
    for (ptrdiff_t i = 0; i < n; i += PGMX_LANES)
        for (int j = 0; j < PGMX_VECTORS; j++) {
            memcpy(&first, a + i + j * PGMX_WIDTH, sizeof(first));
            memcpy(&second, b + i + j * PGMX_WIDTH, sizeof(second));
            PGMX_ADD_PRODUCT(totals[j], first, second);
        }
    memcpy(sums, totals, sizeof(sums));
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

PGMX_LEVEL_TARGET PGMX_UNUSED static void PGMX_NAME(pgmx_shift, PGMX_SUFFIX)(double *restrict a,
                                                                             const double *restrict b, double keep,
                                                                             double g, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) a[i] = keep * a[i] + g * b[i];
}

#undef PGMX_WIDTH
#undef PGMX_VECTORS
#undef PGMX_VEC
#undef PGMX_TILE_OF
#undef PGMX_ROWS
#undef PGMX_ADD_PRODUCT
#undef PGMX_ADD_SCALED
#undef PGMX_SUFFIX
#undef PGMX_LEVEL_TARGET
#undef PGMX_VECTOR_BYTES
