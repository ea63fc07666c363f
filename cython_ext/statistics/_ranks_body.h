/* Counts over tiles of comparison planes, included once per instruction set (without an include guard, on purpose). It
 * undefines the macros of the includer.
 *
 * The includer defines NAME(f), TARGET, vec, WORDS (64-bit words in a vec), FLUSH (vectors whose counts may be added
 * before they are widened), LOAD, ZERO, XOR, AND, COUNT (bits in each lane), ADD (of such counts), WIDEN (to lanes that
 * cannot overflow), ADD_WIDE, SUM (over those lanes), and CLEAN, TIED, KNOWN: the columns (rows, columns) of one register
 * tile for each of the three kinds of planes.
 */

/* found[a][b][.] += the counts of the pairs of columns (i + a, j + b), a < A, b < B, over words [begin, end). */
TARGET PGMX_INLINE void NAME(pgmx_register_tile)(const pgmx_comparisons *c, ptrdiff_t i, ptrdiff_t j, ptrdiff_t begin,
                                                 ptrdiff_t end, uint32_t (*found)[PGMX_TILE][4], const int A,
                                                 const int B, const int COUNTS) {
    vec wide[4][4][4];
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int k = 0; k < COUNTS; k++) wide[a][b][k] = ZERO();
    for (ptrdiff_t w = begin; w < end;) {
        ptrdiff_t stop = end - w > (ptrdiff_t)FLUSH * WORDS ? w + (ptrdiff_t)FLUSH * WORDS : end;
        vec sums[4][4][4];
        for (int a = 0; a < A; a++)
            for (int b = 0; b < B; b++)
                for (int k = 0; k < COUNTS; k++) sums[a][b][k] = ZERO();
        for (; w < stop; w += WORDS) {
            for (int a = 0; a < A; a++) {
                vec gx = LOAD(c->greater[i + a] + w), nx = gx, vx = gx;
                if (COUNTS > 1) nx = LOAD(c->untied[i + a] + w);
                if (COUNTS > 2) vx = LOAD(c->known[i + a] + w);
                for (int b = 0; b < B; b++) {
                    vec apart = XOR(gx, LOAD(c->greater[j + b] + w));
                    if (COUNTS > 1) {
                        vec ny = LOAD(c->untied[j + b] + w), both = AND(nx, ny);
                        sums[a][b][1] = ADD(sums[a][b][1], COUNT(both));
                        apart = AND(apart, both);
                        if (COUNTS > 2) {
                            sums[a][b][2] = ADD(sums[a][b][2], COUNT(AND(nx, LOAD(c->known[j + b] + w))));
                            sums[a][b][3] = ADD(sums[a][b][3], COUNT(AND(vx, ny)));
                        }
                    }
                    sums[a][b][0] = ADD(sums[a][b][0], COUNT(apart));
                }
            }
        }
        for (int a = 0; a < A; a++)
            for (int b = 0; b < B; b++)
                for (int k = 0; k < COUNTS; k++) wide[a][b][k] = ADD_WIDE(wide[a][b][k], WIDEN(sums[a][b][k]));
    }
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int k = 0; k < COUNTS; k++) found[a][b][k] += (uint32_t)SUM(wide[a][b][k]);
}

#define PGMX_REGISTER_TILES(A, B, COUNTS)                                                                              \
    for (int a = 0; a < PGMX_TILE; a += A)                                                                             \
        for (int b = 0; b < PGMX_TILE; b += B) {                                                                       \
            uint32_t part[PGMX_TILE][PGMX_TILE][4] = {{{0}}};                                                          \
            NAME(pgmx_register_tile)(c, i + a, j + b, begin, end, part, A, B, COUNTS);                                 \
            for (int k = 0; k < A; k++)                                                                                \
                for (int l = 0; l < B; l++)                                                                            \
                    for (int m = 0; m < COUNTS; m++) found[a + k][b + l][m] += part[k][l][m];                          \
        }
#define PGMX_TILES_OF(shape, counts) PGMX_REGISTER_TILES_(shape, counts)
#define PGMX_REGISTER_TILES_(A, B, COUNTS) PGMX_REGISTER_TILES(A, B, COUNTS)

/* found[a][b][.] += the counts of PGMX_TILE x PGMX_TILE pairs of columns. */
TARGET PGMX_UNUSED static void NAME(pgmx_tile)(const pgmx_comparisons *c, int kind, ptrdiff_t i, ptrdiff_t j,
                                               ptrdiff_t begin, ptrdiff_t end, uint32_t (*found)[PGMX_TILE][4]) {
    if (kind == PGMX_CLEAN) {
        PGMX_TILES_OF(CLEAN, 1)
    } else if (kind == PGMX_TIED) {
        PGMX_TILES_OF(TIED, 2)
    } else {
        PGMX_TILES_OF(KNOWN, 4)
    }
}

#undef PGMX_REGISTER_TILES
#undef PGMX_REGISTER_TILES_
#undef PGMX_TILES_OF
#undef NAME
#undef TARGET
#undef vec
#undef WORDS
#undef FLUSH
#undef LOAD
#undef ZERO
#undef XOR
#undef AND
#undef COUNT
#undef ADD
#undef WIDEN
#undef ADD_WIDE
#undef SUM
#undef CLEAN
#undef TIED
#undef KNOWN
