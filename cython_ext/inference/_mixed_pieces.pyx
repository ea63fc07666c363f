"""Missing values of rows under a conditional linear Gaussian network: expected counts and moments, draws, answers.

Problem: the missing values of a row form blocks that are independent given the row (`MissingBlock`). For each block:
the logarithm of the sum over its discrete and integral over its continuous variables of the product of its families;
the expected counts and moments of its families; joint draws; distributions of single variables; the states that are
most probable together, with continuous variables integrated out, and means given these.
Algorithm: continuous variables are integrated out for each configuration of the discrete variables that they depend on,
as a least-squares problem by Householder reflections. The remaining product of tables over discrete variables is
normalised in a junction tree, with one collection and one distribution of messages. The positions of the cells of one
table in another are listed once for all rows of a block.
Cost per row of a block with C cells in its cliques, Q configurations of the discrete parents of k continuous variables,
and E continuous families: O(C (discrete families) + Q E k^2). Memory: the values of one row, and an index for each cell
and family.
Thread-safety: an object serves one thread; inputs are only read; the GIL is released.
References: Lauritzen (1992), Journal of the American Statistical Association 87, 1098-1108; Lauritzen & Spiegelhalter
(1988), Journal of the Royal Statistical Society B 50, 157-224; Golub & Van Loan (2013), Matrix Computations,
algorithm 5.2.1.
"""

from libc.math cimport M_PI, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from _buffers cimport Buffer, release, reserve
from _piece_tables cimport (
    Clique, Component, Family, Member, collect, collect_maxima, distribute, list_places, share, solve_least_squares,
)


cdef class PieceSolver:
    """The blocks of missing values of rows, for all networks of one graph.

    Variables are given by index; continuous variables have 0 states. The discrete variables of family v are
    ``state_ids[state_begins[v] : state_begins[v + 1]]``, v first if it is discrete, with `strides` in its table. Its
    continuous parents are given by `float_ids` and `float_begins` in the same way. Its parameters begin at
    ``begins[v]``: the logarithms of its probabilities, or for each configuration the coefficients (intercept first)
    and the standard deviation. Its totals begin at ``total_begins[v]``: counts, or for each configuration the products
    of (1, continuous parents, child).

    The program of a block is a list of integers: the number of discrete variables, cliques, discrete families and
    components; the discrete variables and the clique of each; for each clique the number of its variables and of shared
    variables, its parent, and positions in the list of discrete variables; for each discrete family its child and
    clique; for each component the number of families, continuous and discrete variables, its clique (-1 without
    discrete variables), the children, the continuous variables, and positions in the list of discrete variables.
    """

    cdef readonly Py_ssize_t n_pieces
    cdef const int64_t[::1] cards, state_begins, state_ids, strides, float_begins, float_ids, begins, total_begins
    cdef const int64_t[::1] program, program_begins, rows, row_begins
    cdef int64_t[::1] local                   # index of a variable in the block, by its kind; -1: observed
    cdef int64_t[::1] card_of, step_of        # states and strides of the variables of a table
    cdef int64_t[::1] drawn
    cdef double[::1] vector                   # (1, continuous parents, child), or a distribution
    cdef Buffer clique_buffer, family_buffer, component_buffer, member_buffer, place_buffer, number_buffer
    # of the present block
    cdef Py_ssize_t n_states, n_cliques, n_families, n_components
    cdef const int64_t *states
    cdef const int64_t *homes
    cdef Clique *cliques
    cdef Family *families
    cdef Component *components
    cdef double *message
    cdef double *equations
    # of the present row
    cdef const double *parameters
    cdef const int64_t *codes
    cdef const double *numbers
    cdef Py_ssize_t n_rows

    def __init__(self, cards, state_begins, state_ids, strides, float_begins, float_ids, begins, total_begins,
                 program, program_begins, rows, row_begins):
        self.cards, self.begins, self.total_begins = cards, begins, total_begins
        self.state_begins, self.state_ids, self.strides = state_begins, state_ids, strides
        self.float_begins, self.float_ids = float_begins, float_ids
        self.program, self.program_begins = program, program_begins
        self.rows, self.row_begins = rows, row_begins
        self.n_pieces = self.row_begins.shape[0] - 1
        n = len(cards)
        self.local = np.full(n, -1, dtype=np.int64)
        self.card_of, self.step_of, self.drawn = (np.zeros(n + 1, dtype=np.int64) for _ in range(3))
        self.vector = np.zeros(n + 1 + max(cards, default=0))

    def __dealloc__(self):
        release(&self.clique_buffer)
        release(&self.family_buffer)
        release(&self.component_buffer)
        release(&self.member_buffer)
        release(&self.place_buffer)
        release(&self.number_buffer)

    # ---- a block ----

    cdef int set_piece(self, Py_ssize_t piece) except -1 nogil:
        """Read a block, and list the cell positions of its tables."""
        cdef const int64_t *at = &self.program[self.program_begins[piece]]
        cdef Py_ssize_t c, f, m, k, n_members = 0, n_places = 0, n_numbers = 0, longest = 1, largest = 1
        cdef Clique *clique
        cdef Component *component
        cdef int32_t *places
        cdef double *cells
        cdef Member *members
        self.n_states, self.n_cliques, self.n_families, self.n_components = at[0], at[1], at[2], at[3]
        self.states = at + 4
        self.homes = self.states + self.n_states
        at = self.homes + self.n_states
        self.cliques = <Clique *>reserve(&self.clique_buffer, (self.n_cliques + 1) * sizeof(Clique))
        self.families = <Family *>reserve(&self.family_buffer, (self.n_families + 1) * sizeof(Family))
        self.components = <Component *>reserve(&self.component_buffer, (self.n_components + 1) * sizeof(Component))
        for c in range(self.n_cliques):
            clique = &self.cliques[c]
            clique.n_vars, clique.n_shared, clique.parent, clique.vars = at[0], at[1], at[2], at + 3
            at += 3 + clique.n_vars
            clique.size = clique.shared_size = 1
            for k in range(clique.n_vars):
                clique.size *= self.cards[self.states[clique.vars[k]]]
                if k + 1 == clique.n_shared:
                    clique.shared_size = clique.size
            longest = max(longest, clique.shared_size)
            n_numbers += clique.size
            if clique.n_shared:
                n_places += self.cliques[clique.parent].size
        for f in range(self.n_families):
            self.families[f].v, self.families[f].clique = at[0], at[1]
            n_places += self.cliques[at[1]].size
            at += 2
        for c in range(self.n_components):
            component = &self.components[c]
            component.n_members, component.n_floats, component.n_scope, component.clique = at[0], at[1], at[2], at[3]
            component.floats = at + 4 + component.n_members
            component.scope = component.floats + component.n_floats
            component.n_cells = 1
            for k in range(component.n_scope):
                component.n_cells *= self.cards[self.states[component.scope[k]]]
            n_members += component.n_members
            n_numbers += component.n_cells * (2 + component.n_floats * (1 + component.n_floats))
            largest = max(largest, component.n_members * (component.n_floats + 1))
            n_places += component.n_cells * component.n_members
            if component.clique >= 0:
                n_places += self.cliques[component.clique].size
            at = component.scope + component.n_scope
        places = <int32_t *>reserve(&self.place_buffer, (n_places + 1) * sizeof(int32_t))
        cells = <double *>reserve(&self.number_buffer, (n_numbers + longest + largest) * sizeof(double))
        members = <Member *>reserve(&self.member_buffer, (n_members + 1) * sizeof(Member))
        self.message, self.equations = cells, cells + longest
        cells += longest + largest
        for k in range(self.n_states):
            self.local[self.states[k]] = k
        for c in range(self.n_components):
            component = &self.components[c]
            for k in range(component.n_floats):
                self.local[component.floats[k]] = k
        for c in range(self.n_cliques):
            clique = &self.cliques[c]
            clique.table = cells
            cells += clique.size
            if clique.n_shared:
                clique.above = places
                places += self.list_in_clique(clique.parent, clique.vars, clique.n_shared, places)
        for f in range(self.n_families):
            self.families[f].places = places
            clique = &self.cliques[self.families[f].clique]
            places += self.list_in_family(self.families[f].v, clique.vars, clique.n_vars, places)
        for c in range(self.n_components):
            component = &self.components[c]
            component.members = members
            at = component.floats - component.n_members
            for m in range(component.n_members):
                members[m].v, members[m].places = at[m], places
                places += self.list_in_family(at[m], component.scope, component.n_scope, places)
            members += component.n_members
            if component.clique >= 0:
                component.places = places
                places += self.list_in_clique(component.clique, component.scope, component.n_scope, places)
            component.evidence, component.shares = cells, cells + component.n_cells
            component.means = component.shares + component.n_cells
            component.roots = component.means + component.n_cells * component.n_floats
            cells = component.roots + component.n_cells * component.n_floats * component.n_floats
        return 0

    cdef void leave_piece(self) noexcept nogil:
        cdef Py_ssize_t c, k
        for k in range(self.n_states):
            self.local[self.states[k]] = -1
        for c in range(self.n_components):
            for k in range(self.components[c].n_floats):
                self.local[self.components[c].floats[k]] = -1

    cdef Py_ssize_t list_in_family(
        self, Py_ssize_t v, const int64_t *vars, Py_ssize_t n_vars, int32_t *places
    ) noexcept nogil:
        """List the cells of a family for all states of some variables; return their number."""
        cdef Py_ssize_t k, j, size = 1
        for k in range(n_vars):
            self.card_of[k], self.step_of[k] = self.cards[self.states[vars[k]]], 0
            size *= self.card_of[k]
            for j in range(self.state_begins[v], self.state_begins[v + 1]):
                if self.state_ids[j] == self.states[vars[k]]:
                    self.step_of[k] = self.strides[j]
        list_places(n_vars, &self.card_of[0], &self.step_of[0], places)
        return size

    cdef Py_ssize_t list_in_clique(
        self, Py_ssize_t c, const int64_t *vars, Py_ssize_t n_vars, int32_t *places
    ) noexcept nogil:
        """List the cells of a table over some variables for all states of a clique with them; return their number."""
        cdef const Clique *clique = &self.cliques[c]
        cdef Py_ssize_t k, j, step = 1
        for k in range(clique.n_vars):
            self.card_of[k], self.step_of[k] = self.cards[self.states[clique.vars[k]]], 0
        for j in range(n_vars - 1, -1, -1):
            for k in range(clique.n_vars):
                if clique.vars[k] == vars[j]:
                    self.step_of[k] = step
            step *= self.cards[self.states[vars[j]]]
        list_places(clique.n_vars, &self.card_of[0], &self.step_of[0], places)
        return clique.size

    # ---- a row ----

    cdef Py_ssize_t number_known(self, Py_ssize_t v, Py_ssize_t row) noexcept nogil:
        """Return the cell of a family for the row's observed states, with missing states set to 0."""
        cdef Py_ssize_t j, cell = 0
        for j in range(self.state_begins[v], self.state_begins[v + 1]):
            if self.local[self.state_ids[j]] < 0:
                cell += self.codes[self.state_ids[j] * self.n_rows + row] * self.strides[j]
        return cell

    cdef double solve_row(self, Py_ssize_t row) noexcept nogil:
        """Compute the distributions of the block in a row, and return its log-density; if it is -inf, tables are 0."""
        cdef Py_ssize_t c
        cdef double total = self.multiply_families(row)
        total += collect(self.cliques, self.n_cliques, self.message)
        distribute(self.cliques, self.n_cliques, self.message)
        for c in range(self.n_components):
            share(&self.components[c], self.cliques)
        return total

    cdef double multiply_families(self, Py_ssize_t row) noexcept nogil:
        """Set the tables of the cliques to logarithms; return the log-density of components without them."""
        cdef Py_ssize_t c, f, i
        cdef double total = 0.0
        cdef const double *logs
        cdef Clique *clique
        cdef Family *family
        cdef Component *component
        for c in range(self.n_cliques):
            memset(self.cliques[c].table, 0, self.cliques[c].size * sizeof(double))
        for f in range(self.n_families):
            family = &self.families[f]
            clique = &self.cliques[family.clique]
            family.base = self.number_known(family.v, row)
            logs = self.parameters + self.begins[family.v] + family.base
            for i in range(clique.size):
                clique.table[i] += logs[family.places[i]]
        for c in range(self.n_components):
            component = &self.components[c]
            self.integrate(component, row)
            if component.clique < 0:
                total += component.evidence[0]
                continue
            clique = &self.cliques[component.clique]
            for i in range(clique.size):
                clique.table[i] += component.evidence[component.places[i]]
        return total

    cdef void integrate(self, Component *component, Py_ssize_t row) noexcept nogil:
        """Integrate out the continuous variables of a component, for each configuration of its discrete variables."""
        cdef Py_ssize_t q, e, j, u, v, n_parents, k = component.n_floats
        cdef const double *family
        cdef double *equation
        cdef double scale, target
        cdef double constant = 0.5 * log(2.0 * M_PI) * (component.n_members - k)
        for e in range(component.n_members):
            component.members[e].base = self.number_known(component.members[e].v, row)
        for q in range(component.n_cells):
            component.evidence[q] = -constant
            memset(self.equations, 0, component.n_members * (k + 1) * sizeof(double))
            for e in range(component.n_members):
                v = component.members[e].v
                n_parents = self.float_begins[v + 1] - self.float_begins[v]
                family = self.parameters + self.begins[v] + (
                    component.members[e].base + component.members[e].places[q]) * (n_parents + 2)
                equation = self.equations + e * (k + 1)
                scale = 1.0 / family[n_parents + 1]
                component.evidence[q] += log(scale)
                target = family[0]
                if self.local[v] >= 0:
                    equation[self.local[v]] = scale
                else:
                    target -= self.numbers[v * self.n_rows + row]
                for j in range(n_parents):
                    u = self.float_ids[self.float_begins[v] + j]
                    if self.local[u] >= 0:
                        equation[self.local[u]] = -family[j + 1] * scale
                    else:
                        target += family[j + 1] * self.numbers[u * self.n_rows + row]
                equation[k] = target * scale
            component.evidence[q] -= 0.5 * solve_least_squares(
                self.equations, component.n_members, k, component.means + q * k, component.roots + q * k * k)

    # ---- queries ----

    cdef void set_rows(
        self, const double[::1] parameters, const int64_t[:, ::1] codes, const double[:, ::1] numbers
    ) noexcept nogil:
        self.parameters, self.codes, self.numbers = &parameters[0], &codes[0, 0], &numbers[0, 0]
        self.n_rows = codes.shape[1]

    def expect(
        self,
        Py_ssize_t first, Py_ssize_t last,    # blocks
        const double[::1] parameters,
        const int64_t[:, ::1] codes,          # (n, n_rows), of discrete variables
        const double[:, ::1] numbers,         # (n, n_rows), of continuous variables
        const double[::1] weights,            # (n_rows,); rows of weight 0 are left out
        double[::1] totals,                   # in and out: expected counts and moments are added
    ):
        """Add the expected counts and moments of the families of some blocks; return the log-density of all rows."""
        cdef Py_ssize_t piece, i, row
        cdef double log_density, total = 0.0
        with nogil:
            self.set_rows(parameters, codes, numbers)
            for piece in range(first, last):
                self.set_piece(piece)
                for i in range(self.row_begins[piece], self.row_begins[piece + 1]):
                    row = self.rows[i]
                    if weights[row] > 0.0:
                        log_density = self.solve_row(row)
                        total += weights[row] * log_density
                        self.add_expected(row, weights[row], &totals[0])
                self.leave_piece()
        return total

    cdef void add_expected(self, Py_ssize_t row, double weight, double *totals) noexcept nogil:
        cdef Py_ssize_t f, c, e, q, i
        cdef const Family *family
        cdef const Clique *clique
        cdef double *cells
        for f in range(self.n_families):
            family = &self.families[f]
            clique = &self.cliques[family.clique]
            cells = totals + self.total_begins[family.v] + family.base
            for i in range(clique.size):
                cells[family.places[i]] += weight * clique.table[i]
        for c in range(self.n_components):
            for q in range(self.components[c].n_cells):
                if self.components[c].shares[q] > 0.0:
                    for e in range(self.components[c].n_members):
                        self.add_moments(&self.components[c], e, q, row, weight * self.components[c].shares[q], totals)

    cdef void add_moments(
        self, const Component *component, Py_ssize_t e, Py_ssize_t q, Py_ssize_t row, double weight, double *totals
    ) noexcept nogil:
        """Add the products of (1, continuous parents, child) of a family under a configuration."""
        cdef Py_ssize_t v = component.members[e].v, first = self.float_begins[v], i, j, s, left, right
        cdef Py_ssize_t k = component.n_floats, width = self.float_begins[v + 1] - first + 2
        cdef const double *root = component.roots + q * k * k
        cdef double *products = totals + self.total_begins[v] + (
            component.members[e].base + component.members[e].places[q]) * width * width
        cdef double product
        self.vector[0] = 1.0
        for i in range(1, width):
            left = self.float_ids[first + i - 1] if i < width - 1 else v
            if self.local[left] >= 0:
                self.vector[i] = component.means[q * k + self.local[left]]
            else:
                self.vector[i] = self.numbers[left * self.n_rows + row]
        for i in range(width):
            left = -1
            if i:
                left = self.local[self.float_ids[first + i - 1] if i < width - 1 else v]
            for j in range(i + 1):
                product = self.vector[i] * self.vector[j]
                if left >= 0 and j:
                    right = self.local[self.float_ids[first + j - 1] if j < width - 1 else v]
                    if right >= 0:
                        for s in range(max(left, right), k):
                            product += root[left * k + s] * root[right * k + s]
                products[i * width + j] += weight * product
                if i != j:
                    products[j * width + i] += weight * product

    def draw(
        self,
        Py_ssize_t first, Py_ssize_t last,    # blocks
        const double[::1] parameters,
        const int64_t[:, ::1] codes,
        const double[:, ::1] numbers,
        const int64_t[::1] places,            # (n_rows,), indices of the rows among the L incomplete rows
        const double[:, :, ::1] uniforms,     # (discrete columns, L, D), in [0, 1)
        const double[:, ::1] normals,         # (m, D)
        const int64_t[:, ::1] ranks,          # (n, L): columns of `uniforms` (discrete), rows of `normals` (continuous)
        int64_t[:, ::1] drawn_codes,          # out: (n, L D)
        double[:, ::1] drawn_numbers,         # out: (n, L D)
    ):
        """Draw the missing values of some blocks jointly, D times for each row."""
        cdef Py_ssize_t piece, i, d, n_draws = uniforms.shape[2]
        with nogil:
            self.set_rows(parameters, codes, numbers)
            for piece in range(first, last):
                self.set_piece(piece)
                for i in range(self.row_begins[piece], self.row_begins[piece + 1]):
                    self.solve_row(self.rows[i])
                    for d in range(n_draws):
                        self.draw_once(places[self.rows[i]], d, uniforms, normals, ranks, drawn_codes, drawn_numbers)
                self.leave_piece()

    cdef Py_ssize_t locate(self, const int64_t *variables, Py_ssize_t n) noexcept nogil:
        """Return the cell of the drawn states of some variables."""
        cdef Py_ssize_t k, cell = 0
        for k in range(n):
            cell = cell * self.cards[self.states[variables[k]]] + self.drawn[variables[k]]
        return cell

    cdef void draw_once(
        self, Py_ssize_t place, Py_ssize_t d, const double[:, :, ::1] uniforms, const double[:, ::1] normals,
        const int64_t[:, ::1] ranks, int64_t[:, ::1] drawn_codes, double[:, ::1] drawn_numbers,
    ) noexcept nogil:
        cdef Py_ssize_t c, k, j, q, cell, rest, out = place * normals.shape[1] + d
        cdef double left
        cdef const double *cells
        cdef const double *root
        cdef const Clique *clique
        cdef const Component *component
        for c in range(self.n_cliques):
            clique = &self.cliques[c]
            rest = clique.size // clique.shared_size
            cells = clique.table + self.locate(clique.vars, clique.n_shared) * rest
            left = 0.0
            for cell in range(rest):
                left += cells[cell]
            left *= uniforms[ranks[self.states[clique.vars[clique.n_shared]], place], place, d]
            cell = 0
            while cell < rest - 1 and left >= cells[cell]:
                left -= cells[cell]
                cell += 1
            for k in range(clique.n_vars - 1, clique.n_shared - 1, -1):
                j = self.cards[self.states[clique.vars[k]]]
                self.drawn[clique.vars[k]] = cell % j
                cell //= j
        for k in range(self.n_states):
            drawn_codes[self.states[k], out] = self.drawn[k]
        for c in range(self.n_components):
            component = &self.components[c]
            q = self.locate(component.scope, component.n_scope)
            root = component.roots + q * component.n_floats * component.n_floats
            for k in range(component.n_floats):
                left = component.means[q * component.n_floats + k]
                for j in range(k, component.n_floats):
                    left += root[k * component.n_floats + j] * normals[ranks[component.floats[j], place], d]
                drawn_numbers[component.floats[k], out] = left

    def impute(
        self,
        Py_ssize_t first, Py_ssize_t last,    # blocks
        const double[::1] parameters,
        const int64_t[:, ::1] codes,
        const double[:, ::1] numbers,
        int64_t[:, ::1] filled_codes,         # out: (n, n_rows)
        double[:, ::1] filled_numbers,        # out: (n, n_rows)
    ):
        """Fill the missing values of some blocks with the most probable states and the means."""
        cdef Py_ssize_t piece, i
        with nogil:
            self.set_rows(parameters, codes, numbers)
            for piece in range(first, last):
                self.set_piece(piece)
                for i in range(self.row_begins[piece], self.row_begins[piece + 1]):
                    self.solve_row(self.rows[i])
                    self.fill(self.rows[i], filled_codes, filled_numbers)
                self.leave_piece()

    cdef Py_ssize_t sum_states(self, Py_ssize_t k) noexcept nogil:
        """Set `vector` to the distribution of a discrete variable of the block; return its number of states."""
        cdef const Clique *clique = &self.cliques[self.homes[k]]
        cdef Py_ssize_t i = -1, card = self.cards[self.states[k]], step = clique.size
        while i < 0 or clique.vars[i] != k:
            i += 1
            step //= self.cards[self.states[clique.vars[i]]]
        memset(&self.vector[0], 0, card * sizeof(double))
        for i in range(clique.size):
            self.vector[i // step % card] += clique.table[i]
        return card

    cdef void fill(self, Py_ssize_t row, int64_t[:, ::1] filled_codes, double[:, ::1] filled_numbers) noexcept nogil:
        cdef Py_ssize_t k, i, c, q, card, best
        cdef double mean, total
        cdef const Component *component
        for k in range(self.n_states):
            card = self.sum_states(k)
            best = 0
            for i in range(1, card):
                if self.vector[i] > self.vector[best]:
                    best = i
            filled_codes[self.states[k], row] = best
        for c in range(self.n_components):
            component = &self.components[c]
            for k in range(component.n_floats):
                mean = total = 0.0
                for q in range(component.n_cells):
                    mean += component.shares[q] * component.means[q * component.n_floats + k]
                    total += component.shares[q]
                # an impossible row, of weight 0, has no distribution
                filled_numbers[component.floats[k], row] = mean / total if total > 0.0 else component.means[k]

    def describe(
        self,
        Py_ssize_t first, Py_ssize_t last,    # blocks
        const double[::1] parameters,
        const int64_t[:, ::1] codes,
        const double[:, ::1] numbers,
        const int64_t[::1] columns,           # (n,): first row of `answers` of each variable, -1: not wanted
        double[:, ::1] answers,               # out: (m, n_rows), probabilities, or mean and variance
        double[::1] log_densities,            # in and out: (n_rows,), to which those of the blocks are added
    ):
        """Compute the distribution of each missing value of some blocks."""
        cdef Py_ssize_t piece, i
        with nogil:
            self.set_rows(parameters, codes, numbers)
            for piece in range(first, last):
                self.set_piece(piece)
                for i in range(self.row_begins[piece], self.row_begins[piece + 1]):
                    log_densities[self.rows[i]] += self.solve_row(self.rows[i])
                    self.write_moments(self.rows[i], columns, answers)
                self.leave_piece()

    cdef void write_moments(self, Py_ssize_t row, const int64_t[::1] columns, double[:, ::1] answers) noexcept nogil:
        cdef Py_ssize_t k, i, j, c, q, n, at
        cdef double mean, variance, spread
        cdef const double *root
        cdef const Component *component
        for k in range(self.n_states):
            at = columns[self.states[k]]
            if at >= 0:
                for i in range(self.sum_states(k)):
                    answers[at + i, row] = self.vector[i]
        for c in range(self.n_components):
            component, n = &self.components[c], self.components[c].n_floats
            for k in range(n):
                at = columns[component.floats[k]]
                if at < 0:
                    continue
                mean = variance = 0.0
                for q in range(component.n_cells):
                    mean += component.shares[q] * component.means[q * n + k]
                for q in range(component.n_cells):
                    root = component.roots + (q * n + k) * n
                    spread = (component.means[q * n + k] - mean) * (component.means[q * n + k] - mean)
                    for j in range(k, n):
                        spread += root[j] * root[j]
                    variance += component.shares[q] * spread
                answers[at, row], answers[at + 1, row] = mean, variance

    def maximise(
        self,
        Py_ssize_t first, Py_ssize_t last,    # blocks
        const double[::1] parameters,
        const int64_t[:, ::1] codes,
        const double[:, ::1] numbers,
        int64_t[:, ::1] filled_codes,         # out: (n, n_rows)
        double[:, ::1] filled_numbers,        # out: (n, n_rows)
        double[::1] log_maxima,               # in and out: (n_rows,), to which those of the blocks are added
    ):
        """Fill some blocks with the states that are most probable together, and means given them; ties: first cell."""
        cdef Py_ssize_t piece, i
        with nogil:
            self.set_rows(parameters, codes, numbers)
            for piece in range(first, last):
                self.set_piece(piece)
                for i in range(self.row_begins[piece], self.row_begins[piece + 1]):
                    log_maxima[self.rows[i]] += self.multiply_families(self.rows[i])
                    log_maxima[self.rows[i]] += collect_maxima(self.cliques, self.n_cliques, self.message)
                    self.trace(self.rows[i], filled_codes, filled_numbers)
                self.leave_piece()

    cdef void trace(self, Py_ssize_t row, int64_t[:, ::1] filled_codes, double[:, ::1] filled_numbers) noexcept nogil:
        cdef Py_ssize_t c, k, q, cell, best, rest, card
        cdef const double *cells
        cdef const Clique *clique
        cdef const Component *component
        for c in range(self.n_cliques):
            clique, best = &self.cliques[c], 0
            rest = clique.size // clique.shared_size
            cells = clique.table + self.locate(clique.vars, clique.n_shared) * rest
            for cell in range(1, rest):
                if cells[cell] > cells[best]:
                    best = cell
            for k in range(clique.n_vars - 1, clique.n_shared - 1, -1):
                card = self.cards[self.states[clique.vars[k]]]
                self.drawn[clique.vars[k]] = best % card
                best //= card
        for k in range(self.n_states):
            filled_codes[self.states[k], row] = self.drawn[k]
        for c in range(self.n_components):
            component = &self.components[c]
            q = self.locate(component.scope, component.n_scope)
            for k in range(component.n_floats):
                filled_numbers[component.floats[k], row] = component.means[q * component.n_floats + k]
