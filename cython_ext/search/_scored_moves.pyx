"""The moves of a graph with its gains and scores, trial climbs, and undo.

Problem: a search that changes a graph, climbs and undoes the changes makes thousands of moves, most of them to families
that it has seen before, so that the overhead per move matters more than the scores.
Algorithm: a table by child and parents caches the rows of gains; the source is used only for new rows.
After ``mark``, the moves and the rows that they replaced are kept, so that ``undo`` needs no scores.
If counts are remote, all rows that a move touches are requested in one message. A climb also requests the rows after
the next best additions: a child keeps its best addition until it is touched, so that most of these rows are used.
Cost per child that a move changes: a look-up, and O(n) to copy a row and to find its largest gain; in addition, the
choice of the move (``_dag_moves``).
Thread-safety: an object serves one thread; over a compiled source it releases the GIL while it climbs and scores.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport INFINITY
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from _dag cimport bit, rebuild_stale
from _expected_moves cimport list_additions_ahead, list_draws

from pgmx._ext._dag_moves cimport C_ADD, C_DELETE, C_REVERSE, DagMoves, Move
from pgmx._ext._row_cache cimport MOST_AHEAD, CachedScorer
from pgmx._ext._scorer cimport ALL, Family, Scorer

cdef extern from "_atomic.h" nogil:
    int64_t pgmx_take_next(int64_t *counter)

cdef enum:
    AHEAD = 4                   # rows that a climb prefetches from a remote source: 1 to 8 % are not used
    MOST_SPARE_ROWS = 64


cdef struct Replaced:           # state of a child at the last mark
    int child
    double *row
    double score, top


cdef struct Mark:               # the graph to which `undo` returns
    bint is_set, is_free        # is_free: no move was barred
    Replaced *replaced          # the children that were rescored
    Py_ssize_t n_replaced
    char *is_replaced           # by child
    double *bound               # by child, as the queue had them
    double *most
    double **spare              # rows for the next children
    Py_ssize_t n_spare


cdef class ScoredMoves(DagMoves):
    """A directed acyclic graph, its legal moves, and its gains and scores, which are updated with the graph.

    The parameters are those of ``DagMoves``, but the rows of ``gains`` are written. Call ``follow`` first.
    """

    cdef object source, gain_array
    cdef dict rows
    cdef Scorer scorer              # the source if it is compiled, else None
    cdef CachedScorer cached        # the same if it caches rows
    cdef double[::1] scores
    cdef Mark past
    cdef Move *log                  # the moves since the mark
    cdef Family *ahead              # families to request from a remote source, and the parents of missing ones
    cdef int *parents_ahead
    cdef Py_ssize_t n_logged, room

    def follow(self, source, gains, double[::1] scores, dict rows=None):
        """Update the rows of ``gains``, the array of the queue, and the ``scores``, float64 (n,), from a source.

        ``rows`` is the cache of the source: the key is the bytes of the child and its parents as int32, the value the
        bytes of n gains and the score (``pgmx.scores.gains``).
        """
        self.source, self.gain_array, self.scores, self.rows = source, gains, scores, rows
        self.scorer = source if isinstance(source, Scorer) else None
        self.cached = source if isinstance(source, CachedScorer) else None
        free(self.ahead)
        free(self.parents_ahead)
        self.ahead = <Family *>malloc((self.n + MOST_AHEAD) * sizeof(Family))
        self.parents_ahead = <int *>malloc(MOST_AHEAD * self.n * sizeof(int))
        if self.ahead == NULL or self.parents_ahead == NULL:
            raise MemoryError(f"cannot follow the gains of {self.n} variables")

    def __dealloc__(self):
        cdef Py_ssize_t i
        self.forget_mark()
        for i in range(self.past.n_spare):
            free(self.past.spare[i])
        free(self.past.replaced)
        free(self.past.is_replaced)
        free(self.past.bound)
        free(self.past.most)
        free(self.past.spare)
        free(self.log)
        free(self.ahead)
        free(self.parents_ahead)

    # ---- changes of the graph ----

    def make(self, int op, Py_ssize_t tail, Py_ssize_t head, double least_gain=INFINITY):
        """Make a legal move and update gains and scores.

        From a remote source, the rows after additions that gain ``least_gain`` are prefetched.
        """
        with nogil:
            self.make_scored(op, tail, head, least_gain)

    def make_drawn(
        self, int op, Py_ssize_t tail, Py_ssize_t head, double temperature, Py_ssize_t n_draws, uint64_t word
    ):
        """Make a legal move that ``draw`` accepted, with ``n_draws`` to come at this temperature, from ``word`` on.

        From a remote source, the rows after the moves that these draws will probably accept are prefetched.
        """
        cdef Move made = Move(op, <int>tail, <int>head, 0.0)
        cdef Py_ssize_t n
        with nogil:
            self.make_move(op, tail, head)
            self.log_move(op, tail, head)
            if self.scorer is not None and self.scorer.is_far:
                n = list_draws(self, made, temperature, n_draws, word, self.ahead, self.parents_ahead)
                self.scorer.expect(self.ahead, 2 if op == C_REVERSE else 1, n)
            self.rescore_child(head)
            if op == C_REVERSE:
                self.rescore_child(tail)

    def insert_unscored(self, Py_ssize_t tail, Py_ssize_t head):
        """Add an arc as ``insert_edge`` does; the caller then calls ``rescore`` for its head."""
        self.insert_edge(tail, head)
        self.log_move(C_ADD, tail, head)

    def delete_unscored(self, Py_ssize_t tail, Py_ssize_t head):
        """Delete an arc as ``delete_edge`` does; the caller then calls ``rescore`` for its head."""
        self.delete_edge(tail, head)
        self.log_move(C_DELETE, tail, head)

    def rescore(self, const int64_t[::1] children):
        """Update the gains and the scores of ``children``."""
        cdef Py_ssize_t i, n = 0
        with nogil:
            for i in range(children.shape[0]):
                n = self.expect_child(n, children[i])
            self.rescore_expected(n)

    def climb(
        self, double least_gain, Py_ssize_t most_moves, Py_ssize_t most_rows=1, double[:, ::1] trace=None
    ) -> tuple:
        """Make the best move until none gains ``least_gain``; return the number of moves, and whether none is left.

        It ends early after ``most_moves``, or after ``most_rows`` new rows from the source, so that the caller can
        check the time limit. After each move the scores and the number of arcs are written to its row of ``trace``,
        (most_moves, n + 1).
        """
        cdef Move move
        cdef Py_ssize_t made = 0, rows = 0
        cdef bint is_optimum = False
        with nogil:
            while True:
                self.find_best(&move, least_gain)
                if move.op < 0 or move.gain < least_gain:
                    is_optimum = True
                    break
                if made == most_moves or rows >= most_rows:
                    break
                rows += self.make_scored(move.op, move.tail, move.head, least_gain)
                if trace is not None:
                    memcpy(&trace[made, 0], &self.scores[0], self.n * sizeof(double))
                    trace[made, self.n] = <double>self.dag.n_edges
                made += 1
        return made, is_optimum

    def try_blocks(
        self,
        const int[::1] nodes,           # in: nodes of all blocks, one block after the other
        const int64_t[::1] begins,      # in: (blocks + 1,) offsets of the blocks
        int64_t[::1] next_block,        # in and out: (1,) index of the next block, shared by all threads
        double least_gain,              # in: as for ``climb``
        double better,                  # in: the score, without the prior of the empty graph, that is a success
        Py_ssize_t most_rows,           # in: a trial is given up after this total number of new rows
        int64_t[::1] n_moves,           # out: by block, the moves of its trial
        int64_t[::1] success,           # in and out: index of a block that succeeded; later ones are not tried
    ) -> tuple:
        """Remove all arcs at a block of nodes, except required ones, and climb; repeat until a score is better.

        Each trial begins at the present graph. Return ``(success, given up, blocks tried)``, the first two are indices
        of blocks or -1. After a success the graph is kept, and the mark is at the graph before the trial. Otherwise the
        graph is unchanged, with no move barred. The source is compiled.
        """
        cdef Py_ssize_t k, rows = 0, winner = -1, given_up = -1, n_tried = 0, n_cut, i
        cdef bint is_optimum
        cdef double total
        with nogil:
            while True:
                k = pgmx_take_next(&next_block[0])
                if k >= begins.shape[0] - 1 or k >= success[0]:
                    break
                n_tried += 1
                self.begin_mark()
                n_cut = self.cut_block(&nodes[0] + begins[k], begins[k + 1] - begins[k], &rows)
                n_moves[k] = 0
                is_optimum = n_cut == 0
                while not is_optimum and rows < most_rows:
                    is_optimum = self.climb_once(least_gain, &rows, &n_moves[k])
                self.allow_all()
                if not is_optimum:
                    given_up = k
                    self.go_back()
                    break
                total = self.dag.n_edges * self.bonus[C_ADD]
                for i in range(self.n):
                    total += self.scores[i]
                if n_cut > 0 and total > better:
                    success[0] = min(success[0], k)
                    winner = k
                    break
                self.go_back()
        return winner, given_up, n_tried

    cdef bint climb_once(self, double least_gain, Py_ssize_t *rows, int64_t *n_moves) except -1 nogil:
        # Makes the best move, a barred one if no other gains; returns whether there is none.
        cdef Move move
        self.find_best(&move, least_gain)
        if move.op < 0 or move.gain < least_gain:
            return not self.allow_all()
        rows[0] += self.make_scored(move.op, move.tail, move.head, least_gain)
        n_moves[0] += 1
        return False

    cdef Py_ssize_t cut_block(self, const int *block, Py_ssize_t size, Py_ssize_t *rows) except -1 nogil:
        # Deletes the arcs at some nodes, except required ones; returns their number.
        cdef Py_ssize_t v, i, j, n_cut = 0, n_of_v, k, n_touched = 0
        cdef bint is_in, is_cut
        for v in range(self.n):
            is_in = False
            for j in range(size):
                is_in |= block[j] == v
            n_of_v, i = 0, 0
            while i < self.dag.n_parents[v]:
                k = self.dag.parents[v][i]
                is_cut = is_in
                for j in range(size):
                    is_cut |= block[j] == k
                if is_cut and not (self.required != NULL and bit(self.required + v * self.dag.words, k)):
                    self.remove_later(k, v)
                    self.log_move(C_DELETE, k, v)
                    n_of_v += 1
                else:
                    i += 1
            if n_of_v > 0:
                n_touched = self.expect_child(n_touched, v)
                n_cut += n_of_v
        rebuild_stale(&self.dag)
        rows[0] += self.rescore_expected(n_touched)
        return n_cut

    # ---- undo ----

    def mark(self):
        """Store the present graph."""
        self.begin_mark()

    cdef int begin_mark(self) except -1 nogil:
        cdef Mark *past = &self.past
        self.forget_mark()
        if past.replaced == NULL:
            self.allocate_mark()
        memcpy(past.bound, self.bound, self.n * sizeof(double))
        memcpy(past.most, self.most, self.n * sizeof(double))
        past.is_set, past.is_free = True, self.tabu_filled == 0
        return 0

    cdef int allocate_mark(self) except -1 nogil:
        cdef Mark *past = &self.past
        free(past.is_replaced)  # an attempt that failed
        free(past.bound)
        free(past.most)
        free(past.spare)
        past.is_replaced = <char *>calloc(self.n + 1, 1)
        past.bound = <double *>malloc((self.n + 1) * sizeof(double))
        past.most = <double *>malloc((self.n + 1) * sizeof(double))
        past.spare = <double **>malloc(MOST_SPARE_ROWS * sizeof(double *))
        if past.is_replaced and past.bound and past.most and past.spare:
            past.replaced = <Replaced *>calloc(self.n + 1, sizeof(Replaced))
        if past.replaced == NULL:
            with gil:
                raise MemoryError(f"cannot remember a graph of {self.n} variables")
        return 0

    def accept(self):
        """Keep the present graph: the mark is dropped."""
        self.forget_mark()

    def undo(self):
        """Return to the graph of the last ``mark``, without rescoring."""
        self.go_back()

    cdef int go_back(self) except -1 nogil:
        cdef Move *move
        cdef Mark *past = &self.past
        cdef Replaced *replaced
        cdef Py_ssize_t i, v
        while self.n_logged > 0:
            self.n_logged -= 1
            move = self.log + self.n_logged
            if move.op == C_ADD:
                self.remove_later(move.tail, move.head)
                continue
            if move.op == C_REVERSE:
                self.remove_later(move.head, move.tail)
            rebuild_stale(&self.dag)
            self.insert(move.tail, move.head)
        rebuild_stale(&self.dag)
        for i in range(past.n_replaced):
            replaced = past.replaced + i
            v = replaced.child
            memcpy(&self.gains[v, 0], replaced.row, self.n * sizeof(double))
            self.scores[v], self.top[v] = replaced.score, replaced.top
        if past.is_set:
            self.recall_queue()
        self.forget_mark()
        return 0

    cdef void recall_queue(self) noexcept nogil:
        # Restores the queue of the mark's graph; bounds of additions are not valid if other moves were barred.
        cdef Mark *past = &self.past
        cdef Py_ssize_t v
        memcpy(self.most, past.most, self.n * sizeof(double))
        if past.is_free and self.tabu_filled == 0:
            memcpy(self.bound, past.bound, self.n * sizeof(double))
        else:
            for v in range(self.n):
                self.forget_legal(v)

    def ends_since_mark(self):
        """Return the ends of all arcs touched since ``mark``, a set."""
        cdef Py_ssize_t i
        ends = set()
        for i in range(self.n_logged):
            ends.add(self.log[i].tail)
            ends.add(self.log[i].head)
        return ends

    cdef void forget_mark(self) noexcept nogil:
        cdef Mark *past = &self.past
        cdef Replaced *replaced
        while past.n_replaced > 0:
            past.n_replaced -= 1
            replaced = past.replaced + past.n_replaced
            past.is_replaced[replaced.child] = False
            if past.n_spare < MOST_SPARE_ROWS:
                past.spare[past.n_spare] = replaced.row
                past.n_spare += 1
            else:
                free(replaced.row)
        past.is_set = False
        self.n_logged = 0

    cdef int log_move(self, int op, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        cdef Move *wider
        if not self.past.is_set:
            return 0
        if self.n_logged == self.room:
            wider = <Move *>realloc(self.log, (2 * self.room + 16) * sizeof(Move))
            if wider == NULL:
                with gil:
                    raise MemoryError(f"cannot remember {self.n_logged} moves")
            self.log, self.room = wider, 2 * self.room + 16
        self.log[self.n_logged].op = op
        self.log[self.n_logged].tail, self.log[self.n_logged].head = <int>tail, <int>head
        self.n_logged += 1
        return 0

    cdef int save_row(self, Py_ssize_t child) except -1 nogil:
        # Keeps the row of a child, which is about to be replaced.
        cdef Mark *past = &self.past
        cdef Replaced *replaced = past.replaced + past.n_replaced
        if past.is_replaced[child]:
            return 0
        if past.n_spare > 0:
            past.n_spare -= 1
            replaced.row = past.spare[past.n_spare]
        else:
            replaced.row = <double *>malloc((self.n + 1) * sizeof(double))
        if replaced.row == NULL:
            with gil:
                raise MemoryError(f"cannot remember a row of {self.n} gains")
        past.n_replaced += 1
        past.is_replaced[child] = True
        replaced.child = <int>child
        memcpy(replaced.row, &self.gains[child, 0], self.n * sizeof(double))
        replaced.score, replaced.top = self.scores[child], self.top[child]
        return 0

    # ---- gains and scores ----

    cdef int make_scored(self, int op, Py_ssize_t tail, Py_ssize_t head, double least_gain) except -1 nogil:
        # Returns the number of new rows of the source. Additions below `least_gain` are not expected next.
        cdef int n_asked
        cdef Py_ssize_t n, most
        self.make_move(op, tail, head)
        self.log_move(op, tail, head)
        if self.scorer is not None and self.scorer.is_far and (
            self.cached is None or self.cached.ahead is None or self.cached.ahead.is_due()
        ):
            n = self.expect_child(0, head)
            if op == C_REVERSE:
                n = self.expect_child(n, tail)
            most = n + (AHEAD if self.cached is None or self.cached.ahead is None else MOST_AHEAD - 2)
            self.scorer.expect(
                self.ahead, n, list_additions_ahead(self, least_gain, self.ahead, self.parents_ahead, n, most)
            )
        n_asked = self.rescore_child(head)
        if op == C_REVERSE:
            n_asked += self.rescore_child(tail)
        return n_asked

    cdef int rescore_expected(self, Py_ssize_t n) except -1 nogil:
        # Rescores the children of the first n families; returns the number of new rows of the source.
        cdef Py_ssize_t i
        cdef int n_asked = 0
        if self.scorer is not None and self.scorer.is_far:
            self.scorer.expect(self.ahead, n, n)
        for i in range(n):
            n_asked += self.rescore_child(self.ahead[i].child)
        return n_asked

    cdef Py_ssize_t expect_child(self, Py_ssize_t n, Py_ssize_t child) noexcept nogil:
        # Appends the family of a child to the first n families to request; returns the new number.
        self.ahead[n] = Family(child, self.dag.n_parents[child], self.dag.parents[child], ALL, NULL)
        return n + 1

    cdef int rescore_child(self, Py_ssize_t child) except -1 nogil:
        # Returns whether the source computed a new row.
        cdef Py_ssize_t n_before
        cdef bint is_asked = True
        if self.past.is_set:
            self.save_row(child)
        if self.scorer is None:
            with gil:
                is_asked = self.ask_source(child)
        else:
            n_before = 0 if self.cached is None else self.cached.n_asked
            self.scores[child] = self.scorer.compute_row(
                child, self.dag.parents[child], self.dag.n_parents[child], &self.gains[child, 0]
            )
            is_asked = self.cached is None or self.cached.n_asked > n_before
        self.read_gains(child)
        return is_asked

    cdef bint ask_source(self, Py_ssize_t child) except -1:
        # The same for a source in Python, after a look-up in its cache of rows.
        cdef object key, row = None
        cdef char *target
        cdef int number = <int>child
        cdef int k = self.dag.n_parents[child]
        if self.rows is not None:
            key = PyBytes_FromStringAndSize(NULL, (k + 1) * sizeof(int))
            target = PyBytes_AS_STRING(key)
            memcpy(target, &number, sizeof(int))
            if k > 0:
                memcpy(target + sizeof(int), self.dag.parents[child], k * sizeof(int))
            row = self.rows.get(key)
        if row is None:
            self.scores[child] = self.source.rescore(child, self.parents_of(child), self.gain_array)
        else:
            memcpy(&self.gains[child, 0], PyBytes_AS_STRING(row), self.n * sizeof(double))
            memcpy(&self.scores[child], PyBytes_AS_STRING(row) + self.n * sizeof(double), sizeof(double))
        return row is None
