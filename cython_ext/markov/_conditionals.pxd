# The passes over conditional distributions of _conditionals.h, in single and in double precision.

from libc.stdint cimport uint8_t, uint16_t


cdef extern from "_conditionals.h" nogil:
    int PGMX_FEW
    float PGMX_UNITS
    void pgmx_moments_few(const float **p, int n_states, const uint8_t *codes, int n_codes, Py_ssize_t n_rows,
                          double *out, Py_ssize_t stride)
    void pgmx_moments_u8(const float **p, Py_ssize_t n_states, const uint8_t *codes, Py_ssize_t n_rows, double *out,
                         Py_ssize_t stride)
    void pgmx_moments_u16(const float **p, Py_ssize_t n_states, const uint16_t *codes, Py_ssize_t n_rows, double *out,
                          Py_ssize_t stride)
    void pgmx_shift_few(float **p, int n_states, const float *table, const uint8_t *codes, const float *weights,
                        float one, Py_ssize_t n_rows, double *totals, double *drift)
    void pgmx_shift_u8(float **p, Py_ssize_t n_states, const float *table, Py_ssize_t stride, const uint8_t *codes,
                       const float *weights, float one, Py_ssize_t first, Py_ssize_t n_rows, double *totals,
                       double *drift)
    void pgmx_shift_u16(float **p, Py_ssize_t n_states, const float *table, Py_ssize_t stride, const uint16_t *codes,
                        const float *weights, float one, Py_ssize_t first, Py_ssize_t n_rows, double *totals,
                        double *drift)
    double pgmx_log_sum_few(const float **p, int n_states, const uint8_t *codes, const float *weights, float one,
                            Py_ssize_t n_rows)
    double pgmx_log_sum_u8(const float **p, const uint8_t *codes, const float *weights, float one, Py_ssize_t first,
                           Py_ssize_t n_rows)
    double pgmx_log_sum_u16(const float **p, const uint16_t *codes, const float *weights, float one, Py_ssize_t first,
                            Py_ssize_t n_rows)
    void pgmx_moments_u8_double(const double **p, Py_ssize_t n_states, const uint8_t *codes, Py_ssize_t n_rows,
                                double *out, Py_ssize_t stride)
    void pgmx_moments_u16_double(const double **p, Py_ssize_t n_states, const uint16_t *codes, Py_ssize_t n_rows,
                                 double *out, Py_ssize_t stride)
    void pgmx_shift_u8_double(double **p, Py_ssize_t n_states, const double *table, Py_ssize_t stride,
                              const uint8_t *codes, const double *weights, double one, Py_ssize_t first,
                              Py_ssize_t n_rows, double *totals, double *drift)
    void pgmx_shift_u16_double(double **p, Py_ssize_t n_states, const double *table, Py_ssize_t stride,
                               const uint16_t *codes, const double *weights, double one, Py_ssize_t first,
                               Py_ssize_t n_rows, double *totals, double *drift)
    double pgmx_log_sum_u8_double(const double **p, const uint8_t *codes, const double *weights, double one,
                                  Py_ssize_t first, Py_ssize_t n_rows)
    double pgmx_log_sum_u16_double(const double **p, const uint16_t *codes, const double *weights, double one,
                                   Py_ssize_t first, Py_ssize_t n_rows)
